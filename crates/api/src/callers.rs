//! Who calls: by credential where one is shown, by address where none is, and who has proven to be somebody.
//!
//! Nothing of a credential is kept but a hash with a seed of this process.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use runtime::{HashSet, Hashing};

use crate::parameters::Parameters;
use crate::places::Share;
use crate::portal::cookie::session_cookie;

/// Tables that are locked apart from each other.
const SHARDS: usize = 16;
/// Credentials that a shard keeps at most. When it is full, it begins again.
const LARGEST_SHARD: usize = 8192;

/// Distinguishes callers, and knows those whose credential has proven valid. One that was revoked since stays known and
/// is refused by its extractor: it opens nothing but the way there.
#[derive(Default)]
pub(crate) struct Callers {
    hasher: Hashing,
    known: [Mutex<HashSet<u64>>; SHARDS],
}

/// Whose requests are counted together, and how a first one is settled when its credential has proven valid.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    /// A hash of the credential.
    pub credential: Option<u64>,
    /// A hash of the address, or of the network that it lies in.
    pub address: u64,
}

/// Set where a credential is found to be valid; until then it holds the caller's share of places for strangers.
#[derive(Clone, Default)]
pub(crate) struct Proven(Arc<Proof>);

#[derive(Default)]
struct Proof {
    is_set: AtomicBool,
    share: Mutex<Option<Share>>,
}

/// With the answer to a caller whose credential is valid, for what accepts connections.
#[derive(Clone, Copy, Debug)]
pub struct ProvenCaller;

impl Proven {
    /// Not proven yet, with a share of a stranger.
    pub(crate) fn with(share: Option<Share>) -> Self {
        Proven(Arc::new(Proof { is_set: AtomicBool::new(false), share: Mutex::new(share) }))
    }

    /// Returns whether the credential of the request has proven valid.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }
}

/// Notes that the credential of a request is valid: it gets a count of its own and is no stranger any more.
pub(crate) fn prove(parts: &Parts) {
    if let Some(Proven(proof)) = parts.extensions.get::<Proven>() {
        proof.is_set.store(true, Ordering::Relaxed);
        // Now and not at the end of the request: the body of an upload may take an hour.
        drop(proof.share.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Callers {
    /// Returns who sends a request.
    pub(crate) fn caller(&self, uri: &Uri, headers: &HeaderMap, address: Option<IpAddr>) -> Caller {
        let credential = credential_of(uri, headers).map(|credential| self.hasher.hash_one(credential));
        Caller { credential, address: self.hasher.hash_one(address.map(neighbourhood)) }
    }

    /// Returns whether the credential has proven valid before.
    pub(crate) fn is_known(&self, caller: Caller) -> bool {
        caller.credential.is_some_and(|credential| self.shard(credential).contains(&credential))
    }

    /// Notes that the credential is valid.
    pub(crate) fn note(&self, caller: Caller) {
        let Some(credential) = caller.credential else { return };
        let mut known = self.shard(credential);
        // Only what is valid comes in here, so nobody else can make the table forget.
        if known.len() >= LARGEST_SHARD {
            known.clear();
        }
        known.insert(credential);
    }

    fn shard(&self, credential: u64) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        self.known[credential as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the credential of a request, wherever an extractor may take it from, in the extractors' order. The same
/// credential written in another way is the same here.
fn credential_of<'request>(uri: &'request Uri, headers: &'request HeaderMap) -> Option<Cow<'request, [u8]>> {
    let query = uri.query().unwrap_or_default();
    let is_escaped = query.contains(['%', '+']);
    if is_escaped && let Some(token) = Parameters::of(uri).one("token") {
        return Some(Cow::Owned(token.as_bytes().to_vec()));
    }
    let mut tokens = query.split('&').filter_map(|parameter| parameter.strip_prefix("token="));
    if let Some(token) = tokens.find(|token| !token.is_empty()) {
        return Some(Cow::Borrowed(token.as_bytes()));
    }
    if let Some(value) = headers.get(AUTHORIZATION) {
        let value = value.as_bytes().trim_ascii();
        let scheme_end = value.iter().position(|byte| *byte == b' ').unwrap_or(0);
        return Some(Cow::Borrowed(value[scheme_end..].trim_ascii()));
    }
    let header = |name: &str| headers.get(name).map(|value| Cow::Borrowed(value.as_bytes().trim_ascii()));
    let cookie = || session_cookie(headers).ok().flatten().map(|cookie| Cow::Borrowed(cookie.as_bytes()));
    ["x-api-key", "x-health-token"].into_iter().find_map(header).or_else(cookie)
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

    #[test]
    fn who_has_proven_valid_is_known_again() {
        let callers = Callers::default();
        let caller = |query: &'static str| callers.caller(&Uri::from_static(query), &HeaderMap::new(), None);
        assert!(!callers.is_known(caller("/?token=a")));
        callers.note(caller("/?token=a"));
        assert!(callers.is_known(caller("/other?x=1&token=a")));
        assert!(!callers.is_known(caller("/?token=b")));
        callers.note(caller("/"));
        assert!(!callers.is_known(caller("/")), "an address alone is never known");
    }

    #[test]
    fn the_credential_is_found_where_extractors_look() {
        let of = |uri: &'static str, name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value.parse().expect("a header"))]);
            credential_of(&Uri::from_static(uri), &headers).map(Cow::into_owned)
        };
        assert_eq!(of("/?a=1&token=k", "authorization", "Bearer t"), Some(b"k".to_vec()));
        for written in ["Bearer t", "bearer   t ", "BEARER t"] {
            assert_eq!(of("/?token=", "authorization", written), Some(b"t".to_vec()), "{written}");
        }
        for written in
            ["/?token=pwk_t", "/?token=pwk%5Ft", "/?token=pwk%5ft&a=1", "/?%74oken=pwk_t", "/?a=+&token=pwk_t"]
        {
            assert_eq!(of(written, "accept", "*/*"), Some(b"pwk_t".to_vec()), "{written}");
        }
        assert_eq!(of("/", "x-api-key", " k "), Some(b"k".to_vec()));
        assert_eq!(of("/", "x-health-token", "t"), Some(b"t".to_vec()));
        assert_eq!(of("/", "cookie", "a=1; pulseward_session=s"), Some(b"s".to_vec()));
        assert_eq!(of("/?tokens=x", "accept", "*/*"), None);
    }
}
