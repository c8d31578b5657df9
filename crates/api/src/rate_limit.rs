//! The general rate limit: so many requests a minute for each credential, and for each address that shows none.
//!
//! A minute begins with the first request and the count starts again with the next request after its end, so that what
//! the headers say is exact and simple. A table of our own does it in less than a microsecond: the limiters on offer
//! smooth requests instead of counting them, and would need a second table to distinguish valid credentials from
//! guesses.
//!
//! A credential has a count of its own only once it has proven valid; until then its requests count for the address
//! that they come from, or guessing would be free. What a request shows besides, in other places, is no credential of
//! the request: as soon as one has proven valid, the request counts for that one and no longer
//! for what it was counted for until then. A request that is refused without a proof counts for its address, whatever it
//! was counted for, and the credential has to prove itself again before it pays for another one: what was valid once would
//! pay for guesses otherwise, on routes that check none. Counts are this node's own.
//!
//! Where an address has nothing left, a request that shows a credential is tried all the same, within a count of trials that is
//! [`TRIALS`] times as large: anyone behind the same address could otherwise keep out every key after a restart and every
//! new token. A trial whose credential does not prove valid is answered as one over the limit, whatever its route would say.

use std::sync::{Mutex, PoisonError};

use runtime::HashMap;

use crate::callers::Caller;

const MINUTE_MS: i64 = 60_000;
/// Trials of an address for each request that it has: so many look-ups cost less than what a flood costs that is refused.
const TRIALS: u32 = 200;
/// Tables that are locked apart from each other.
const SHARDS: usize = 16;
/// Counts that a shard keeps at most. When it is full, those whose minute is over go.
const LARGEST_SHARD: usize = 8192;

/// Counts requests.
pub(crate) struct RateLimit {
    per_minute: u32,
    credentials: [Mutex<HashMap<u64, Minute>>; SHARDS],
    addresses: [Mutex<HashMap<u64, Minute>>; SHARDS],
    /// By address.
    trials: [Mutex<HashMap<u64, Minute>>; SHARDS],
}

#[derive(Clone, Copy)]
struct Minute {
    begin_ms: i64,
    count: u32,
    /// True when it has to be proven again before requests count here from their begin.
    is_doubtful: bool,
}

/// Remainder of a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Requests a minute.
    pub limit: u32,
    /// Requests that are left.
    pub remaining: u32,
    /// Seconds until there are more, when there was none left for this request.
    pub retry_after_s: Option<u64>,
}

/// A counted request: which credential or address it counts for, and what is left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// What is left.
    pub quota: Quota,
    payer: Payer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payer {
    Credential(u64),
    Address(u64),
    /// An address that has nothing left, for so many seconds.
    Trial {
        address: u64,
        retry_after_s: u64,
    },
}

impl Taken {
    /// Returns for how many seconds a request is refused whose credential does not prove valid, where it is a trial.
    pub(crate) fn trial_for_s(&self) -> Option<u64> {
        match self.payer {
            Payer::Trial { retry_after_s, .. } => Some(retry_after_s),
            Payer::Credential(_) | Payer::Address(_) => None,
        }
    }
}

impl RateLimit {
    /// Lets so many requests a minute through.
    pub(crate) fn new(per_minute: u32) -> Self {
        RateLimit {
            per_minute,
            credentials: Default::default(),
            addresses: Default::default(),
            trials: Default::default(),
        }
    }

    /// Counts a request, if there is one left: for the first credential that has a count and something left, for the
    /// address where no credential has a count, and as a trial where the address has nothing left.
    pub(crate) fn take(&self, caller: Caller, now_ms: i64) -> Taken {
        let mut spent = None;
        for credential in caller.credentials() {
            let mut known = shard(&self.credentials, credential);
            // Known credentials never touch the counts of addresses: a hospital is one address and many keys.
            let Some(minute) = known.get_mut(&credential).filter(|minute| !minute.is_doubtful) else { continue };
            let taken = Taken { quota: minute.take(self.per_minute, now_ms), payer: Payer::Credential(credential) };
            if taken.quota.retry_after_s.is_none() {
                return taken;
            }
            spent.get_or_insert(taken);
        }
        spent.unwrap_or_else(|| {
            let taken = self.take_of_address(caller.address, now_ms);
            let refused_for_s = taken.quota.retry_after_s.filter(|_| caller.credentials().next().is_some());
            refused_for_s.and_then(|seconds| self.take_trial(caller.address, seconds, now_ms)).unwrap_or(taken)
        })
    }

    fn take_of_address(&self, address: u64, now_ms: i64) -> Taken {
        let quota = take_of(&self.addresses, address, self.per_minute, now_ms);
        Taken { quota, payer: Payer::Address(address) }
    }

    /// Counts a trial of an address that has nothing left for so many seconds; none when there is none left either.
    fn take_trial(&self, address: u64, retry_after_s: u64, now_ms: i64) -> Option<Taken> {
        let quota = take_of(&self.trials, address, self.per_minute.saturating_mul(TRIALS), now_ms);
        // What is said to be left is what the address has.
        let shown = Quota { limit: self.per_minute, remaining: 0, retry_after_s: None };
        let payer = Payer::Trial { address, retry_after_s };
        quota.retry_after_s.is_none().then_some(Taken { quota: shown, payer })
    }

    /// Settles a request that was refused without a proof: it counts for its address too, and the credential that it was
    /// counted for is doubtful from here on.
    pub(crate) fn charge_refused(&self, taken: Taken, caller: Caller, now_ms: i64) {
        let Payer::Credential(credential) = taken.payer else { return };
        if let Some(minute) = shard(&self.credentials, credential).get_mut(&credential) {
            minute.is_doubtful = true;
        }
        // What is over the address's limit has been done already; the next one is not.
        self.take_of_address(caller.address, now_ms);
    }

    /// Settles a request whose credential has proven valid: it counts for that credential, and no longer for
    /// what it was counted for. Returns what is left for the credential. When that is nothing, the request is to be refused, and
    /// stays counted as it was: a refusal that had to look a credential up is not free.
    pub(crate) fn charge(&self, taken: Taken, credential: u64, now_ms: i64) -> Taken {
        let payer = Payer::Credential(credential);
        if taken.payer == payer {
            return taken;
        }
        let quota = {
            let mut known = shard(&self.credentials, credential);
            // With so many callers in one minute the newest count for their addresses; those who are there stay.
            if !known.contains_key(&credential) && !has_room(&mut known, now_ms) {
                return taken;
            }
            let minute = known.entry(credential).or_insert(Minute::of(now_ms));
            minute.is_doubtful = false;
            minute.take(self.per_minute, now_ms)
        };
        if quota.retry_after_s.is_none() {
            self.give_back(taken.payer);
        }
        Taken { quota, payer }
    }

    fn give_back(&self, payer: Payer) {
        let (minutes, key) = match payer {
            Payer::Credential(credential) => (&self.credentials, credential),
            Payer::Address(address) => (&self.addresses, address),
            Payer::Trial { address, .. } => (&self.trials, address),
        };
        if let Some(minute) = shard(minutes, key).get_mut(&key) {
            minute.count = minute.count.saturating_sub(1);
        }
    }
}

impl Minute {
    fn of(now_ms: i64) -> Self {
        Minute { begin_ms: now_ms, count: 0, is_doubtful: false }
    }

    fn take(&mut self, per_minute: u32, now_ms: i64) -> Quota {
        // A clock that was set back begins a new minute as well.
        if now_ms - self.begin_ms >= MINUTE_MS || now_ms < self.begin_ms {
            *self = Minute { is_doubtful: self.is_doubtful, ..Minute::of(now_ms) };
        }
        if self.count >= per_minute {
            let rest_ms = (self.begin_ms + MINUTE_MS - now_ms).unsigned_abs();
            return Quota { limit: per_minute, remaining: 0, retry_after_s: Some(rest_ms.div_ceil(1000)) };
        }
        self.count += 1;
        Quota { limit: per_minute, remaining: per_minute - self.count, retry_after_s: None }
    }
}

fn shard<T>(shards: &[Mutex<T>; SHARDS], key: u64) -> std::sync::MutexGuard<'_, T> {
    shards[key as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request of an address in a table.
fn take_of(table: &[Mutex<HashMap<u64, Minute>>; SHARDS], address: u64, per_minute: u32, now_ms: i64) -> Quota {
    let mut minutes = shard(table, address);
    // Before the entry is made: the table is of a size that an attacker must not choose.
    if !has_room(&mut minutes, now_ms) {
        minutes.clear();
    }
    minutes.entry(address).or_insert(Minute::of(now_ms)).take(per_minute, now_ms)
}

/// Returns whether there is room for one more count, after those whose minute is over have gone where there was none.
fn has_room(minutes: &mut HashMap<u64, Minute>, now_ms: i64) -> bool {
    if minutes.len() >= LARGEST_SHARD {
        minutes.retain(|_, minute| (0..MINUTE_MS).contains(&(now_ms - minute.begin_ms)));
    }
    minutes.len() < LARGEST_SHARD
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::LazyLock;

    use axum::http::{HeaderMap, Uri};

    use super::*;
    use crate::callers::Callers;

    const LIMIT: u32 = 3;

    /// Callers are kept apart by one table in all tests.
    static CALLERS: LazyLock<Callers> = LazyLock::new(|| Callers::new("session"));

    fn caller(query: &str, address: &str) -> Caller {
        let uri: Uri = format!("/v1/groups?{query}").parse().expect("an address");
        CALLERS.caller(&uri, &HeaderMap::new(), Some(address.parse().expect("an address")))
    }

    fn charge(limit: &RateLimit, taken: Taken, credential: &str) -> Quota {
        limit.charge(taken, CALLERS.credential(credential.as_bytes()), 0).quota
    }

    fn take_all(limit: &RateLimit, caller: Caller, now_ms: i64) -> Vec<u32> {
        std::iter::from_fn(|| {
            let taken = limit.take(caller, now_ms).quota;
            taken.retry_after_s.is_none().then_some(taken.remaining)
        })
        .collect()
    }

    #[test]
    fn a_minute_begins_with_the_first_request() {
        let limit = RateLimit::new(LIMIT);
        let someone = caller("", "192.0.2.1");
        assert_eq!(take_all(&limit, someone, 5000), [2, 1, 0]);
        let refused = Quota { limit: LIMIT, remaining: 0, retry_after_s: Some(60) };
        assert_eq!(limit.take(someone, 5000).quota, refused);
        assert_eq!(limit.take(someone, 64_999).quota.retry_after_s, Some(1));
        assert_eq!(take_all(&limit, someone, 65_000), [2, 1, 0]);
        assert_eq!(take_all(&limit, someone, 1000), [2, 1, 0], "the clock was set back");
    }

    #[test]
    fn a_guess_counts_for_its_address() {
        let limit = RateLimit::new(LIMIT);
        for guess in 0..LIMIT {
            assert_eq!(limit.take(caller(&format!("token=guess{guess}"), "192.0.2.1"), 0).quota.retry_after_s, None);
        }
        for who in ["token=another", "", "token=&token=x"] {
            let taken = limit.take(caller(who, "192.0.2.1"), 0);
            assert!(taken.quota.retry_after_s.or(taken.trial_for_s()).is_some(), "{who}");
            let elsewhere = limit.take(caller(who, "192.0.2.2"), 0);
            assert_eq!((elsewhere.quota.retry_after_s, elsewhere.trial_for_s()), (None, None), "{who}");
        }
    }

    #[test]
    fn credential_is_tried_where_its_address_has_nothing_left() {
        let limit = RateLimit::new(LIMIT);
        assert_eq!(take_all(&limit, caller("", "192.0.2.1"), 0).len(), 3);
        let good = limit.take(caller("token=good", "192.0.2.1"), 1000);
        assert_eq!((good.quota.retry_after_s, good.quota.remaining, good.trial_for_s()), (None, 0, Some(59)));
        assert_eq!(charge(&limit, good, "good").remaining, 2);
        // A flood of guesses ends as well, and what proved valid was given back.
        let tried = take_all(&limit, caller("token=guess", "192.0.2.1"), 1000).len();
        assert_eq!(tried, (LIMIT * TRIALS) as usize);
        assert_eq!(limit.take(caller("token=another", "192.0.2.1"), 1000).quota.retry_after_s, Some(59));
        assert_eq!(take_all(&limit, caller("token=good", "192.0.2.1"), 1000), [1, 0]);
    }

    #[test]
    fn a_valid_credential_has_a_count_of_its_own_from_every_address() {
        let limit = RateLimit::new(LIMIT);
        for key in ["a", "b", "c", "d", "e"] {
            let who = caller(&format!("x=1&token={key}"), "192.0.2.1");
            assert_eq!(charge(&limit, limit.take(who, 0), key).remaining, 2);
            assert_eq!(charge(&limit, limit.take(who, 0), key).remaining, 1, "settling a second time changes nothing");
        }
        let elsewhere = caller("token=a", "192.0.2.9");
        assert_eq!(take_all(&limit, elsewhere, 0), [0]);
        let nobody = caller("", "192.0.2.1");
        assert_eq!(take_all(&limit, nobody, 0), [2, 1, 0], "what proved valid was given back");
    }

    #[test]
    fn a_valid_credential_is_counted_whatever_else_the_request_shows() {
        let limit = RateLimit::new(LIMIT);
        let mut remaining = Vec::new();
        for junk in 0..LIMIT {
            let taken = limit.take(caller(&format!("token=junk{junk}"), "192.0.2.1"), 0);
            remaining.push(charge(&limit, taken, "good").remaining);
        }
        assert_eq!(remaining, [2, 1, 0]);
        let over = charge(&limit, limit.take(caller("token=junk", "192.0.2.1"), 0), "good");
        assert_eq!(over.retry_after_s, Some(60));
        assert_eq!(take_all(&limit, caller("", "192.0.2.1"), 0), [1, 0], "the refused one stays the address's");
        let kept: usize = limit.credentials.iter().map(|shard| shard.lock().expect("a lock").len()).sum();
        assert_eq!(kept, 1, "no junk has a count");
    }

    #[test]
    fn callers_with_a_count_keep_it_when_the_table_is_full() {
        let limit = RateLimit::new(LIMIT);
        let who = caller("token=first", "192.0.2.1");
        assert_eq!(charge(&limit, limit.take(who, 0), "first").remaining, 2);
        for number in 0..400_000_u32 {
            let address = IpAddr::from(std::net::Ipv4Addr::from_bits(number));
            let taken = limit.take(CALLERS.caller(&Uri::from_static("/"), &HeaderMap::new(), Some(address)), 0);
            limit.charge(taken, CALLERS.credential(&number.to_be_bytes()), 0);
        }
        assert_eq!(limit.take(who, 0).quota.remaining, 1);
    }

    #[test]
    fn neighbours_in_a_network_count_together() {
        let limit = RateLimit::new(LIMIT);
        assert_eq!(take_all(&limit, caller("", "2001:db8::1"), 0).len(), 3);
        assert!(take_all(&limit, caller("", "2001:db8::ffff:2"), 0).is_empty());
        assert_eq!(take_all(&limit, caller("", "2001:db8:0:1::1"), 0).len(), 3);
        assert_eq!(take_all(&limit, caller("", "192.0.2.1"), 0).len(), 3);
        assert!(take_all(&limit, caller("", "::ffff:192.0.2.1"), 0).is_empty());
    }

    #[test]
    fn tables_do_not_grow_without_end() {
        let limit = RateLimit::new(LIMIT);
        for number in 0..400_000_u32 {
            let address = IpAddr::from(std::net::Ipv4Addr::from_bits(number));
            limit.take(CALLERS.caller(&Uri::from_static("/"), &HeaderMap::new(), Some(address)), 0);
        }
        let kept: usize = limit.addresses.iter().map(|shard| shard.lock().expect("a lock").len()).sum();
        assert!(kept <= SHARDS * LARGEST_SHARD, "{kept}");
    }
}
