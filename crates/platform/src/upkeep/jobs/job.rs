//! What a background task is: a type with one `run`, and what the engine has to know about it.

use std::future::Future;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use store::{JobKind, JobSubject, StoreError};

use crate::core::error::Result;
use crate::core::work::{Ended, Work};
use crate::upkeep::Upkeep;

/// Background task of one type. A value names what it works on. Every run can be repeated and can be taken over by
/// another node at any moment.
pub(crate) trait Job: Sized + Send + 'static {
    /// Name, turn and limits.
    const SPEC: Spec;

    /// Reads what the task works on; `None` when a row says what no version of this type has written.
    fn parse(subject: &JobSubject) -> Option<Self>;

    /// Does the work.
    fn run(self, run: Run) -> impl Future<Output = Result<Ended>> + Send;

    /// Returns what is enqueued of a task that runs after a start: by default the empty subject. Nodes of the same subject have
    /// one turn together.
    fn at_start() -> JobSubject {
        JobSubject::none()
    }

    /// Does what remains when the work is put aside: by default nothing.
    fn given_up(_run: Run) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
}

/// What the engine knows about a type of task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    /// Its name is in rows, metrics and logs.
    pub kind: JobKind,
    /// When it runs.
    pub turn: Turn,
    /// Runs at the same time on a node.
    pub at_once: usize,
    /// Longest time of a run; one that takes longer counts as failed.
    pub longest: Duration,
}

impl Spec {
    /// Makes a task of minutes at most that runs alone.
    pub const fn new(kind: JobKind, turn: Turn) -> Self {
        Spec { kind, turn, at_once: 1, longest: Duration::from_mins(30) }
    }
}

/// When a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Once for each enqueued subject.
    Enqueued,
    /// Again and again, on one node at a time; the subject is empty.
    Every(Duration),
    /// Once after a node has started; the task says of which subject.
    AtStart,
    /// When something is due of a patient: the subject. Lease and due-ness are on the patient's rows.
    PatientDue,
}

/// What a run is given.
#[derive(Clone)]
pub(crate) struct Run {
    /// The service.
    pub upkeep: Upkeep,
    /// What is held.
    pub work: Work,
}

/// A type of task in the list of all of them.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// What the engine knows about it.
    pub spec: Spec,
    /// What is enqueued where it runs after a start.
    pub at_start: fn() -> JobSubject,
    run: fn(Run) -> BoxFuture<'static, Result<Ended>>,
    given_up: fn(Run) -> BoxFuture<'static, Result<()>>,
}

impl Kind {
    /// Returns the kind of a type.
    pub const fn of<J: Job>() -> Self {
        Kind { spec: J::SPEC, at_start: J::at_start, run: run_parsed::<J>, given_up: |run| J::given_up(run).boxed() }
    }

    pub(super) fn run(&self, run: Run) -> BoxFuture<'static, Result<Ended>> {
        (self.run)(run)
    }

    pub(super) fn given_up(&self, run: Run) -> BoxFuture<'static, Result<()>> {
        (self.given_up)(run)
    }
}

fn run_parsed<J: Job>(run: Run) -> BoxFuture<'static, Result<Ended>> {
    let Some(job) = J::parse(&run.work.lease.subject) else {
        let message = format!("the subject of a job of kind {} cannot be read", J::SPEC.kind);
        return async { Err(StoreError::Damaged(message).into()) }.boxed();
    };
    job.run(run).boxed()
}
