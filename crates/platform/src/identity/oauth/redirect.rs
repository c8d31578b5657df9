//! The addresses at which clients are answered.

use url::form_urlencoded::byte_serialize;
use url::{Host, Url};

const LONGEST_ADDRESS: usize = 2000;

/// Whether a client may be answered at an address: https; http on the person's own machine; or a scheme that an
/// application has made its own, which is the reverse of a domain (RFC 8252, section 7). What is wrong otherwise.
pub(super) fn check_redirect_uri(address: &str) -> Result<(), &'static str> {
    let url = read(address)?;
    // RFC 6749, 3.1.2.
    if address.contains('#') {
        return Err("must have no fragment");
    }
    if address.contains('*') {
        return Err("must be whole: it is compared byte by byte");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must have no user name");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&url) => Ok(()),
        "http" => Err("must be https, unless it is on the loopback interface"),
        scheme if scheme.contains('.') => Ok(()),
        _ => Err("must be https, http on the loopback interface, or a scheme like org.example.app"),
    }
}

/// Returns whether an application may be answered at an address because it registered another: byte by byte the same, or both on
/// the loopback interface and different in the port alone, which an application gets from its system only when it starts
/// (RFC 8252, section 7.3).
pub(super) fn is_registered_as(asked: &str, registered: &str) -> bool {
    let differs_in_port = || match (without_port(asked), without_port(registered)) {
        (Some(asked), Some(registered)) => asked == registered,
        _ => false,
    };
    asked == registered || differs_in_port()
}

/// Returns the origin of the pages that an address belongs to, as browsers send it; none where it is not https.
pub(super) fn origin_of_pages(address: &str) -> Option<String> {
    let url = read(address).ok().filter(|url| url.scheme() == "https")?;
    Some(url.origin().ascii_serialization())
}

/// Returns host and path of an address on the loopback interface; none of any other.
fn without_port(address: &str) -> Option<(&str, &str)> {
    check_redirect_uri(address).ok()?;
    // Not by way of a parser, which would make one of addresses that differ in more than the port.
    let rest = address.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            port.parse::<u16>().ok()?;
            host
        }
        _ => authority,
    };
    Some((host, path))
}

/// Whether an address can be shown as a link to a privacy policy.
pub(super) fn check_policy_address(address: &str) -> Result<(), &'static str> {
    match read(address)?.scheme() {
        "https" => Ok(()),
        _ => Err("must be an https address"),
    }
}

/// Returns an address with parameters added. What was registered is unchanged before them.
pub(super) fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut answer = address.to_owned();
    for (name, value) in parameters {
        // Not by way of a parser: what it writes can differ by bytes from what was registered.
        answer.push(if answer.contains('?') { '&' } else { '?' });
        answer.push_str(name);
        answer.push('=');
        answer.extend(byte_serialize(value.as_bytes()));
    }
    answer
}

fn read(address: &str) -> Result<Url, &'static str> {
    if address.len() > LONGEST_ADDRESS {
        return Err("is too long");
    }
    // What browsers and parsers are known to read differently does not get in.
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\^`{|};,".contains(&byte)) {
        return Err("has characters that an address does not have");
    }
    Url::parse(address).map_err(|_| "is not an address")
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_a_client_can_own_are_taken() {
        let good = [
            "https://diary.example/back",
            "https://diary.example:8443/back?from=us",
            "http://127.0.0.1:7777/back",
            "http://[::1]/back",
            "http://localhost:1234",
            "org.example.diary:/back",
            "org.example.diary://back",
        ];
        for address in good {
            assert_eq!(check_redirect_uri(address), Ok(()), "{address}");
        }
        let bad = [
            "",
            "/back",
            "diary.example/back",
            "http://diary.example/back",
            "http://127.0.0.1.evil.example/back",
            "http://localhost.evil.example/back",
            "https://good.example@evil.example/",
            "https://diary.example/back#part",
            "https://diary.example/back#",
            "javascript:alert(1)",
            "data:text/html,hello",
            "file:///etc/passwd",
            "diary:/back",
            "https://good.example\\@evil.example",
            "https://diary.example/\r\nSet-Cookie:x",
            "https://diary.example/ back",
            "https://diary.example/;frame-ancestors",
            "https://",
            "https://*.diary.example/back",
            "https://diary.example/*",
        ];
        for address in bad {
            assert!(check_redirect_uri(address).is_err(), "{address}");
        }
        assert!(check_redirect_uri(&format!("https://diary.example/{}", "x".repeat(LONGEST_ADDRESS))).is_err());
    }

    #[test]
    fn the_port_of_the_loopback_interface_may_differ_and_nothing_else() {
        let same = [
            ("http://127.0.0.1:50123/back", "http://127.0.0.1/back"),
            ("http://127.0.0.1/back", "http://127.0.0.1:7777/back"),
            ("http://[::1]:50123/back?from=us", "http://[::1]:7777/back?from=us"),
            ("http://[::1]:50123", "http://[::1]"),
            ("http://localhost:50123/back", "http://localhost/back"),
            ("https://diary.example/back", "https://diary.example/back"),
        ];
        for (asked, registered) in same {
            assert!(is_registered_as(asked, registered), "{asked} for {registered}");
        }
        let different = [
            ("https://diary.example:8443/back", "https://diary.example/back"),
            ("http://127.0.0.1:50123/other", "http://127.0.0.1/back"),
            ("http://127.0.0.1:50123/back?x=1", "http://127.0.0.1/back"),
            ("http://127.0.0.2:50123/back", "http://127.0.0.1/back"),
            ("http://localhost:50123/back", "http://127.0.0.1/back"),
            ("http://127.0.0.1:99999/back", "http://127.0.0.1/back"),
            ("http://127.0.0.1:/back", "http://127.0.0.1/back"),
            ("http://127.0.0.1:1:2/back", "http://127.0.0.1/back"),
            ("http://127.0.0.1:1@evil.example/back", "http://127.0.0.1/back"),
            ("http://evil.example:1/back", "http://evil.example/back"),
            ("org.example.diary:1/back", "org.example.diary:/back"),
        ];
        for (asked, registered) in different {
            assert!(!is_registered_as(asked, registered), "{asked} for {registered}");
        }
    }

    #[test]
    fn pages_of_https_have_an_origin() {
        let cases = [
            ("https://diary.example/back?x=1", Some("https://diary.example")),
            ("https://DIARY.example:443/back", Some("https://diary.example")),
            ("https://diary.example:8443/back", Some("https://diary.example:8443")),
            ("http://127.0.0.1:7777/back", None),
            ("org.example.diary:/back", None),
        ];
        for (address, origin) in cases {
            assert_eq!(origin_of_pages(address).as_deref(), origin, "{address}");
        }
    }

    #[test]
    fn a_policy_is_a_page() {
        assert_eq!(check_policy_address("https://diary.example/privacy"), Ok(()));
        for address in [
            "javascript:alert(1)",
            "org.example.diary:/privacy",
            "http://diary.example/privacy",
            "https://x\"onclick=y",
        ] {
            assert!(check_policy_address(address).is_err(), "{address}");
        }
    }

    #[test]
    fn parameters_are_added_and_escaped() {
        let parameters = [("state", "a b&c=d#e\r\n<é"), ("iss", "https://x/health")];
        assert_eq!(
            with_parameters("https://diary.example/back?from=us", &parameters),
            "https://diary.example/back?from=us&state=a+b%26c%3Dd%23e%0D%0A%3C%C3%A9&iss=https%3A%2F%2Fx%2Fhealth"
        );
        assert_eq!(with_parameters("org.example.diary:/back", &[("code", "x")]), "org.example.diary:/back?code=x");
    }
}
