//! Failures that a test plans: the next operation of a name fails as when the database is away.
//!
//! A test of a caller can close a whole database, but the faults that do harm come in the middle: the first of two reads
//! is answered and the second is not, one database has committed and the other is away. In the same way something else
//! can be planned to happen between two operations of a caller.

use std::collections::VecDeque;
use std::fmt::{Debug, Formatter};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "planned-failures")]
use futures::future::BoxFuture;

use crate::error::{Result, StoreError};

/// When an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureMoment {
    /// Before anything is asked of the database.
    BeforeItBegins,
    /// After it has been committed: the connection breaks before the answer comes.
    AfterItCommits,
}

/// The failures that are still to come.
#[derive(Debug, Default)]
pub(super) struct PlannedFailures(Mutex<VecDeque<(String, Event)>>);

/// What comes with an operation.
enum Event {
    Failure(FailureMoment),
    /// Something that ends before the operation begins.
    #[cfg(feature = "planned-failures")]
    Meanwhile(BoxFuture<'static, ()>),
}

impl Debug for Event {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Event::Failure(moment) => moment.fmt(formatter),
            #[cfg(feature = "planned-failures")]
            Event::Meanwhile(_) => formatter.write_str("Meanwhile"),
        }
    }
}

impl PlannedFailures {
    /// Lets the next operation of a name fail; planned twice, the next two.
    pub fn plan(&self, operation: &str, moment: FailureMoment) {
        self.lock().push_back((operation.to_owned(), Event::Failure(moment)));
    }

    /// Lets something happen before the next operation of a name.
    #[cfg(feature = "planned-failures")]
    pub fn plan_meanwhile(&self, operation: &str, meanwhile: BoxFuture<'static, ()>) {
        self.lock().push_back((operation.to_owned(), Event::Meanwhile(meanwhile)));
    }

    /// Returns the operations that have not failed yet.
    pub fn outstanding(&self) -> Vec<String> {
        self.lock().iter().map(|(operation, _)| operation.clone()).collect()
    }

    /// Runs an operation, which fails when that is planned.
    pub async fn run<T>(&self, operation: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let failure = || StoreError::Unavailable(format!("{operation} fails as planned"));
        match self.take(operation) {
            None => work.await,
            #[cfg(feature = "planned-failures")]
            Some(Event::Meanwhile(meanwhile)) => {
                meanwhile.await;
                work.await
            }
            Some(Event::Failure(FailureMoment::BeforeItBegins)) => Err(failure()),
            // An error of its own comes first: then it has not committed.
            Some(Event::Failure(FailureMoment::AfterItCommits)) => work.await.and_then(|_| Err(failure())),
        }
    }

    fn take(&self, operation: &str) -> Option<Event> {
        let mut planned = self.lock();
        let place = planned.iter().position(|(name, _)| name == operation)?;
        planned.remove(place).map(|(_, event)| event)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Event)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
