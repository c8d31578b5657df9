//! The cookie that ties the pages to one browser. It says nothing and opens nothing by itself.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use cookie::{Cookie, SameSite};

use crate::state::ApiState;

/// Characters of 32 bytes as base64url.
const LENGTH: usize = 43;

/// A browser, by its cookie.
pub(super) struct Browser {
    /// Identity that its forms are sealed for.
    pub id: String,
    /// True when it does not have the cookie yet.
    is_new: bool,
    secure: bool,
}

impl Browser {
    /// Returns the cookie to set, when the browser does not have it.
    pub(super) fn cookie(&self) -> Option<HeaderValue> {
        let cookie = Cookie::build((name(self.secure), &self.id)).path("/").http_only(true).secure(self.secure);
        // Lax and not Strict: the person comes from the application's page, and the cookie has to be there already
        // then.
        let cookie = cookie.same_site(SameSite::Lax).to_string();
        self.is_new.then(|| HeaderValue::from_str(&cookie).ok()).flatten()
    }
}

/// Behind https the name has the prefix with which no neighbouring host can set it.
fn name(secure: bool) -> &'static str {
    if secure { "__Host-pulseward-authorize" } else { "pulseward-authorize" }
}

impl FromRequestParts<ApiState> for Browser {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        // From the configured address: behind a proxy the connection itself is plain.
        let secure = state.platform.core.settings().health_url.starts_with("https:");
        let headers = parts.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = headers.flat_map(Cookie::split_parse).flatten();
        // What is not of our making is replaced, so that nobody else can choose the value.
        let sent = cookies.find(|cookie| cookie.name() == name(secure) && is_ours(cookie.value()));
        Ok(match sent {
            Some(cookie) => Browser { id: cookie.value().to_owned(), is_new: false, secure },
            None => Browser { id: state.platform.identity.new_browser(), is_new: true, secure },
        })
    }
}

fn is_ours(value: &str) -> bool {
    value.len() == LENGTH && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
