//! Login on the Users Cloud, by e-mail or by voucher code.

use axum::Json;
use axum::extract::State;
use platform::{Credentials, LoginName, Owner, PatientOwner, UsersLogin};
use serde::Serialize;
use store::{Gender, UserRole};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Sent, body};
use crate::choices::{GenderName, PatientStateName, UserRoleName};
use crate::error::{ErrorBody, Result};
use crate::outer::ClientAddress;
use crate::state::ApiState;
use crate::times::iso_ms;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(login))
}

body! {
    /// Either an e-mail or a code, and the password.
    struct LoginRequest {
        email: Option<String>,
        /// Voucher code.
        code: Option<String>,
        password: String,
        /// A new password of at least 10 characters, which is then the one to log in with. Every earlier token ends.
        new_password: Option<String>,
    }
}

/// A login on the Users Cloud.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct UsersLoginBody {
    token: String,
    /// Minutes that the token lives.
    ttl: i64,
    /// Minutes from its first issue within which the token can be refreshed; 0 when staff chose the password and it
    /// has not been changed yet.
    refresh_ttl: String,
    user: UserBody,
}

/// A user of the Users Cloud. What is not known is null.
#[derive(Default, Serialize, utoipa::ToSchema)]
pub(super) struct UserBody {
    #[serde(rename = "_id")]
    id: String,
    uuid: String,
    #[schema(value_type = UserRoleName)]
    role: &'static str,
    first_name: Option<String>,
    last_name: Option<String>,
    birthday: Option<String>,
    #[schema(value_type = Option<GenderName>)]
    gender: Option<&'static str>,
    country: Option<String>,
    #[schema(value_type = Option<PatientStateName>)]
    state: Option<&'static str>,
    is_from_old_db: bool,
    avatar_id: Option<String>,
    email: Option<String>,
    updated_at: String,
    created_at: String,
    customer_tag: Option<String>,
    agreement_to_terms_of_use: Option<bool>,
    /// Voucher code.
    code: Option<String>,
    partner_b2b_study_center: Option<String>,
    customer_code: Option<String>,
    brand: Option<String>,
    avatar: Option<String>,
    /// Whether the password was set by staff and is to be changed.
    must_change_password: bool,
}

impl UserBody {
    fn of_patient(owner: PatientOwner) -> Self {
        let PatientOwner { patient, person, profile, customer_code } = owner;
        UserBody {
            id: patient.record_id,
            // Patients have no account and so no role in the store.
            uuid: patient.uuid.to_string(),
            role: UserRole::Patient.name(),
            first_name: person.first_name,
            last_name: person.last_name,
            birthday: profile.birthday,
            gender: profile.gender.map(Gender::name),
            country: person.country,
            state: Some(patient.state.name()),
            email: patient.email,
            updated_at: iso_ms(patient.updated_ms),
            created_at: iso_ms(patient.created_ms),
            customer_tag: person.customer_tag,
            agreement_to_terms_of_use: person.agreement_to_terms_of_use,
            code: Some(patient.voucher_code),
            customer_code: customer_code.map(|code| code.to_string()),
            must_change_password: patient.must_change_password,
            ..UserBody::default()
        }
    }
}

impl From<Owner> for UserBody {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Patient(patient) => UserBody::of_patient(*patient),
            Owner::Account(account) => UserBody {
                id: account.id,
                uuid: account.uuid.to_string(),
                role: account.role.name(),
                first_name: account.first_name,
                last_name: account.last_name,
                email: Some(account.email),
                updated_at: iso_ms(account.updated_ms),
                created_at: iso_ms(account.created_ms),
                ..UserBody::default()
            },
        }
    }
}

impl From<UsersLogin> for UsersLoginBody {
    fn from(login: UsersLogin) -> Self {
        UsersLoginBody {
            token: login.issued.token,
            ttl: login.issued.ttl_minutes,
            refresh_ttl: login.issued.refresh_minutes.to_string(),
            user: login.owner.into(),
        }
    }
}

/// Logs in.
#[utoipa::path(post, path = "/login", tag = "logins", request_body = LoginRequest,
    responses((status = 200, body = UsersLoginBody), (status = 401, body = ErrorBody), (status = 422, body = ErrorBody),
    (status = 429, body = ErrorBody)))]
async fn login(
    State(state): State<ApiState>,
    address: ClientAddress,
    Sent { body, mut faults }: Sent<LoginRequest>,
) -> Result<Json<UsersLoginBody>> {
    let LoginRequest { email, code, password, new_password } = body;
    // Noted and not returned at once, so that a missing password is told in the same answer.
    let name = match (email, code) {
        (Some(email), None) => LoginName::Email(email),
        (None, Some(code)) => LoginName::Code(code),
        (None, None) => {
            faults.note("email", "either email or code is required");
            LoginName::Email(String::new())
        }
        (Some(_), Some(_)) => {
            faults.note("email", "only one of email and code can be used");
            LoginName::Email(String::new())
        }
    };
    faults.finish()?;
    // The address is that of the client and not of a proxy, since it shares a count with all who guess from it.
    let (credentials, address) = (Credentials { name, password }, address.text());
    let login = match new_password {
        // In one call, so that a password that staff has set can be replaced without a token for it in between.
        Some(new) => state.platform.identity.login_and_change_password(credentials, &new, &address).await?,
        None => state.platform.identity.login(credentials, &address).await?,
    };
    Ok(Json(login.into()))
}
