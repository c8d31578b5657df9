//! Login on the Users Cloud, by e-mail or by voucher code.

use axum::Json;
use axum::extract::State;
use platform::{Credentials, LoginName, Owner, PatientOwner, UsersLogin, new_password_faults};
use serde::Serialize;
use store::{Gender, UserRole};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::typed::{Sent, body};
use crate::choices::{GenderName, PatientStateName, UserRoleName};
use crate::client_address::ClientAddress;
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(login))
}

body! { of the specification:
    /// Either an e-mail or a code, and the password.
    struct LoginRequest {
        /// E-mail address, unless there is a code.
        #[schema(example = "rita@study.example")]
        email: Option<String>,
        /// Voucher code.
        #[schema(example = json!(null))]
        code: Option<String>,
        /// The password.
        #[schema(example = "correct horse battery")]
        password: String,
        /// A new password of at least 10 characters, which is then the one to log in with. Every earlier token ends.
        #[schema(example = json!(null))]
        #[schema(min_length = 10, max_length = 1024)]
        new_password: Option<String>,
    }
}

/// A login on the Users Cloud.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = UsersLogin)]
pub(super) struct UsersLoginBody {
    /// A token of the Users Cloud.
    #[schema(example = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl")]
    token: String,
    /// Minutes that the token lives.
    #[schema(example = 60)]
    ttl: i64,
    /// Minutes from its first issue within which the token can be refreshed; 0 when staff chose the password: such a
    /// token opens `POST /users/auth/password` alone.
    #[schema(example = "518400")]
    refresh_ttl: String,
    /// User who has logged in.
    user: UserBody,
}

/// A user of the Users Cloud. What is not known is null.
#[derive(Default, Serialize, utoipa::ToSchema)]
#[schema(as = User)]
pub(super) struct UserBody {
    /// Record identifier.
    #[serde(rename = "_id")]
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    id: String,
    /// Uuid of the patient or the account.
    #[schema(example = "80876de9-4e89-449a-9a8f-c1e11f720437")]
    uuid: String,
    /// Role.
    #[schema(value_type = UserRoleName)]
    role: &'static str,
    /// First name.
    #[schema(example = "Rita")]
    first_name: Option<String>,
    /// Last name.
    #[schema(example = "Rossi")]
    last_name: Option<String>,
    /// YYYY-MM-DD.
    #[schema(example = "1984-06-02")]
    birthday: Option<String>,
    /// Gender, where it is known.
    #[schema(value_type = Option<GenderName>)]
    gender: Option<&'static str>,
    /// Country of residence.
    #[schema(example = "Switzerland")]
    country: Option<String>,
    /// State of enrolment; null for accounts.
    #[schema(value_type = Option<PatientStateName>)]
    state: Option<&'static str>,
    /// Always false.
    #[schema(example = false)]
    is_from_old_db: bool,
    /// Always null.
    #[schema(example = json!(null))]
    avatar_id: Option<String>,
    /// E-mail address.
    #[schema(example = "rita@study.example")]
    email: Option<String>,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    updated_at: String,
    /// ISO 8601 in UTC with milliseconds.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
    /// Code of the study; null for accounts.
    #[schema(example = "JYVPQ")]
    customer_tag: Option<String>,
    /// True when the terms of use were agreed to.
    #[schema(example = true)]
    agreement_to_terms_of_use: Option<bool>,
    /// Voucher code.
    #[schema(example = "K7QXM2PA")]
    code: Option<String>,
    /// Always null.
    #[schema(example = json!(null))]
    partner_b2b_study_center: Option<String>,
    /// Code of the study that the patient was enrolled in.
    #[schema(example = "JYVPQ")]
    customer_code: Option<String>,
    /// Always null.
    #[schema(example = json!(null))]
    brand: Option<String>,
    /// Always null.
    #[schema(example = json!(null))]
    avatar: Option<String>,
    /// True when the password was set by staff and has to be changed before anything else.
    #[schema(example = false)]
    must_change_password: bool,
    /// IANA name of a patient's time zone, where it is known; in answers about the caller only, not in those of a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Zurich")]
    time_zone: Option<String>,
}

impl UserBody {
    /// Returns the caller, with what a login leaves out.
    pub(super) fn of_caller(owner: Owner) -> Self {
        let time_zone = match &owner {
            Owner::Patient(patient) => patient.profile.time_zone.clone(),
            Owner::Account(_) => None,
        };
        UserBody { time_zone, ..owner.into() }
    }

    fn of_patient(owner: PatientOwner) -> Self {
        let PatientOwner { person, profile, .. } = owner;
        UserBody {
            id: owner.record_id.to_string(),
            // Patients have no account and so no role in the store.
            uuid: owner.uuid.to_string(),
            role: UserRole::Patient.name(),
            first_name: person.first_name,
            last_name: person.last_name,
            birthday: profile.birthday,
            gender: profile.gender.map(Gender::name),
            country: person.country,
            state: Some(owner.state.name()),
            email: owner.email,
            updated_at: iso_ms(owner.updated_ms),
            created_at: iso_ms(owner.created_ms),
            customer_tag: person.customer_tag,
            agreement_to_terms_of_use: person.agreement_to_terms_of_use,
            code: Some(owner.voucher_code.to_string()),
            customer_code: owner.customer_code.map(|code| code.to_string()),
            must_change_password: owner.must_change_password,
            ..UserBody::default()
        }
    }
}

impl From<Owner> for UserBody {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Patient(patient) => UserBody::of_patient(*patient),
            Owner::Account(account) => UserBody {
                id: account.id.to_string(),
                uuid: account.uuid.to_string(),
                role: account.role.name(),
                first_name: account.first_name,
                last_name: account.last_name,
                email: Some(account.email),
                must_change_password: account.must_change_password,
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
///
/// After a password that staff chose (`user.must_change_password` is true) the token opens `POST /users/auth/password`
/// alone.
#[utoipa::path(post, path = "/login", tag = "logins", security(()),
    request_body = LoginRequest,
    responses((status = 200, body = UsersLoginBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 422, body = ErrorBody), (status = 429, body = ErrorBody)))]
async fn login(
    State(state): State<ApiState>,
    address: ClientAddress,
    Sent { body, mut faults }: Sent<LoginRequest>,
) -> Result<Json<UsersLoginBody>> {
    let LoginRequest { email, code, password, new_password } = body;
    // Noted and not returned at once, so that a missing password is reported in the same answer.
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
    faults.finish_with(|_| {
        new_password.as_deref().map(|new| new_password_faults("new_password", new)).unwrap_or_default()
    })?;
    // The address is that of the client and not of a proxy, since it shares a count with all who guess from it.
    let (credentials, address) = (Credentials { name, password }, address.text());
    let login = match new_password {
        // In one call, so that a password that staff has set can be replaced without a token for it in between.
        Some(new) => state.platform.identity.login_and_change_password(credentials, &new, &address).await?,
        None => state.platform.identity.login(credentials, &address).await?,
    };
    Ok(Json(login.into()))
}
