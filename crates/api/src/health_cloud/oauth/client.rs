//! How a client shows which it is: `client_secret_basic`, `client_secret_post`, or by its name alone.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::PlatformError;
use platform::oauth::ClientCredentials;
use store::ClientId;

use super::form::{FormText, invalid_request, pairs};

/// Returns the credentials of a request. Refused when there are none, two, or unreadable ones.
pub(super) fn credentials(
    headers: &HeaderMap,
    client_id: &FormText,
    client_secret: &FormText,
) -> Result<ClientCredentials, PlatformError> {
    let (id, secret) = (client_id.one()?, client_secret.one()?);
    // A header of any scheme is an attempt at authentication and is judged as one (RFC 6749, 5.2).
    if !headers.contains_key(AUTHORIZATION) {
        let id =
            id.ok_or(PlatformError::Oauth { code: "invalid_client", message: "there are no client credentials" })?;
        return Ok(ClientCredentials { id: ClientId::new(id), secret: secret.map(str::to_owned) });
    }
    // Two secrets are refused even when they agree (RFC 6749, 2.3): one of them will be in a log.
    if secret.is_some() {
        return Err(invalid_request("the client shows itself in two ways"));
    }
    let basic = from_basic(headers).ok_or(PlatformError::Oauth {
        code: "invalid_client",
        message: "the Authorization header is not of the Basic scheme, or cannot be read",
    })?;
    // Many libraries repeat the id in the form, so the same one is let through.
    if id.is_some_and(|id| id != basic.id.as_str()) {
        return Err(invalid_request("client_id is not the one of the Authorization header"));
    }
    Ok(basic)
}

fn from_basic(headers: &HeaderMap) -> Option<ClientCredentials> {
    let (scheme, encoded) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let secret = form_decoded(secret)?;
    Some(ClientCredentials { id: ClientId::new(form_decoded(id)?), secret: (!secret.is_empty()).then_some(secret) })
}

/// Both halves are encoded like the fields of a form before they are joined (RFC 6749, 2.3.1).
fn form_decoded(text: &str) -> Option<String> {
    // They would split the text into several fields, of which one would be taken for the whole.
    if text.contains(['&', '=']) {
        return None;
    }
    let decoded = pairs(text.as_bytes()).into_iter().next().map(|(text, _)| text).unwrap_or_default();
    (!decoded.contains('\0')).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(text: &str) -> Option<(String, Option<String>)> {
        let mut headers = HeaderMap::new();
        let value = format!("Basic {}", STANDARD.encode(text));
        headers.insert(AUTHORIZATION, value.parse().expect("a header"));
        from_basic(&headers).map(|client| (client.id.to_string(), client.secret))
    }

    #[test]
    fn both_halves_are_decoded() {
        assert_eq!(basic("id:pws_a-b"), Some(("id".to_owned(), Some("pws_a-b".to_owned()))));
        assert_eq!(basic("i%3Ad:a%26b+c"), Some(("i:d".to_owned(), Some("a&b c".to_owned()))));
        assert_eq!(basic("id:"), Some(("id".to_owned(), None)));
        assert_eq!(basic("id"), None);
        assert_eq!(basic("id:a&b"), None);
        assert_eq!(basic("i%00d:a"), None);
    }
}
