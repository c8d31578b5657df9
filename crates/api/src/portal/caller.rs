//! Who calls from a page: the cookie that says it, and the header that shows that the page is one of ours. Boards are
//! also read by programs, with an API key.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use platform::portal::{PortalCaller, Presence};
use platform::{Identity, PlatformError, Researcher};

use super::cookie::session_cookie;
use crate::call_rejection::{CallRejection, header_text};
use crate::credentials::api_key;
use crate::error::{ApiError, Result};
use crate::key_holder::researcher_of_key;
use crate::parameters::Parameters;
use crate::proof::{mark_authenticated, name_actor, owner_of};
use crate::state::ApiState;

/// Header that a page sends along with whatever changes something, and with every call of the integration API.
const CSRF_HEADER: &str = "x-csrf-token";

/// A call from a page. What changes something has to come with the header; a page that only shows may only read; whose
/// password an operator chose has to change it first.
pub(crate) struct PortalCall(pub PortalCaller);

/// A call that is open to every session: to ask about itself, to end, to choose another password.
pub(crate) struct OwnCall(pub PortalCaller);

/// A call that reads a board: of a page with its cookie, or of a program with an API key.
pub(crate) struct BoardCall(pub Researcher);

/// The same for a stream. It is no sign of anybody being there: pages connect by themselves.
pub(crate) struct StreamCall {
    /// Who calls.
    pub researcher: Researcher,
    /// What the stream depends on while it lasts.
    pub credential: Credential,
    /// Whose share of all streams it is in; none where a router is used without what surrounds it.
    pub owner: Option<u64>,
}

/// A credential that is looked up again while a stream lasts.
pub(crate) enum Credential {
    /// The cookie of a page.
    Cookie(String),
    /// An API key.
    Key(String),
}

impl Credential {
    /// Returns the credential of a request. An API key first: anyone who brings one means it, whatever cookie their
    /// browser adds.
    fn of(parts: &Parts, state: &ApiState) -> Result<Self> {
        match api_key(parts) {
            Err(CallRejection::NoCredential(_)) => {
                let cookie = session_cookie(&parts.headers, state.session_cookie)?.ok_or_else(session_expired)?;
                Ok(Credential::Cookie(cookie.to_owned()))
            }
            key => Ok(Credential::Key(key?)),
        }
    }

    /// Returns who calls with it; none when it has ended.
    pub(crate) async fn researcher(&self, identity: &Identity) -> platform::Result<Option<Researcher>> {
        match self {
            Credential::Cookie(cookie) => {
                let caller = identity.portal_caller(cookie, Presence::Unknown).await?;
                caller.map(|caller| caller.researcher()).transpose()
            }
            Credential::Key(key) => match identity.researcher(key).await {
                Ok(researcher) => Ok(Some(researcher)),
                Err(PlatformError::Unauthenticated(_)) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}

impl FromRequestParts<ApiState> for PortalCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self> {
        let OwnCall(caller) = OwnCall::from_request_parts(parts, state).await?;
        if !is_read(&parts.method) {
            check_writes(&caller)?;
        }
        // Last, so that a page learns of an ended session before it asks for another password.
        caller.require_own_password()?;
        Ok(PortalCall(caller))
    }
}

impl FromRequestParts<ApiState> for OwnCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self> {
        let caller = caller(parts, state, presence(parts)).await?;
        // Reads need no token: an answer cannot be read by a page of another site.
        if !is_read(&parts.method) {
            check_csrf(parts, &caller)?;
        }
        Ok(OwnCall(caller))
    }
}

impl FromRequestParts<ApiState> for BoardCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self> {
        let (researcher, _) = reader(parts, state, presence(parts)).await?;
        Ok(BoardCall(researcher))
    }
}

impl FromRequestParts<ApiState> for StreamCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self> {
        let (researcher, credential) = reader(parts, state, Presence::Unknown).await?;
        Ok(StreamCall { researcher, credential, owner: owner_of(parts) })
    }
}

async fn reader(parts: &Parts, state: &ApiState, presence: Presence) -> Result<(Researcher, Credential)> {
    let credential = Credential::of(parts, state)?;
    let researcher = match &credential {
        Credential::Cookie(_) => caller(parts, state, presence).await?.researcher()?,
        // Looked up here and not by `Credential::researcher`, so that the caller hears why the key is refused.
        Credential::Key(key) => researcher_of_key(parts, state, key).await?,
    };
    Ok((researcher, credential))
}

/// Returns who calls the integration API from a page; `None` without a cookie. The header has to come with every
/// method: an address of the integration API is made to be called from anywhere, so that it is a page's call has to be
/// shown.
pub(crate) async fn researcher_of_cookie(parts: &Parts, state: &ApiState) -> Result<Option<Researcher>> {
    if session_cookie(&parts.headers, state.session_cookie)?.is_none() {
        return Ok(None);
    }
    let caller = caller(parts, state, presence(parts)).await?;
    check_csrf(parts, &caller)?;
    if !is_read(&parts.method) {
        check_writes(&caller)?;
    }
    Ok(Some(caller.researcher()?))
}

async fn caller(parts: &Parts, state: &ApiState, presence: Presence) -> Result<PortalCaller> {
    let Some(cookie) = session_cookie(&parts.headers, state.session_cookie)? else { return Err(session_expired()) };
    let caller = state.platform.identity.portal_caller(cookie, presence).await?.ok_or_else(session_expired)?;
    let actor = caller.security_actor();
    mark_authenticated(parts, cookie, actor.id.as_str())?;
    name_actor(parts, actor);
    Ok(caller)
}

fn check_csrf(parts: &Parts, caller: &PortalCaller) -> Result<()> {
    match header_text(parts, CSRF_HEADER)? {
        // Compared in constant time inside, like every secret.
        Some(token) if caller.csrf_fits(token) => Ok(()),
        _ => Err(ApiError::Particular {
            status: StatusCode::FORBIDDEN,
            code: "csrf",
            message: "the header X-CSRF-Token is missing or not the one of this session".into(),
        }),
    }
}

fn check_writes(caller: &PortalCaller) -> Result<()> {
    if !caller.view_only() {
        return Ok(());
    }
    Err(ApiError::Particular {
        status: StatusCode::FORBIDDEN,
        code: "view_only",
        message: "this session only reads".into(),
    })
}

/// Returns whether a page only looks again by the clock, which does not keep its session from being locked.
fn presence(parts: &Parts) -> Presence {
    // A write is always somebody's doing, whatever its address says.
    let is_peek = is_read(&parts.method) && Parameters::of(&parts.uri).one("peek") == Some("1");
    if is_peek { Presence::Unknown } else { Presence::Shown }
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// Code of the error for a call without a session.
const SESSION_EXPIRED: &str = "session_expired";

/// Returns whether a call was refused because there is no session behind the cookie, or no cookie.
pub(super) fn is_session_expired(error: &ApiError) -> bool {
    matches!(error, ApiError::Particular { code, .. } if *code == SESSION_EXPIRED)
}

/// There is no session behind the cookie, or no cookie.
pub(super) fn session_expired() -> ApiError {
    ApiError::Particular {
        status: StatusCode::UNAUTHORIZED,
        code: SESSION_EXPIRED,
        message: "there is no session, or it has ended".into(),
    }
}
