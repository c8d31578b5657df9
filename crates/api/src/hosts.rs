//! Host names of the clouds: a request for such a name is served by its cloud at the root.
//!
//! The name decides about the route and nothing else. Absolute addresses in answers come from the configuration, so
//! that nobody can have a link made to a host of their choice.

use axum::Json;
use axum::http::header::{CACHE_CONTROL, HOST};
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use runtime::HashMap;

use crate::error::ErrorBody;
use crate::part::Part;

/// Paths that are served under every name, besides the clouds.
const EVERYWHERE: [&str; 4] = ["/livez", "/readyz", "/openapi.json", "/docs"];

/// The host names of the clouds.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    names: HashMap<String, Part>,
}

/// A request that does not say clearly which host it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnclearHost;

impl Hosts {
    /// Adds a name of a cloud; false when it is another's already.
    pub fn add(&mut self, name: &str, part: Part) -> bool {
        *self.names.entry(bare_name(name)).or_insert(part) == part
    }

    /// Gives a request that is for a cloud's own name the path that it has on the shared address.
    ///
    /// # Errors
    /// More than one `Host` header: anyone who passed the request on may have read the other one.
    pub fn place<B>(&self, request: &mut Request<B>) -> Result<(), UnclearHost> {
        // Checked without names as well: the rule must not depend on how the service was set up.
        if request.headers().get_all(HOST).iter().nth(1).is_some() {
            return Err(UnclearHost);
        }
        if self.names.is_empty() {
            return Ok(());
        }
        let Some(name) = host_of(request.uri(), request.headers()) else { return Ok(()) };
        // Unknown names are served by path: probes and health checks ask by address.
        let Some(part) = self.names.get(&bare_name(name)) else { return Ok(()) };
        let path = request.uri().path();
        // An OPTIONS request for `*` has no path to put a prefix before.
        if EVERYWHERE.contains(&path) || path.starts_with("/docs/") || !path.starts_with('/') {
            return Ok(());
        }
        let below = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        // A prefix of plain letters before what was an address is one too, unless it grows too long.
        let placed: Uri = format!("{}{below}", part.prefix()).parse().map_err(|_| UnclearHost)?;
        *request.uri_mut() = placed;
        Ok(())
    }
}

impl IntoResponse for UnclearHost {
    fn into_response(self) -> Response {
        let body = ErrorBody::new("bad_host", "the request does not say clearly which host it is for");
        (StatusCode::BAD_REQUEST, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
    }
}

/// Returns the host that a request is for; the request line counts before the header (RFC 9112, 3.2.2).
fn host_of<'request>(uri: &'request Uri, headers: &'request HeaderMap) -> Option<&'request str> {
    match uri.authority().map(Authority::as_str) {
        Some(authority) => Some(authority),
        None => headers.get(HOST)?.to_str().ok(),
    }
}

/// Returns a name as it is compared: without port and last dot, in small letters.
fn bare_name(host: &str) -> String {
    // Clients behind a proxy keep the port that they connected to, and name servers allow the dot.
    let name = match host.rsplit_once(':') {
        // The colons of an IPv6 address are in brackets.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        let mut hosts = Hosts::default();
        for (name, part) in [
            ("api.example", Part::Integration),
            ("Old-API.example", Part::Integration),
            ("users.example", Part::Users),
            ("health.example", Part::Health),
        ] {
            assert!(hosts.add(name, part));
        }
        hosts
    }

    fn placed(uri: &str, host: Option<&str>) -> String {
        let mut request = Request::get(uri);
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        let mut request = request.body(()).expect("a request");
        hosts().place(&mut request).expect("a clear host");
        request.uri().to_string()
    }

    #[test]
    fn a_cloud_is_at_the_root_of_each_of_its_names() {
        for host in ["api.example", "API.example:8443", "old-api.example.", "old-api.example"] {
            assert_eq!(placed("/v1/groups?token=a", Some(host)), "/integration/v1/groups?token=a", "{host}");
        }
        assert_eq!(placed("/login", Some("users.example")), "/users/login");
        assert_eq!(placed("/login", Some("health.example")), "/health/login");
        assert_eq!(placed("/", Some("health.example")), "/health/");
        assert_eq!(placed("/v2/../v1/sync", Some("health.example")), "/health/v2/../v1/sync");
    }

    #[test]
    fn the_request_line_is_used_before_the_header() {
        assert_eq!(placed("http://users.example/login", Some("health.example")), "/users/login");
        assert!(!placed("http://elsewhere.example/users/login", Some("health.example")).contains("/health"));
    }

    #[test]
    fn other_names_and_shared_addresses_stay_as_they_are() {
        for host in [None, Some("elsewhere.example"), Some("api.example.evil.example"), Some("[::1]:80"), Some("")] {
            assert_eq!(placed("/users/login", host), "/users/login", "{host:?}");
        }
        assert_eq!(placed("/livez", Some("users.example")), "/livez");
        assert_eq!(placed("/docs", Some("users.example")), "/docs");
        assert_eq!(placed("/docs/swagger-ui.css", Some("users.example")), "/docs/swagger-ui.css");
        assert_eq!(placed("/docsx", Some("users.example")), "/users/docsx");
        assert!(!hosts().add("api.example:80", Part::Health), "a name belongs to one cloud");
    }

    #[test]
    fn two_hosts_are_refused_also_without_names() {
        let two = || Request::get("/").header(HOST, "a.example").header(HOST, "b.example").body(()).expect("a request");
        assert_eq!(hosts().place(&mut two()), Err(UnclearHost));
        assert_eq!(Hosts::default().place(&mut two()), Err(UnclearHost));
    }
}
