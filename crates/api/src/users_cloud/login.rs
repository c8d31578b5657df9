//! Login on the Users Cloud, by e-mail or by voucher code.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use platform::{Credentials, LoginName, Owner, PatientOwner, UsersLogin};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::ApiState;
use crate::body::Fields;
use crate::error::{ErrorBody, Result};
use crate::extract::UsersCall;
use crate::outer::ClientAddress;
use crate::times::iso_ms;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(login)).routes(routes!(logout))
}

/// Either an e-mail or a code, and the password.
#[derive(Deserialize, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, whose fields are read one by one")]
struct LoginRequest {
    email: Option<String>,
    /// Voucher code.
    code: Option<String>,
    password: String,
}

/// A login on the Users Cloud.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct UsersLoginBody {
    token: String,
    /// Minutes that the token lives.
    ttl: i64,
    /// Minutes from its first issue within which the token can be refreshed.
    refresh_ttl: String,
    user: UserBody,
}

/// A user of the Users Cloud. What is not known is null.
#[derive(Default, Serialize, utoipa::ToSchema)]
pub(super) struct UserBody {
    #[serde(rename = "_id")]
    id: String,
    uuid: String,
    role: String,
    first_name: Option<String>,
    last_name: Option<String>,
    birthday: Option<String>,
    gender: Option<String>,
    country: Option<String>,
    state: Option<String>,
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
            uuid: patient.uuid,
            role: "patient".to_owned(),
            first_name: person.first_name,
            last_name: person.last_name,
            birthday: profile.birthday,
            gender: profile.gender,
            country: person.country,
            state: Some(patient.state),
            email: patient.email,
            updated_at: iso_ms(patient.updated_ms),
            created_at: iso_ms(patient.created_ms),
            customer_tag: person.customer_tag,
            agreement_to_terms_of_use: person.agreement_to_terms_of_use,
            code: Some(patient.voucher_code),
            customer_code,
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
                uuid: account.uuid,
                role: account.role,
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
    mut fields: Fields,
) -> Result<Json<UsersLoginBody>> {
    let (email, code) = (fields.text("email"), fields.text("code"));
    let password = fields.required_text("password");
    let name = match (email, code) {
        (Some(email), None) => LoginName::Email(email),
        (None, Some(code)) => LoginName::Code(code),
        (None, None) => {
            fields.note("email", "either email or code is required");
            LoginName::Email(String::new())
        }
        (Some(_), Some(_)) => {
            fields.note("email", "only one of email and code can be used");
            LoginName::Email(String::new())
        }
    };
    fields.finish()?;
    Ok(Json(state.platform.login(Credentials { name, password }, &address.text()).await?.into()))
}

/// Ends the token.
#[utoipa::path(post, path = "/auth/logout", tag = "logins", responses((status = 204), (status = 401, body = ErrorBody)))]
async fn logout(State(state): State<ApiState>, UsersCall(caller): UsersCall) -> Result<StatusCode> {
    state.platform.users_logout(&caller).await?;
    Ok(StatusCode::NO_CONTENT)
}
