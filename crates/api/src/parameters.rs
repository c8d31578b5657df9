//! Query parameters, whose keys may repeat and may come as `types`, `types[]` or `types[0]`.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use axum_extra::extract::Query;
use platform::PlatformError;

/// The query parameters of a request, in their order.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Returns the parameters of an address. One that cannot be read has none.
    pub fn of(uri: &Uri) -> Self {
        // Pairs and not a map: names repeat, and a map would keep one of them.
        Query::<Vec<(String, String)>>::try_from_uri(uri).map(|Query(pairs)| Parameters(pairs)).unwrap_or_default()
    }

    /// Returns the first value of a key that is not empty.
    pub fn one(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, value)| name == key && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Returns whether a key is there, with whatever value.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }

    /// Returns all values of `key`, `key[]` and `key[0]`, `key[1]`...; a value with commas is several. Invalid when
    /// something else is in the brackets: left out, it would ask for everything.
    pub fn list(&self, key: &'static str) -> Result<Vec<&str>, PlatformError> {
        let mut values = Vec::new();
        for (name, value) in &self.0 {
            match bracket_of(name, key) {
                None => {}
                Some(bracket) if bracket.is_empty() || is_index(bracket) => values.extend(value.split(',')),
                Some(_) => return Err(PlatformError::invalid(key, format!("cannot be written as {name}"))),
            }
        }
        Ok(values.into_iter().map(str::trim).filter(|value| !value.is_empty()).collect())
    }

    /// Returns whether a key is set to 1 or `true`. Malformed when it is something else than these, 0 and `false`.
    pub fn flag(&self, key: &'static str) -> Result<bool, PlatformError> {
        match self.one(key) {
            Some("1" | "true") => Ok(true),
            // An empty value counts as absent, as clients write parameters that were not set.
            None | Some("0" | "false") => Ok(false),
            Some(_) => Err(malformed(key, "must be 0 or 1")),
        }
    }

    /// Returns a number of milliseconds, whose fraction is cut off. Invalid when the key is not there, malformed when
    /// it is not a number.
    pub fn required_ms(&self, key: &'static str) -> Result<i64, PlatformError> {
        let text = self.one(key).ok_or_else(|| PlatformError::invalid(key, "is required"))?;
        // Tried first: as a float, times beyond 2^53 would be rounded to a neighbour.
        if let Ok(whole) = text.parse() {
            return Ok(whole);
        }
        let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(|number| number.floor() as i64).ok_or_else(|| malformed(key, "must be a number"))
    }
}

/// Returns a parameter that cannot be read.
pub(crate) fn malformed(key: &str, message: &str) -> PlatformError {
    PlatformError::Malformed { code: "malformed_parameter", message: format!("{key} {message}") }
}

/// Returns what follows a key in a name of a parameter: nothing, or something in brackets; `None` when it is another
/// key.
fn bracket_of<'name>(name: &'name str, key: &str) -> Option<&'name str> {
    name.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with('['))
}

fn is_index(bracket: &str) -> bool {
    let inside = bracket.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Parameters::of(&parts.uri))
    }
}

/// Two parameters, or what is wrong with them: of both at once when both are not valid.
pub(crate) fn both<A, B>(
    first: Result<A, PlatformError>,
    second: Result<B, PlatformError>,
) -> Result<(A, B), PlatformError> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Err(PlatformError::Invalid(mut errors)), Err(PlatformError::Invalid(more))) => {
            errors.extend(more);
            Err(PlatformError::Invalid(errors))
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(query: &str) -> Parameters {
        Parameters::of(&format!("/?{query}").parse().expect("an address"))
    }

    #[test]
    fn every_way_to_write_a_list_is_read() {
        for query in ["f=a&f=b", "f[]=a&f[]=b", "f%5B%5D=a&f%5B%5D=b", "f[0]=a&f[1]=b", "f=a,b", "f=a&f[]=&f[]=b"] {
            assert_eq!(parameters(query).list("f").expect("a list"), ["a", "b"], "{query}");
        }
        assert!(parameters("fx=a&g[x]=d").list("f").expect("a list").is_empty());
        for query in ["f[x]=b", "f[=c", "f[]x=a", "f[1", "f[0]=a&f[x]=b"] {
            assert!(matches!(parameters(query).list("f"), Err(PlatformError::Invalid(_))), "{query}");
        }
    }

    #[test]
    fn an_empty_value_is_no_value() {
        assert_eq!(parameters("token=&token=x").one("token"), Some("x"));
        assert_eq!(parameters("token=").one("token"), None);
    }

    #[test]
    fn flags_and_numbers_say_what_is_wrong() {
        assert!(parameters("s=1").flag("s").expect("a flag"));
        assert!(!parameters("").flag("s").expect("a flag"));
        assert!(matches!(parameters("s=yes").flag("s"), Err(PlatformError::Malformed { .. })));
        let ms = |query: &str| parameters(query).required_ms("n");
        for (query, expected) in [("n=-7", -7), ("n=1.5", 1), ("n=-1.5", -2), ("n=1.7636e12", 1_763_600_000_000)] {
            assert_eq!(ms(query).expect("a number"), expected, "{query}");
        }
        assert!(matches!(ms(""), Err(PlatformError::Invalid(_))));
        for other in ["n=x", "n=NaN", "n=inf", "n=1e999", "n=1,5", "n=0x10"] {
            assert!(matches!(ms(other), Err(PlatformError::Malformed { .. })), "{other}");
        }
    }
}
