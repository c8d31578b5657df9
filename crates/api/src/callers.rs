//! Who may be calling: every credential that a request shows, the address that it comes from, and the credentials that
//! have proven valid before, with their owners.
//!
//! Nothing of a credential is kept but a hash with a seed of this process.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, Uri};
use runtime::{HashMap, Hashing};

use crate::parameters::Parameters;
use crate::portal::cookie::session_cookie;

/// Tables that are locked apart from each other.
const SHARDS: usize = 16;
/// Credentials of one generation that a shard keeps at most.
const LARGEST_GENERATION: usize = 4096;
/// Places in which a request can show a credential.
const PLACES: usize = 5;

/// Distinguishes callers, and knows those whose credential has proven valid. One that was revoked since stays known and
/// is refused by its extractor: it opens nothing but the way there.
pub(crate) struct Callers {
    hasher: Hashing,
    session_cookie: &'static str,
    known: [Mutex<Known>; SHARDS],
}

/// Credentials that have proven valid with whose they are, in two generations: when the newer one is full, the older one is forgotten. A
/// credential that is used stays known however many others come.
#[derive(Default)]
struct Known {
    newer: HashMap<u64, u64>,
    older: HashMap<u64, u64>,
}

/// Who may be calling. Which of the credentials counts is known only when an extractor has accepted one.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    /// Hashes of what may be a credential.
    credentials: [Option<u64>; PLACES],
    /// A hash of the address, or of the network that it lies in.
    pub address: u64,
}

impl Caller {
    /// Returns the hashes of what may be a credential.
    pub(crate) fn credentials(&self) -> impl Iterator<Item = u64> {
        self.credentials.into_iter().flatten()
    }
}

/// With the answer to a caller whose credential is valid, for what accepts connections.
#[derive(Clone, Copy, Debug)]
pub struct ProvenCaller {
    /// Whose credential it is: the same number for all credentials of a patient or an account, on this node.
    pub owner: u64,
}

impl Callers {
    /// Knows nobody yet. `session_cookie` is the name of the cookie that pages bring.
    pub(crate) fn new(session_cookie: &'static str) -> Self {
        Callers { hasher: Hashing::default(), session_cookie, known: Default::default() }
    }

    /// Returns who may be sending a request.
    pub(crate) fn caller(&self, uri: &Uri, headers: &HeaderMap, address: Option<IpAddr>) -> Caller {
        let shown = credentials_of(uri, headers, self.session_cookie);
        Caller {
            credentials: shown.map(|credential| credential.map(|credential| self.credential(&credential))),
            address: self.hasher.hash_one(address.map(neighbourhood)),
        }
    }

    /// Returns the hash of a credential.
    pub(crate) fn credential(&self, credential: &[u8]) -> u64 {
        self.hasher.hash_one(credential)
    }

    /// Returns the hash of an owner of credentials, of their identifier.
    pub(crate) fn owner(&self, id: &str) -> u64 {
        self.hasher.hash_one(id)
    }

    /// Returns the owner of the first of the credentials that has proven valid before.
    pub(crate) fn known_owner(&self, caller: Caller) -> Option<u64> {
        caller.credentials().find_map(|credential| self.shard(credential).owner(credential))
    }

    /// Notes that a credential is valid, and whose it is.
    pub(crate) fn note(&self, credential: u64, owner: u64) {
        self.shard(credential).note(credential, owner);
    }

    /// Forgets a credential until it is noted again.
    pub(crate) fn forget(&self, credential: u64) {
        let mut known = self.shard(credential);
        known.newer.remove(&credential);
        known.older.remove(&credential);
    }

    fn shard(&self, credential: u64) -> std::sync::MutexGuard<'_, Known> {
        self.known[credential as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn owner(&self, credential: u64) -> Option<u64> {
        self.newer.get(&credential).or_else(|| self.older.get(&credential)).copied()
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.newer.len() + self.older.len()
    }

    fn note(&mut self, credential: u64, owner: u64) {
        if self.newer.contains_key(&credential) {
            return;
        }
        // Whole generations and not the oldest one: that needs no order among them, which each request would have to change.
        if self.newer.len() >= LARGEST_GENERATION {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(credential, owner);
    }
}

/// Returns what a request shows in each place that an extractor may take a credential from. The same credential
/// written in another way is the same here.
fn credentials_of<'request>(
    uri: &'request Uri,
    headers: &'request HeaderMap,
    cookie_name: &str,
) -> [Option<Cow<'request, [u8]>>; PLACES] {
    let header = |name: &'static str| {
        headers.get(HeaderName::from_static(name)).map(|value| Cow::Borrowed(value.as_bytes().trim_ascii()))
    };
    let cookie = session_cookie(headers, cookie_name).ok().flatten();
    [
        token_of(uri),
        bearer_of(headers),
        header("x-api-key"),
        header("x-health-token"),
        cookie.map(|cookie| Cow::Borrowed(cookie.as_bytes())),
    ]
}

fn token_of(uri: &Uri) -> Option<Cow<'_, [u8]>> {
    let query = uri.query().unwrap_or_default();
    // Nearly no address is escaped, and reading one that is allocates.
    let is_escaped = query.contains(['%', '+']);
    if is_escaped && let Some(token) = Parameters::of(uri).one("token") {
        return Some(Cow::Owned(token.as_bytes().to_vec()));
    }
    let mut tokens = query.split('&').filter_map(|parameter| parameter.strip_prefix("token="));
    tokens.find(|token| !token.is_empty()).map(|token| Cow::Borrowed(token.as_bytes()))
}

fn bearer_of(headers: &HeaderMap) -> Option<Cow<'_, [u8]>> {
    let value = headers.get(AUTHORIZATION)?.as_bytes().trim_ascii();
    // Whatever the scheme: an extractor that takes another one refuses the request, and only what is valid is noted.
    let scheme_end = value.iter().position(|byte| *byte == b' ').unwrap_or(0);
    Some(Cow::Borrowed(value[scheme_end..].trim_ascii()))
}

/// Returns the network of an address: addresses that one customer of a network has at their disposal count together, of
/// IPv6 the /64.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    const COOKIE: &str = "pulseward_session";

    #[test]
    fn who_has_proven_valid_is_known_again() {
        let callers = Callers::new(COOKIE);
        let caller = |query: &'static str| callers.caller(&Uri::from_static(query), &HeaderMap::new(), None);
        let rita = callers.owner("rita");
        assert_eq!(callers.known_owner(caller("/?token=a")), None);
        callers.note(callers.credential(b"a"), rita);
        assert_eq!(callers.known_owner(caller("/other?x=1&token=a")), Some(rita));
        assert_eq!(callers.known_owner(caller("/?token=b")), None);
        assert_eq!(callers.known_owner(caller("/")), None, "an address alone is never known");
    }

    #[test]
    fn who_calls_again_stays_known_and_the_table_does_not_grow() {
        let callers = Callers::new(COOKIE);
        let rita = callers.credential(b"rita");
        for other in 0..400_000_u32 {
            if other % 1000 == 0 {
                callers.note(rita, 1);
            }
            callers.note(callers.credential(&other.to_be_bytes()), 2);
            assert_eq!(callers.shard(rita).owner(rita), Some(1), "{other}");
        }
        let kept: usize = callers.known.iter().map(|shard| shard.lock().expect("a lock").len()).sum();
        assert!(kept <= SHARDS * 2 * LARGEST_GENERATION, "{kept}");
    }

    #[test]
    fn credentials_are_found_where_extractors_look() {
        let of = |uri: &'static str, name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value.parse().expect("a header"))]);
            let uri = Uri::from_static(uri);
            let shown = credentials_of(&uri, &headers, COOKIE);
            shown.into_iter().flatten().map(|shown| String::from_utf8_lossy(&shown).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("/?a=1&token=k", "authorization", "Bearer t"), ["k", "t"]);
        for written in ["Bearer t", "bearer   t ", "BEARER t"] {
            assert_eq!(of("/?token=", "authorization", written), ["t"], "{written}");
        }
        for written in
            ["/?token=pwk_t", "/?token=pwk%5Ft", "/?token=pwk%5ft&a=1", "/?%74oken=pwk_t", "/?a=+&token=pwk_t"]
        {
            assert_eq!(of(written, "accept", "*/*"), ["pwk_t"], "{written}");
        }
        assert_eq!(of("/", "x-api-key", " k "), ["k"]);
        assert_eq!(of("/", "x-health-token", "t"), ["t"]);
        assert_eq!(of("/", "cookie", "a=1; pulseward_session=s"), ["s"]);
        assert!(of("/?tokens=x", "accept", "*/*").is_empty());
    }
}
