//! OAuth clients, which administrators set up.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use platform::oauth::{NewOauthClient, OauthClientView};
use serde::Serialize;
use store::ClientId;
use utoipa::openapi::schema::{Array, ArrayBuilder, ObjectBuilder, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::PortalCall;
use crate::body::SHORT_LINE;
use crate::body::typed::{Sent, body};
use crate::error::{ErrorBody, Result};
use crate::state::ApiState;
use crate::times::iso_ms;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(remove))
}

/// A name that nothing takes for a number or for letters of other alphabets.
macro_rules! host {
    () => {
        r"([A-Za-z0-9]+(-[A-Za-z0-9]+)*\.)*[A-Za-z]+"
    };
}

/// A port, and path and query. Without what some parsers take for the end of another part.
macro_rules! rest {
    () => {
        r"(:[0-9]{1,4})?([/?][!$%&()+./0-9=?A-Z_a-z~-]*)?$"
    };
}

/// Pattern of addresses of pages: the usual ones, since no pattern says what a parser takes.
const PAGE_ADDRESS: &str = concat!("^https://", host!(), rest!());

/// Pattern of addresses that an application is answered at, again of the usual ones: https, http on the loopback interface, or
/// a scheme that is a reversed domain.
const REDIRECT_ADDRESS: &str = concat!(
    "^(https://",
    host!(),
    r"|http://(localhost|127\.0\.0\.1|\[::1\])|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*[a-z0-9]:/)",
    rest!()
);

/// Returns a list of addresses.
fn redirect_uris() -> Array {
    let address = ObjectBuilder::new().schema_type(Type::String).pattern(Some(REDIRECT_ADDRESS)).max_length(Some(2000));
    let meaning = "Addresses that codes may be sent to: https, http on the loopback interface, or a scheme of the application \
        such as `org.example.diary:/back`.";
    let list = ArrayBuilder::new().items(address).min_items(Some(1)).max_items(Some(20));
    list.description(Some(meaning)).build()
}

/// An OAuth client.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = OauthClient)]
struct ClientBody {
    /// Identity of the OAuth client.
    #[schema(example = "65b1f0c2a4d3e5f60718293a")]
    client_id: String,
    /// Name that patients are shown.
    #[schema(example = "Sleep diary")]
    name: String,
    /// Addresses that codes may be sent to.
    #[schema(example = json!(["https://diary.example/callback"]))]
    redirect_uris: Vec<String>,
    /// Address of the privacy policy that patients are shown.
    #[schema(example = "https://diary.example/privacy")]
    privacy_policy_url: String,
    /// True when it cannot keep a secret.
    #[schema(example = false)]
    public: bool,
    /// ISO 8601 in UTC.
    #[schema(example = "2025-11-20T00:53:20.000Z")]
    created_at: String,
    /// ISO 8601 in UTC.
    #[schema(example = json!(null))]
    removed_at: Option<String>,
}

impl From<OauthClientView> for ClientBody {
    fn from(view: OauthClientView) -> Self {
        let OauthClientView { client, redirect_uris } = view;
        ClientBody {
            public: client.secret_hash.is_none(),
            client_id: client.id.to_string(),
            name: client.name,
            redirect_uris,
            privacy_policy_url: client.privacy_policy_url,
            created_at: iso_ms(client.created_ms),
            removed_at: client.removed_ms.map(iso_ms),
        }
    }
}

/// A new OAuth client.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = CreatedOauthClient)]
struct NewClientBody {
    #[serde(flatten)]
    client: ClientBody,
    /// Shown this once; null for a public client.
    #[schema(example = "pws_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R9s0T1u0")]
    client_secret: Option<String>,
}

body! {
    /// Name of a new client, and the addresses that it is answered at.
    #[schema(example = json!({"name": "Sleep diary", "redirect_uris": ["https://diary.example/callback"],
        "privacy_policy_url": "https://diary.example/privacy"}))]
    #[schema(as = OauthClientRequest)]
    struct NewClient {
        /// Name that patients are shown.
        #[schema(min_length = 1, max_length = 100, extensions(("x-pattern" = json!(SHORT_LINE))))]
        name: String,
        // The operation says what is wrong with having none.
        #[schema(schema_with = redirect_uris, required = true)]
        redirect_uris: Option<Vec<String>>,
        /// Address of the privacy policy that patients are shown.
        #[schema(max_length = 2000, extensions(("x-pattern" = json!(PAGE_ADDRESS))))]
        privacy_policy_url: String,
        /// True when it cannot keep a secret, such as an app on a phone.
        public: Option<bool>,
    }
}

impl From<NewClient> for NewOauthClient {
    fn from(sent: NewClient) -> Self {
        let NewClient { name, redirect_uris, privacy_policy_url, public } = sent;
        let (redirect_uris, public) = (redirect_uris.unwrap_or_default(), public.unwrap_or(false));
        NewOauthClient { name, redirect_uris, privacy_policy_url, public }
    }
}

/// Returns all OAuth clients.
///
/// Oldest first, also removed ones, without their secrets. For administrators (403).
#[utoipa::path(get, path = "/clients", tag = "portal", security(("portal_cookie" = [])),
    responses((status = 200, body = Vec<ClientBody>), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
async fn list(State(state): State<ApiState>, PortalCall(caller): PortalCall) -> Result<Json<Vec<ClientBody>>> {
    let clients = state.platform.identity.portal_clients(&caller).await?;
    Ok(Json(clients.into_iter().map(ClientBody::from).collect()))
}

/// Creates an OAuth client.
///
/// The secret is in this answer alone; a public client has none. Redirect addresses are https, http on the loopback
/// interface, or of a scheme like `org.example.app`, without a fragment. For administrators (403).
#[utoipa::path(post, path = "/clients", tag = "portal", request_body = NewClient,
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 201, body = NewClientBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 422, body = ErrorBody)))]
async fn create(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    sent: Sent<NewClient>,
) -> Result<(StatusCode, Json<NewClientBody>)> {
    let new = sent.judged(NewOauthClient::from, |new, _| new.faults())?;
    let (view, client_secret) = state.platform.identity.create_portal_client(&caller, new).await?;
    Ok((StatusCode::CREATED, Json(NewClientBody { client: view.into(), client_secret })))
}

/// Removes an OAuth client.
///
/// Its tokens, and what patients have consented to, end at once. It stays in the list. For administrators (403).
#[utoipa::path(delete, path = "/clients/{client_id}", tag = "portal", params(("client_id" = String, Path)),
    security(("portal_cookie" = [], "csrf_token" = [])),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
async fn remove(
    State(state): State<ApiState>,
    PortalCall(caller): PortalCall,
    Path(client_id): Path<ClientId>,
) -> Result<StatusCode> {
    state.platform.identity.remove_portal_client(&caller, &client_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
