//! Which coding of a file a client takes.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, ACCEPT_ENCODING};

/// How a file is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Gzip,
    Plain,
}

impl Coding {
    /// Returns the smallest that a client says it takes.
    pub fn for_client(headers: &HeaderMap) -> Self {
        [(Coding::Brotli, "br"), (Coding::Gzip, "gzip")]
            .into_iter()
            .find(|(_, name)| takes(headers, name))
            .map_or(Coding::Plain, |(coding, _)| coding)
    }

    /// As `Content-Encoding` names it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Coding::Brotli => Some("br"),
            Coding::Gzip => Some("gzip"),
            Coding::Plain => None,
        }
    }
}

fn takes(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        name.trim().eq_ignore_ascii_case(coding) && is_wanted(weight)
    })
}

/// Returns whether somebody looks for a page, as browsers do that are sent to an address.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    // `*/*` asks for no page: programs send it, and are to get the API's own 404 and not a page of ours.
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| {
        let (kind, weight) = one.split_once(';').unwrap_or((one, ""));
        kind.trim().eq_ignore_ascii_case("text/html") && is_wanted(weight)
    })
}

/// Returns whether the parameters of a choice give it a weight above 0, which refuses it (RFC 9110, 12.4.2). One that
/// cannot be read is taken for a refusal, because what is sent plain is never wrong.
fn is_wanted(parameters: &str) -> bool {
    let weight = parameters.trim().strip_prefix("q=").map_or(Some(1.0), |weight| weight.trim().parse::<f32>().ok());
    weight.is_some_and(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_coding_that_is_taken_is_chosen() {
        let chosen = |value: &'static str| {
            Coding::for_client(&HeaderMap::from_iter([(ACCEPT_ENCODING, value.parse().expect("a header"))]))
        };
        assert_eq!(chosen("gzip, deflate, br, zstd"), Coding::Brotli);
        assert_eq!(chosen("gzip;q=0.8, br;q=0"), Coding::Gzip);
        assert_eq!(chosen("GZIP"), Coding::Gzip);
        for plain in ["", "identity", "brx", "br;q=x", "gzip; q=0"] {
            assert_eq!(chosen(plain), Coding::Plain, "{plain}");
        }
        assert_eq!(Coding::for_client(&HeaderMap::new()), Coding::Plain);
    }

    #[test]
    fn browsers_look_for_pages_and_programs_do_not() {
        let wants =
            |value: &'static str| wants_page(&HeaderMap::from_iter([(ACCEPT, value.parse().expect("a header"))]));
        assert!(wants("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(!wants("*/*"));
        assert!(!wants("application/json"));
        assert!(!wants("text/html;q=0, */*"));
        assert!(wants("text/html;level=1"));
        assert!(!wants_page(&HeaderMap::new()));
    }
}
