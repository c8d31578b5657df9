//! The proof that a credential is valid, and what follows from it: the request counts for that credential, which is
//! known from then on, and the caller is no stranger any more.
//!
//! The extractor of a route says which credential it has accepted. What else a request shows proves nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::request::Parts;
use platform::{PlatformError, SecurityActor};
use tokio::sync::OwnedSemaphorePermit;

use crate::callers::{Caller, Callers};
use crate::places::Place;
use crate::places::bodies::{Bodies, Reading};
use crate::rate_limit::{Quota, RateLimit, Taken};

/// What is known of a request's caller. Clones share it.
#[derive(Clone)]
pub(crate) struct Proof(Arc<Shared>);

struct Shared {
    callers: Arc<Callers>,
    caller: Caller,
    limit: Option<Arc<RateLimit>>,
    now_ms: i64,
    state: Mutex<State>,
}

struct State {
    is_proven: bool,
    /// Owner of that credential.
    actor: Option<SecurityActor>,
    /// How the request is counted; nothing without a limit.
    taken: Option<Taken>,
    /// What the request holds among those under way.
    place: Place,
}

impl Proof {
    /// Begins a request, of which nothing is proven, and counts it where there is a limit.
    pub(crate) fn begin(callers: &Arc<Callers>, limit: Option<Arc<RateLimit>>, caller: Caller, now_ms: i64) -> Self {
        let taken = limit.as_ref().map(|limit| limit.take(caller, now_ms));
        let state = Mutex::new(State { is_proven: false, actor: None, taken, place: Place::Known(None) });
        Proof(Arc::new(Shared { callers: callers.clone(), caller, limit, now_ms, state }))
    }

    /// Holds a place until the last clone is dropped, that of a stranger until the caller has proven to be none.
    pub(crate) fn hold(&self, place: Place) {
        self.state().place = place;
    }

    /// Goes on to the body of the request, which has to have a place of its own; `None` when there is none.
    pub(crate) fn begin_body(&self, bodies: &Bodies) -> Option<Reading> {
        let mut state = self.state();
        let permit = state.take_permit();
        let (place, reading) = bodies.enter(self.0.caller.address, permit)?;
        state.place = Place::Body(place);
        Some(reading)
    }

    /// Returns whether a credential of the request has proven valid.
    pub(crate) fn is_set(&self) -> bool {
        self.state().is_proven
    }

    /// Returns who the credential of the request is of, once it has proven valid.
    pub(crate) fn actor(&self) -> Option<SecurityActor> {
        self.state().actor.clone()
    }

    /// Returns what is left of the minute that the request counts in; nothing without a limit.
    pub(crate) fn quota(&self) -> Option<Quota> {
        self.state().taken.map(|taken| taken.quota)
    }

    /// Takes note of a request that is refused. Without a proof it was a guess, as far as anybody knows.
    pub(crate) fn refused(&self) {
        let state = self.state();
        // What is over the limit has not been tried.
        if state.is_proven || state.taken.is_some_and(|taken| taken.quota.retry_after_s.is_some()) {
            return;
        }
        self.0.caller.credentials().for_each(|credential| self.0.callers.forget(credential));
        if let Some((limit, taken)) = self.0.limit.as_ref().zip(state.taken) {
            limit.charge_refused(taken, self.0.caller, self.0.now_ms);
        }
    }

    fn accept(&self, credential: &[u8]) -> Result<(), PlatformError> {
        let credential = self.0.callers.credential(credential);
        self.0.callers.note(credential);
        let mut state = self.state();
        state.is_proven = true;
        // Now and not at the end of the request: the body of an upload may take an hour.
        let permit = state.take_permit();
        state.place = Place::Known(permit);
        let settled = |(limit, taken): (&Arc<RateLimit>, Taken)| limit.charge(taken, credential, self.0.now_ms);
        state.taken = self.0.limit.as_ref().zip(state.taken).map(settled);
        let refused_for_s = state.taken.and_then(|taken| taken.quota.retry_after_s);
        drop(state);
        refused_for_s.map_or(Ok(()), |retry_after_s| Err(PlatformError::TooMany { retry_after_s }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_permit(&mut self) -> Option<OwnedSemaphorePermit> {
        std::mem::replace(&mut self.place, Place::Known(None)).into_permit()
    }
}

/// Notes that a credential, from wherever the extractor took it, is valid. Too many when its minute has nothing left.
pub(crate) fn mark_authenticated(parts: &Parts, credential: &str) -> Result<(), PlatformError> {
    // There is none where a router is used without what surrounds it.
    parts.extensions.get::<Proof>().map_or(Ok(()), |proof| proof.accept(credential.as_bytes()))
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

    #[test]
    fn what_a_request_shows_besides_its_credential_is_not_known() {
        let callers = Arc::new(Callers::new("session"));
        let proof = Proof::begin(&callers, None, caller(&callers, "junk"), 0);
        assert!(!proof.is_set());
        assert!(proof.accept(b"good").is_ok() && proof.is_set());
        assert!(callers.is_known(caller(&callers, "good")));
        assert!(!callers.is_known(caller(&callers, "junk")));
    }

    #[test]
    fn a_second_proof_of_one_request_counts_it_once() {
        let callers = Arc::new(Callers::new("session"));
        let proof = Proof::begin(&callers, Some(Arc::new(RateLimit::new(3))), caller(&callers, "junk"), 0);
        for _ in 0..5 {
            assert!(proof.accept(b"good").is_ok());
            assert_eq!(proof.quota().map(|quota| quota.remaining), Some(2));
        }
    }
}
