//! Listings of the lake that are under way: what is not in files yet is looked up for the first page alone.
//!
//! The look asks for the oldest unsealed row of every patient and type, and a listing has a page for each thousand files.
//! What the first page says holds for the whole listing: a period that is sealed meanwhile is named twice, as open and as a
//! file that comes later. Another node, or one that has forgotten, looks again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use store::segment::OpenPeriod;
use store::{AccountId, GroupCode};

/// Listings that are remembered; the oldest are forgotten first.
const MOST: usize = 64;
/// Time after which the next page begins a listing of its own, ms: what is open has changed by then.
const LONGEST_MS: i64 = 10 * 60_000;

/// A listing whose next page is expected.
struct Listing {
    account: AccountId,
    group: GroupCode,
    /// Cursor of the next page.
    next_since: i64,
    found: FoundOpen,
}

/// Periods that a listing has found open.
#[derive(Clone)]
pub(super) struct FoundOpen {
    pub periods: Vec<OpenPeriod>,
    /// When that was, ms.
    pub at_ms: i64,
}

/// The listings under way on this node.
#[derive(Default)]
pub(super) struct Listings(Mutex<VecDeque<Listing>>);

impl Listings {
    /// Returns what the listing that goes on here has found open. A page may be asked for again.
    pub(super) fn find(&self, account: &AccountId, group: &GroupCode, since: i64, now_ms: i64) -> Option<FoundOpen> {
        let mut listings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listings.retain(|one| now_ms - one.found.at_ms < LONGEST_MS);
        let is_this = |one: &&Listing| one.next_since == since && one.group == *group && one.account == *account;
        listings.iter().find(is_this).map(|one| one.found.clone())
    }

    /// Remembers a listing that has more pages.
    pub(super) fn expect(&self, account: &AccountId, group: &GroupCode, next_since: i64, found: FoundOpen) {
        let mut listings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Of two listings at the same place the later one has looked later.
        listings.retain(|one| one.next_since != next_since || one.group != *group || one.account != *account);
        if listings.len() >= MOST {
            listings.pop_front();
        }
        listings.push_back(Listing { account: account.clone(), group: group.clone(), next_since, found });
    }
}
