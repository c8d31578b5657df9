//! The proof that a credential is valid, and what follows from it: the request counts for that credential, which is
//! known from then on, and the caller is no stranger any more.
//!
//! The extractor of a route says which credential it has accepted. What else a request shows proves nothing.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use platform::{PlatformError, SecurityActor};

use crate::callers::{Caller, Callers};
use crate::error::ApiError;
use crate::load::NoRoom;
use crate::places::bodies::Reading;
use crate::places::{Place, Places};
use crate::rate_limit::{Quota, RateLimit, Taken};

/// What is known of a request's caller. Clones share it.
#[derive(Clone)]
pub(crate) struct Proof(Arc<Shared>);

struct Shared {
    callers: Arc<Callers>,
    places: Places,
    caller: Caller,
    limit: Option<Arc<RateLimit>>,
    now_ms: i64,
    state: Mutex<State>,
}

struct State {
    /// Whose credential has proven valid.
    owner: Option<u64>,
    /// The same for the log of security events.
    actor: Option<SecurityActor>,
    /// How the request is counted; nothing without a limit.
    taken: Option<Taken>,
    /// True where the route looks at the credential itself and its good answer is the proof.
    is_checked_by_route: bool,
    /// What the request holds among those under way.
    place: Place,
}

impl Proof {
    /// Begins a request, of which nothing is proven, and counts it where there is a limit.
    pub(crate) fn begin(
        (callers, places): (&Arc<Callers>, &Places),
        limit: Option<Arc<RateLimit>>,
        caller: Caller,
        now_ms: i64,
    ) -> Self {
        let taken = limit.as_ref().map(|limit| limit.take(caller, now_ms));
        let state = Mutex::new(State {
            owner: None,
            actor: None,
            taken,
            is_checked_by_route: false,
            place: Place::Among(None),
        });
        Proof(Arc::new(Shared { callers: callers.clone(), places: places.clone(), caller, limit, now_ms, state }))
    }

    /// Holds a place until the last clone is dropped, that of a stranger until the caller has proven to be none.
    pub(crate) fn hold(&self, place: Place) {
        self.state().place = place;
    }

    /// Goes on to the body of the request, which has to have a place of its own; `None` when there is none.
    pub(crate) fn begin_body(&self) -> Option<Reading> {
        let mut state = self.state();
        // Routes that look at a body without a proof are those that guesses are for: a trial is none of them.
        if state.trial_for_s().is_some() {
            return None;
        }
        let permit = state.take_place().into_permit();
        let (place, reading) = self.0.places.begin_body(state.owner, self.0.caller.address, permit)?;
        state.place = place;
        Some(reading)
    }

    /// Returns whose credential has proven valid.
    pub(crate) fn owner(&self) -> Option<u64> {
        self.state().owner
    }

    /// Returns who the credential of the request is of, once it has proven valid.
    pub(crate) fn actor(&self) -> Option<SecurityActor> {
        self.state().actor.clone()
    }

    /// Returns what is left of the minute that the request counts in; nothing without a limit.
    pub(crate) fn quota(&self) -> Option<Quota> {
        self.state().taken.map(|taken| taken.quota)
    }

    /// Returns for how many seconds the request is refused after all, answered with success or not: its address has nothing
    /// left, and no credential of it has proven valid.
    pub(crate) fn failed_trial_for_s(&self, is_good: bool) -> Option<u64> {
        let state = self.state();
        state.trial_for_s().filter(|_| !(is_good && state.is_checked_by_route))
    }

    /// Takes note of a request that is refused. Without a proof it was a guess, as far as anybody knows.
    pub(crate) fn refused(&self) {
        let state = self.state();
        // What is over the limit has not been tried.
        if state.owner.is_some() || state.taken.is_some_and(|taken| taken.quota.retry_after_s.is_some()) {
            return;
        }
        self.0.caller.credentials().for_each(|credential| self.0.callers.forget(credential));
        if let Some((limit, taken)) = self.0.limit.as_ref().zip(state.taken) {
            limit.charge_refused(taken, self.0.caller, self.0.now_ms);
        }
    }

    fn accept(&self, credential: &[u8], owner: &str) -> Result<(), ApiError> {
        let (credential, owner) = (self.0.callers.credential(credential), self.0.callers.owner(owner));
        self.0.callers.note(credential, owner);
        let mut state = self.state();
        state.owner = Some(owner);
        // Now and not at the end of the request: the body of an upload may take an hour.
        let place = self.0.places.give_to_owner(state.take_place(), owner);
        let has_place = place.is_some();
        state.place = place.unwrap_or(Place::Among(None));
        let settled = |(limit, taken): (&Arc<RateLimit>, Taken)| limit.charge(taken, credential, self.0.now_ms);
        state.taken = self.0.limit.as_ref().zip(state.taken).map(settled);
        // The limit first: a caller who is over it is not helped by coming again soon.
        match state.taken.and_then(|taken| taken.quota.retry_after_s) {
            Some(retry_after_s) => Err(PlatformError::TooMany { retry_after_s }.into()),
            None if has_place => Ok(()),
            None => Err(NoRoom::JustNow.into()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn trial_for_s(&self) -> Option<u64> {
        self.taken.as_ref().filter(|_| self.owner.is_none())?.trial_for_s()
    }

    fn take_place(&mut self) -> Place {
        std::mem::replace(&mut self.place, Place::Among(None))
    }
}

/// Notes that a credential, from wherever the extractor took it, is valid, and the identifier of its owner. Too many when its
/// minute has nothing left, no room when its owner has too many requests under way.
pub(crate) fn mark_authenticated(parts: &Parts, credential: &str, owner: &str) -> Result<(), ApiError> {
    // There is none where a router is used without what surrounds it.
    parts.extensions.get::<Proof>().map_or(Ok(()), |proof| proof.accept(credential.as_bytes(), owner))
}

/// Notes that the route looks at the credential itself, which may have expired.
pub(crate) fn mark_checked_by_route(parts: &Parts) {
    if let Some(proof) = parts.extensions.get::<Proof>() {
        proof.state().is_checked_by_route = true;
    }
}

/// The owner of the credential of a request, once an extractor before it has found it valid.
pub(crate) struct Owner(pub Option<u64>);

impl<S: Sync> FromRequestParts<S> for Owner {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Owner(owner_of(parts)))
    }
}

/// Returns the owner of the credential of a request, as its places and memory are counted.
pub(crate) fn owner_of(parts: &Parts) -> Option<u64> {
    parts.extensions.get::<Proof>()?.owner()
}

/// Notes who the credential of a request is of, for what is written when the request is refused.
pub(crate) fn name_actor(parts: &Parts, actor: SecurityActor) {
    if let Some(proof) = parts.extensions.get::<Proof>() {
        proof.state().actor = Some(actor);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, Uri};

    use super::*;

    fn caller(callers: &Callers, token: &str) -> Caller {
        callers.caller(&format!("/?token={token}").parse::<Uri>().expect("an address"), &HeaderMap::new(), None)
    }

    fn begin(callers: &Arc<Callers>, limit: Option<Arc<RateLimit>>, token: &str) -> Proof {
        Proof::begin((callers, &Places::new(8)), limit, caller(callers, token), 0)
    }

    #[test]
    fn what_a_request_shows_besides_its_credential_is_not_known() {
        let callers = Arc::new(Callers::new("session"));
        let proof = begin(&callers, None, "junk");
        assert_eq!(proof.owner(), None);
        assert!(proof.accept(b"good", "rita").is_ok());
        let rita = Some(callers.owner("rita"));
        assert_eq!((proof.owner(), callers.known_owner(caller(&callers, "good"))), (rita, rita));
        assert_eq!(callers.known_owner(caller(&callers, "junk")), None);
    }

    #[test]
    fn a_second_proof_of_one_request_counts_it_once() {
        let callers = Arc::new(Callers::new("session"));
        let proof = begin(&callers, Some(Arc::new(RateLimit::new(3))), "junk");
        for _ in 0..5 {
            assert!(proof.accept(b"good", "rita").is_ok());
            assert_eq!(proof.quota().map(|quota| quota.remaining), Some(2));
        }
    }
}
