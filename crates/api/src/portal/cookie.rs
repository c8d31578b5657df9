//! The cookie of a session on a page.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};

use crate::call_rejection::CallRejection;

/// Name of the cookie of a session.
pub(crate) const SESSION_COOKIE: &str = "pulseward_session";
/// The same where the public address is https. Browsers take a cookie with this prefix only from the host itself, over
/// TLS: neither a neighbouring host nor a page over plain HTTP can plant one.
pub(crate) const SECURE_SESSION_COOKIE: &str = "__Host-pulseward_session";

/// Returns the name of the cookie below a public address, the only one that is honoured there.
pub(crate) fn session_cookie_name(public_url: &str) -> &'static str {
    // By the configured address: behind a proxy the connection itself is plain.
    if is_secure(public_url) { SECURE_SESSION_COOKIE } else { SESSION_COOKIE }
}

fn is_secure(public_url: &str) -> bool {
    public_url.starts_with("https://")
}

/// Returns the value of the cookie of a name.
pub(crate) fn session_cookie<'headers>(
    headers: &'headers HeaderMap,
    name: &str,
) -> Result<Option<&'headers str>, CallRejection> {
    let mut found = None;
    for header in headers.get_all(COOKIE) {
        let text = header.to_str().map_err(|_| CallRejection::NotText)?;
        for cookie in Cookie::split_parse(text).flatten() {
            let Some(value) = cookie.value_raw().filter(|_| cookie.name() == name) else { continue };
            // A neighbouring host can set a second cookie of this name, and browsers say nothing of where each comes
            // from.
            if !value.is_empty() && found.replace(value).is_some() {
                return Err(CallRejection::Repeated);
            }
        }
    }
    Ok(found)
}

/// Returns a cookie that holds a session. Without a lifetime of its own it ends with the browser's session; ours ends
/// earlier.
pub(super) fn opened(public_url: &str, value: &str) -> String {
    with_value(public_url, value).to_string()
}

/// Returns a cookie by which a browser forgets its session.
pub(super) fn closed(public_url: &str) -> String {
    let mut cookie = with_value(public_url, "");
    cookie.set_max_age(Duration::ZERO);
    cookie.to_string()
}

fn with_value<'value>(public_url: &str, value: &'value str) -> Cookie<'value> {
    let cookie = Cookie::build((session_cookie_name(public_url), value)).path("/").http_only(true);
    let cookie = cookie.secure(is_secure(public_url));
    // Strict: no address of another site may open a page as somebody who is signed in.
    cookie.same_site(SameSite::Strict).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cookies: &[&'static str]) -> Result<Option<String>, ()> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, cookie.parse().expect("a header"));
        }
        session_cookie(&headers, SESSION_COOKIE).map(|value| value.map(str::to_owned)).map_err(drop)
    }

    #[test]
    fn the_cookie_is_found_among_others_and_once_only() {
        assert_eq!(found(&["a=1; pulseward_session=x; b=2"]), Ok(Some("x".to_owned())));
        assert_eq!(found(&["a=1", "pulseward_session=x"]), Ok(Some("x".to_owned())));
        assert_eq!(found(&["broken; =1;; pulseward_session=x%41=;"]), Ok(Some("x%41=".to_owned())), "as it came");
        for none in ["", "pulseward_session", "pulseward_session=", "xpulseward_session=x", "Pulseward_session=x"] {
            assert_eq!(found(&[none]), Ok(None), "{none}");
        }
        assert!(found(&["pulseward_session=x; pulseward_session=y"]).is_err());
        assert!(found(&["pulseward_session=x", "pulseward_session=x"]).is_err());
    }

    #[test]
    fn https_has_a_cookie_of_this_host_alone() {
        let (opened, closed) = (opened("https://a.example/integration", "x"), closed("https://a.example/integration"));
        for (cookie, pair) in [(&opened, "__Host-pulseward_session=x"), (&closed, "__Host-pulseward_session=")] {
            let parts: Vec<&str> = cookie.split("; ").collect();
            assert_eq!(parts[0], pair);
            assert!(parts.contains(&"Secure") && parts.contains(&"Path=/"), "{cookie}");
            assert!(!cookie.contains("Domain"), "{cookie}");
        }
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "pulseward_session=planted; __Host-pulseward_session=x".parse().expect("a header"));
        let name = session_cookie_name("https://a.example/integration");
        assert_eq!(session_cookie(&headers, name).ok().flatten(), Some("x"));
    }
}
