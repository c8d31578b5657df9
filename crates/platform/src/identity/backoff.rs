//! Slows down guessing of passwords.
//!
//! Failures are counted by account *and* address, so that a stranger who fails on purpose does not lock a person
//! out; and, far more patiently, by address alone, so that trying one password on many accounts is slowed as well.
//! Counters live on one node; the waits are meant to make guessing hopeless, not to be exact.
//!
//! Names are as long as anyone who guesses wants and may be a person's, so none is kept: counters are found by a hash with a
//! seed of this process.

use std::hash::BuildHasher;
use std::net::Ipv6Addr;
use std::sync::{Mutex, PoisonError};

use runtime::{HashMap, Hashing};

/// Failures that cost nothing, of one account from one address.
const FREE_OF_PAIR: u32 = 5;
/// Failures that cost nothing, of all accounts from one address.
const FREE_OF_ADDRESS: u32 = 100;
const LONGEST_WAIT_MS: i64 = 15 * 60 * 1000;
/// After this time without a failure it is as if there had been none.
const FORGOTTEN_AFTER_MS: i64 = 60 * 60 * 1000;
/// How many counters are kept at most.
const REMEMBERED: usize = 50_000;

/// Who failed, as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    /// An account from an address.
    Pair(u64),
    /// Everyone at an address.
    Address(u64),
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last_ms: i64,
}

/// Failed logins, by who failed.
#[derive(Default)]
pub(crate) struct Backoff {
    hasher: Hashing,
    failures: Mutex<HashMap<Who, Failures>>,
}

impl Backoff {
    /// Seconds to wait before this account may be tried again from this address; `None` when it may be tried now.
    pub(crate) fn wait_s(&self, account: &str, address: &str, now_ms: i64) -> Option<u64> {
        self.wait_of(&self.both(account, address), now_ms)
    }

    /// Does the same, of what this account has failed with alone: where secrets are too long to be guessed.
    pub(crate) fn own_wait_s(&self, account: &str, address: &str, now_ms: i64) -> Option<u64> {
        let [pair, _] = self.both(account, address);
        self.wait_of(&[pair], now_ms)
    }

    fn wait_of(&self, who: &[Who], now_ms: i64) -> Option<u64> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let open_ms = who
            .iter()
            .filter_map(|who| failures.get(who).map(|failed| failed.last_ms + wait_ms(who, failed.count)))
            .max()?;
        let wait_ms = open_ms - now_ms;
        (wait_ms > 0).then(|| wait_ms.unsigned_abs().div_ceil(1000))
    }

    /// Counts a failure that was a guess.
    pub(crate) fn failed(&self, account: &str, address: &str, now_ms: i64) {
        self.count(self.both(account, address), now_ms);
    }

    /// Counts a failure that was no guess, such as a token that has ended: of the account from the address, and not
    /// of the address.
    pub(crate) fn failed_again(&self, account: &str, address: &str, now_ms: i64) {
        let [pair, _] = self.both(account, address);
        self.count([pair], now_ms);
    }

    fn count(&self, who_failed: impl IntoIterator<Item = Who>, now_ms: i64) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= REMEMBERED {
            // What nobody waits for any more can be forgotten early.
            failures.retain(|_, failed| now_ms - failed.last_ms < LONGEST_WAIT_MS);
            if failures.len() >= REMEMBERED {
                // Memory stays within its limit; failures from so many addresses are not held up by counting them
                // anyway.
                failures.clear();
            }
        }
        for who in who_failed {
            let failed = failures.entry(who).or_insert(Failures { count: 0, last_ms: now_ms });
            if now_ms - failed.last_ms > FORGOTTEN_AFTER_MS {
                failed.count = 0;
            }
            failed.count = failed.count.saturating_add(1);
            failed.last_ms = now_ms;
        }
    }

    /// Forgets the failures of an account from an address: its owner has come in.
    pub(crate) fn succeeded(&self, account: &str, address: &str) {
        let [pair, _] = self.both(account, address);
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&pair);
    }

    fn both(&self, account: &str, address: &str) -> [Who; 2] {
        let address = origin(address);
        [Who::Pair(self.hasher.hash_one((account, &address))), Who::Address(self.hasher.hash_one(&address))]
    }
}

/// Returns what an address is counted as: of IPv6 the network, since anyone who has one address has all of its /64.
fn origin(address: &str) -> String {
    match address.parse::<Ipv6Addr>() {
        Ok(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.to_string(),
            None => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).to_string(),
        },
        Err(_) => address.to_owned(),
    }
}

/// One second after the last free failure, then twice as long each time.
fn wait_ms(who: &Who, count: u32) -> i64 {
    let free = match who {
        Who::Pair(_) => FREE_OF_PAIR,
        Who::Address(_) => FREE_OF_ADDRESS,
    };
    if count < free {
        return 0;
    }
    // The shift would overflow long before the counter does.
    let doublings = (count - free).min(20);
    (1000_i64 << doublings).min(LONGEST_WAIT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail_times(backoff: &Backoff, account: &str, times: u32) {
        for _ in 0..times {
            backoff.failed(account, "192.0.2.1", 0);
        }
    }

    #[test]
    fn waits_double_after_the_free_failures() {
        let backoff = Backoff::default();
        let waits: Vec<_> = (0..8)
            .map(|_| {
                backoff.failed("ada", "192.0.2.1", 0);
                backoff.wait_s("ada", "192.0.2.1", 0)
            })
            .collect();
        assert_eq!(waits, [None, None, None, None, Some(1), Some(2), Some(4), Some(8)]);
        assert_eq!(backoff.wait_s("ada", "192.0.2.1", 8000), None);
    }

    #[test]
    fn nobody_locks_out_another_address_or_account() {
        let backoff = Backoff::default();
        fail_times(&backoff, "ada", 30);
        assert_eq!(backoff.wait_s("ada", "192.0.2.1", 0), Some(900));
        assert_eq!(backoff.wait_s("ada", "192.0.2.2", 0), None);
        assert_eq!(backoff.wait_s("eve", "192.0.2.1", 0), None);
    }

    #[test]
    fn many_accounts_from_one_address_are_slowed() {
        let backoff = Backoff::default();
        for account in 0..110 {
            backoff.failed(&account.to_string(), "192.0.2.1", 0);
        }
        assert!(backoff.wait_s("another", "192.0.2.1", 0).is_some());
    }

    #[test]
    fn a_network_of_version_six_is_one_place() {
        let backoff = Backoff::default();
        for host in 1..=5 {
            backoff.failed("ada", &format!("2001:db8:0:1::{host:x}"), 0);
        }
        assert_eq!(backoff.wait_s("ada", "2001:db8:0:1::99", 0), Some(1));
        assert_eq!(backoff.wait_s("ada", "2001:db8:0:2::1", 0), None);
        assert_eq!(origin("::ffff:192.0.2.1"), "192.0.2.1");
    }

    #[test]
    fn what_is_no_guess_holds_up_nobody_else() {
        let backoff = Backoff::default();
        for _ in 0..FREE_OF_ADDRESS * 2 {
            backoff.failed_again("ada", "192.0.2.1", 0);
        }
        assert!(backoff.wait_s("ada", "192.0.2.1", 0).is_some());
        assert_eq!(backoff.wait_s("eve", "192.0.2.1", 0), None);
    }

    #[test]
    fn names_are_not_kept_however_long_they_are() {
        let backoff = Backoff::default();
        for guess in 0..1200 {
            backoff.failed(&format!("{guess}{}", "x".repeat(60_000)), "192.0.2.1", 0);
        }
        let failures = backoff.failures.lock().unwrap();
        assert_eq!(failures.len(), 1201);
        assert!(size_of::<(Who, Failures)>() <= 32, "{} bytes", size_of::<(Who, Failures)>());
    }

    #[test]
    fn success_and_time_forgive() {
        let backoff = Backoff::default();
        fail_times(&backoff, "ada", 10);
        backoff.succeeded("ada", "192.0.2.1");
        assert_eq!(backoff.wait_s("ada", "192.0.2.1", 0), None);

        fail_times(&backoff, "bob", 10);
        let later = FORGOTTEN_AFTER_MS + 1;
        backoff.failed("bob", "192.0.2.1", later);
        assert_eq!(backoff.wait_s("bob", "192.0.2.1", later), None);
    }
}
