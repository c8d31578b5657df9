//! What the engine shares with the rest of the node: wake-ups and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::JobKind;
use tokio::sync::Notify;

/// Upper ends of the buckets of durations, ms. The last bucket has none.
pub const BUCKETS_MS: [u64; 10] = [1, 5, 25, 100, 500, 2_500, 10_000, 60_000, 600_000, 3_600_000];

/// Wake-ups for the engine of this node, and counts of its runs.
#[derive(Debug, Default)]
pub struct JobSignals {
    bell: Notify,
    rung: Mutex<BTreeSet<JobKind>>,
    /// Rings when other nodes should hear of something.
    outward: Notify,
    unheard: Mutex<BTreeSet<JobKind>>,
    /// Whether an engine of this node works.
    works: AtomicBool,
    /// Whether this node has one at all, at work or not.
    has_engine: AtomicBool,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    kinds: BTreeMap<JobKind, KindCounts>,
    restarts: u64,
}

/// State of the engine of a node that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineState {
    /// Whether it works just now.
    pub works: bool,
    /// How often it, or a task next to it, was started again after a panic of its own.
    pub restarts: u64,
}

/// Counts of a kind's runs on this node since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindCounts {
    /// Runs that ended, by how.
    pub runs: BTreeMap<Outcome, u64>,
    /// Runs by duration: one count for each of [`BUCKETS_MS`] and one for those that took longer.
    pub buckets: [u64; BUCKETS_MS.len() + 1],
    /// Sum of the durations, µs.
    pub sum_us: u64,
    /// Runs that are under way.
    pub running: u64,
    /// Subjects that were put aside.
    pub put_aside: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The work is done.
    Done,
    /// It failed and will be tried again.
    Failed,
    /// It panicked.
    Panicked,
    /// Another node has taken it over, or the node stopped.
    Lost,
}

impl Outcome {
    /// Name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Panicked => "panicked",
            Outcome::Lost => "lost",
        }
    }
}

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedRun {
    pub outcome: Outcome,
    pub took: Duration,
    /// Whether its subject was put aside.
    pub is_put_aside: bool,
}

impl JobSignals {
    /// Wakes the engine of this node: work of a kind may have become due.
    pub(crate) fn ring(&self, kind: JobKind) {
        if !self.works.load(Ordering::Relaxed) {
            return self.share(kind);
        }
        self.wake(kind);
    }

    /// Wakes the engine of this node, no matter who has said that something is due.
    pub(crate) fn wake(&self, kind: JobKind) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).insert(kind);
        self.bell.notify_one();
    }

    /// Lets other nodes know that work of a kind waits which this one does not take at once.
    pub(crate) fn share(&self, kind: JobKind) {
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner).insert(kind);
        self.outward.notify_one();
    }

    /// Waits for what other nodes should hear of.
    pub(crate) async fn unheard(&self) -> BTreeSet<JobKind> {
        self.outward.notified().await;
        std::mem::take(&mut *self.unheard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// This node does background work from now on.
    pub(crate) fn engine_expected(&self) {
        self.has_engine.store(true, Ordering::Relaxed);
    }

    /// Returns the state of the engine; `None` on a node that does no background work, where nothing is wrong.
    pub fn engine(&self) -> Option<EngineState> {
        let has_engine = self.has_engine.load(Ordering::Relaxed);
        has_engine.then(|| EngineState { works: self.works(), restarts: self.lock().restarts })
    }

    /// An engine of this node begins to work.
    pub(crate) fn engine_begins(&self) {
        self.works.store(true, Ordering::Relaxed);
    }

    /// The engine of this node works no longer.
    pub(crate) fn engine_ends(&self) {
        self.works.store(false, Ordering::Relaxed);
    }

    /// Returns whether an engine of this node works just now.
    pub fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    /// Waits for wake-ups; returns their kinds.
    pub(crate) async fn rung(&self) -> BTreeSet<JobKind> {
        self.bell.notified().await;
        std::mem::take(&mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts by kind, and how often the engine was started again after a panic of its own.
    pub fn counts(&self) -> (BTreeMap<JobKind, KindCounts>, u64) {
        let counts = self.lock();
        (counts.kinds.clone(), counts.restarts)
    }

    pub(crate) fn began(&self, kind: JobKind) {
        self.lock().kinds.entry(kind).or_default().running += 1;
    }

    pub(crate) fn ended(&self, kind: JobKind, run: EndedRun) {
        let mut counts = self.lock();
        let counts = counts.kinds.entry(kind).or_default();
        counts.running = counts.running.saturating_sub(1);
        *counts.runs.entry(run.outcome).or_default() += 1;
        counts.put_aside += u64::from(run.is_put_aside);
        let took_ms = run.took.as_millis();
        let bucket = BUCKETS_MS.iter().position(|end| took_ms <= u128::from(*end)).unwrap_or(BUCKETS_MS.len());
        counts.buckets[bucket] += 1;
        counts.sum_us += u64::try_from(run.took.as_micros()).unwrap_or(u64::MAX);
    }

    pub(crate) fn engine_restarted(&self) {
        // It has not come to say so itself. What becomes due until the next one begins is for other nodes as well.
        self.engine_ends();
        let mut counts = self.lock();
        counts.restarts += 1;
        // Its runs have ended with it.
        counts.kinds.values_mut().for_each(|kind| kind.running = 0);
    }

    /// A task of this node next to the engine was started again. Counted with the engine, because either is an error of the
    /// program that an operator is to hear of; what the engine has under way goes on.
    pub(crate) fn task_restarted(&self) {
        self.lock().restarts += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DERIVE: JobKind = JobKind::new("derive");
    const EXPORT: JobKind = JobKind::new("export");
    const SEAL: JobKind = JobKind::new("seal");

    fn ended(outcome: Outcome, took: Duration, is_put_aside: bool) -> EndedRun {
        EndedRun { outcome, took, is_put_aside }
    }

    /// Returns what is there to be heard without waiting.
    async fn now<T>(heard: impl Future<Output = T>) -> Option<T> {
        runtime::timeout(Duration::ZERO, heard).await.ok()
    }

    #[tokio::test]
    async fn an_engine_that_works_is_woken_and_one_that_does_not_passes_it_to_others() {
        let signals = JobSignals::default();
        signals.ring(SEAL);
        assert_eq!(now(signals.rung()).await, None, "nobody works here");
        assert_eq!(now(signals.unheard()).await, Some(BTreeSet::from([SEAL])));

        signals.engine_begins();
        signals.ring(SEAL);
        assert_eq!(now(signals.unheard()).await, None, "it is done here");
        assert_eq!(now(signals.rung()).await, Some(BTreeSet::from([SEAL])));

        signals.engine_ends();
        signals.ring(EXPORT);
        assert_eq!(now(signals.rung()).await, None);
        assert_eq!(now(signals.unheard()).await, Some(BTreeSet::from([EXPORT])));
    }

    #[tokio::test]
    async fn rings_before_anyone_listens_are_heard_once_and_together() {
        let signals = JobSignals::default();
        for kind in [SEAL, EXPORT, SEAL, DERIVE] {
            signals.wake(kind);
            signals.share(kind);
        }
        let all = BTreeSet::from([DERIVE, EXPORT, SEAL]);
        assert_eq!(now(signals.rung()).await, Some(all.clone()));
        assert_eq!(now(signals.unheard()).await, Some(all));
        assert_eq!((now(signals.rung()).await, now(signals.unheard()).await), (None, None));
    }

    #[test]
    fn durations_are_counted_up_to_the_end_of_their_bucket() {
        let signals = JobSignals::default();
        let millis = [0, 1, 2, 5, 6, 3_600_000, 3_600_001];
        for ms in millis {
            signals.ended(SEAL, ended(Outcome::Done, Duration::from_millis(ms), false));
        }
        signals.ended(SEAL, ended(Outcome::Done, Duration::from_micros(1_999), false));
        let (kinds, _) = signals.counts();
        let counts = &kinds[&SEAL];
        let mut expected = [0; BUCKETS_MS.len() + 1];
        (expected[0], expected[1], expected[2], expected[9], expected[10]) = (3, 2, 1, 1, 1);
        assert_eq!(counts.buckets, expected, "whole milliseconds, as the ends of the buckets are");
        assert_eq!(counts.sum_us, millis.iter().sum::<u64>() * 1000 + 1_999);
    }

    #[test]
    fn runs_are_counted_by_kind_and_by_how_they_ended() {
        let signals = JobSignals::default();
        let all = [Outcome::Done, Outcome::Failed, Outcome::Panicked, Outcome::Lost];
        for (at, outcome) in all.into_iter().enumerate() {
            for _ in 0..=at {
                signals.began(SEAL);
                signals.ended(SEAL, ended(outcome, Duration::ZERO, outcome == Outcome::Panicked));
            }
        }
        signals.began(EXPORT);
        let (kinds, restarts) = signals.counts();
        let runs: Vec<(&str, u64)> = kinds[&SEAL].runs.iter().map(|(outcome, runs)| (outcome.name(), *runs)).collect();
        assert_eq!(runs, [("done", 1), ("failed", 2), ("panicked", 3), ("lost", 4)]);
        assert_eq!((kinds[&SEAL].put_aside, kinds[&SEAL].running, kinds[&EXPORT].running), (3, 0, 1));
        assert!(kinds[&EXPORT].runs.is_empty());
        assert_eq!(restarts, 0);
    }

    #[test]
    fn an_engine_that_is_started_again_has_nothing_under_way() {
        let signals = JobSignals::default();
        for kind in [SEAL, SEAL, EXPORT] {
            signals.began(kind);
        }
        signals.engine_restarted();
        // A run of the engine before may still report its end.
        signals.ended(SEAL, ended(Outcome::Lost, Duration::ZERO, false));
        let (kinds, restarts) = signals.counts();
        assert_eq!((kinds[&SEAL].running, kinds[&EXPORT].running, restarts), (0, 0, 1));
        assert_eq!(kinds[&SEAL].runs[&Outcome::Lost], 1);
    }
}
