//! The engine: looks for due work, claims it, runs it, and prolongs what takes long.
//!
//! One loop on each node makes all decisions and never waits for work itself; runs are tasks of their own and end their
//! leases themselves. It wakes up when something on the node has become due, when a run ends, and every two seconds,
//! when one statement shows what else there is.

mod leases;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runtime::{Instant, TaskSet};
use store::{JobKind, JobLease, NewJob, NodeId};
use tokio::sync::watch;

use self::leases::{Held, PROLONG_EVERY, Running, is_old};
use super::attempt::{Report, attempt};
use super::job::{Kind, Run, Turn};
use super::membership::{Look, Membership, NodeName};
use super::queue;
use crate::core::signals::Outcome;
use crate::core::work::Work;
use crate::upkeep::Upkeep;

/// Pause after the database did not answer.
const PAUSE: Duration = Duration::from_secs(2);
/// The delay of a look after a claim that got no answer.
const AFTER_NO_ANSWER: Duration = Duration::from_millis(500);
/// The shortest time between two looks that were not asked for.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
/// Derivations that become due within this time of the last claim are claimed together: a claim is a transaction, and so
/// is a commit, which takes what is ready at the same time.
const GATHER: Duration = Duration::from_millis(50);
/// Time that runs may take to end when the node stops.
const LONGEST_STOP: Duration = Duration::from_secs(8);

/// The engine of a node.
pub(super) struct Engine {
    upkeep: Upkeep,
    kinds: Arc<[Kind]>,
    version: String,
    membership: Membership,
    stopping: watch::Sender<bool>,
    runs: TaskSet<(u64, Report)>,
    running: BTreeMap<u64, Running>,
    last_number: u64,
    /// Kinds that may have work to be claimed.
    hungry: BTreeSet<JobKind>,
    /// Kinds of which something was said to be due that could not be claimed since.
    unshared: BTreeSet<JobKind>,
    /// Time at which something was last said to be due, by kind.
    rung: BTreeMap<JobKind, Instant>,
    /// Before when nothing is claimed, by kind.
    gathers_until: BTreeMap<JobKind, Instant>,
    /// Until when leases can turn up that a claim without an answer has taken.
    unanswered_until: Option<Instant>,
    /// Whether the rows of what runs by itself are there, since the node was entered.
    is_scheduled: bool,
}

impl Engine {
    pub fn new(upkeep: Upkeep, kinds: &[Kind], node: NodeName) -> Self {
        Engine {
            version: node.version.clone(),
            membership: Membership::new(upkeep.core.clone(), node),
            upkeep,
            kinds: kinds.into(),
            stopping: watch::Sender::new(false),
            runs: TaskSet::default(),
            running: BTreeMap::new(),
            last_number: 0,
            hungry: BTreeSet::new(),
            unshared: BTreeSet::new(),
            rung: BTreeMap::new(),
            gathers_until: BTreeMap::new(),
            unanswered_until: None,
            is_scheduled: false,
        }
    }

    /// Looks for work that nothing has announced in another interval.
    #[cfg(test)]
    pub fn set_look_every(&mut self, look_every: Duration) {
        self.membership.set_look_every(look_every);
    }

    /// Works until `stop` becomes true or its sender is gone. What is under way has some seconds to end; what is left
    /// then is given back.
    pub async fn work(&mut self, mut stop: watch::Receiver<bool>) {
        let jobs = self.upkeep.core.signals().clone();
        jobs.engine_begins();
        let (mut look_at, mut prolong_at) = (Instant::now(), Instant::now() + PROLONG_EVERY);
        while !*stop.borrow() {
            if Instant::now() >= look_at {
                look_at = Instant::now() + self.look().await;
            }
            if Instant::now() >= prolong_at {
                self.prolong_old().await;
                prolong_at = Instant::now() + PROLONG_EVERY;
            }
            if !self.claim_all().await {
                look_at = look_at.min(Instant::now() + AFTER_NO_ANSWER);
            }
            let wake_at = self.next_claim().into_iter().fold(look_at.min(prolong_at), Instant::min);
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                ended = self.runs.join_next(), if !self.running.is_empty() => self.note_end(ended.as_ref()),
                kinds = jobs.rung() => self.note_bell(kinds),
                () = runtime::sleep_until(wake_at) => {}
            }
        }
        jobs.engine_ends();
        self.stop().await;
    }

    /// Runs everything that is due now, and once what runs by itself, without entering the node; returns how many runs
    /// ended that were not lost.
    pub async fn drain(&mut self) -> store::Result<usize> {
        let runs_by_itself = |kind: &&Kind| matches!(kind.spec.turn, Turn::Every(_));
        let now: Vec<_> = self.kinds.iter().filter(runs_by_itself).map(|kind| (kind.spec.kind, 0)).collect();
        if !now.is_empty() {
            self.upkeep.core.health().schedule_jobs(now, self.upkeep.core.now_ms()).await?;
        }
        self.enqueue_at_start().await?;
        // Not in the table of nodes, so no other node takes its leases away.
        let node = NodeId::new("drain");
        let mut ended = 0;
        loop {
            self.hungry = self.kinds.iter().map(|kind| kind.spec.kind).collect();
            let mut claimed = 0;
            for kind in self.kinds.clone().iter() {
                claimed += self.claim(kind, &node).await?;
            }
            if claimed == 0 {
                return Ok(ended);
            }
            while !self.running.is_empty() {
                let run = self.runs.join_next().await;
                ended += usize::from(matches!(&run, Some(Ok((_, report))) if report.outcome != Outcome::Lost));
                self.note_end(run.as_ref());
            }
        }
    }

    /// Prolongs what has run for long. Most runs take milliseconds, and prolonging is a transaction.
    async fn prolong_old(&self) {
        if self.running.values().any(is_old) {
            self.prolong().await;
        }
    }

    /// Looks for leases that a claim without an answer has taken, while there can be any; whether there was one.
    async fn give_back_unanswered(&mut self) -> bool {
        self.unanswered_until = self.unanswered_until.filter(|until| *until > Instant::now());
        self.unanswered_until.is_some() && self.prolong().await > 0
    }

    /// Prolongs leases, and gives back those that nobody here works on. Returns how many these were.
    async fn prolong(&self) -> usize {
        let Some(node) = self.membership.id().cloned() else { return 0 };
        let held = Held { core: &self.upkeep.core, kinds: &self.kinds, running: &self.running };
        held.prolong(&node).await
    }

    /// Asks what is due; returns how long to wait before asking again.
    async fn look(&mut self) -> Duration {
        let looked = self.try_look().await;
        let signals = self.upkeep.core.signals();
        match looked {
            Ok(wait) => {
                signals.engine_begins();
                wait
            }
            Err(error) => {
                tracing::warn!(%error, "this node could not look for background work");
                // What was claimed goes on, and nothing else begins: readiness must not say that it works.
                signals.engine_ends();
                PAUSE
            }
        }
    }

    async fn try_look(&mut self) -> store::Result<Duration> {
        let (view, wait) = match self.membership.look().await? {
            Look::Seen(view, wait) => (view, wait),
            Look::Entered => {
                // Entering has ended the leases of before, and other nodes may already have taken the work.
                self.running.values().for_each(|run| run.lost.store(true, Ordering::Relaxed));
                self.is_scheduled = false;
                self.schedule_once().await?;
                return Ok(Duration::ZERO);
            }
        };
        self.schedule_once().await?;
        if self.give_back_unanswered().await {
            return Ok(SHORTEST_WAIT);
        }
        let now_ms = self.upkeep.core.now_ms();
        let is_due = |ready_ms: Option<i64>| ready_ms.is_some_and(|ready_ms| ready_ms <= now_ms);
        if is_due(view.derivations_ms) {
            let of_patients = self.kinds.iter().filter(|kind| kind.spec.turn == Turn::PatientDue);
            self.hungry.extend(of_patients.map(|kind| kind.spec.kind));
        }
        if is_due(view.jobs_ms) {
            let due = match self.upkeep.core.health().due_job_kinds(now_ms).await {
                // Each kind is asked for by itself: some of them can be read.
                Err(error) if error.is_damage() => None,
                due => Some(due?),
            };
            let is_due = |kind: &&Kind| match &due {
                Some(due) => due.iter().any(|(name, _)| name == kind.spec.kind.name()),
                None => kind.spec.turn != Turn::PatientDue,
            };
            self.hungry.extend(self.kinds.iter().filter(is_due).map(|kind| kind.spec.kind));
        }
        let ahead = [view.derivations_ms, view.jobs_ms].into_iter().flatten().filter(|ready_ms| *ready_ms > now_ms);
        let next = ahead.min().map_or(wait, |ready_ms| Duration::from_millis((ready_ms - now_ms).unsigned_abs()));
        Ok(next.clamp(SHORTEST_WAIT, wait))
    }

    /// Does so once after the node was entered. Derivations need none of it, so where a page is damaged it is tried again at
    /// each look, until the page is what it was.
    async fn schedule_once(&mut self) -> store::Result<()> {
        if self.is_scheduled {
            return Ok(());
        }
        match self.schedule().await {
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "work that runs by itself could not be scheduled");
                return Ok(());
            }
            scheduled => scheduled?,
        }
        self.is_scheduled = true;
        Ok(())
    }

    /// Adds the rows of what runs by itself, and takes up what another version of the program has put aside.
    async fn schedule(&self) -> store::Result<()> {
        let now_ms = self.upkeep.core.now_ms();
        let period = |kind: &Kind| match kind.spec.turn {
            Turn::Every(period) => Some((kind.spec.kind, i64::try_from(period.as_millis()).unwrap_or(i64::MAX))),
            Turn::AtStart | Turn::Enqueued | Turn::PatientDue => None,
        };
        self.upkeep.core.health().schedule_jobs(self.kinds.iter().filter_map(period).collect(), now_ms).await?;
        self.enqueue_at_start().await?;
        let taken_up = self.upkeep.core.health().take_jobs_up(Some(&self.version), now_ms).await?;
        if taken_up > 0 {
            tracing::info!(taken_up, "jobs that another version has put aside are tried again");
        }
        Ok(())
    }

    /// Adds the rows of what runs once after a start. Each has a subject, since a row that a node of another version holds just
    /// now is that node's turn and not this one's.
    async fn enqueue_at_start(&self) -> store::Result<()> {
        for kind in self.kinds.iter().filter(|kind| kind.spec.turn == Turn::AtStart) {
            let job = NewJob { subject: (kind.at_start)(), patient: None };
            self.upkeep.core.health().enqueue_jobs(kind.spec.kind, vec![job], self.upkeep.core.now_ms()).await?;
        }
        Ok(())
    }

    /// Claims what may be due; false when a claim got no answer.
    async fn claim_all(&mut self) -> bool {
        let Some(node) = self.membership.id().cloned() else { return true };
        let mut is_answered = true;
        let now = Instant::now();
        self.gathers_until.retain(|_, until| *until > now);
        for kind in self.kinds.clone().iter() {
            if self.gathers_until.contains_key(&kind.spec.kind) {
                continue;
            }
            if let Err(error) = self.claim(kind, &node).await {
                tracing::warn!(%error, kind = kind.spec.kind.name(), "background work could not be claimed");
                self.hungry.remove(&kind.spec.kind);
                self.unanswered_until = Some(Instant::now() + queue::LEASE);
                is_answered = false;
            }
        }
        is_answered
    }

    /// Returns when something that is due may be claimed that is gathered until then.
    fn next_claim(&self) -> Option<Instant> {
        let due = self.gathers_until.iter().filter(|(kind, _)| self.hungry.contains(kind));
        due.map(|(_, until)| *until).min()
    }

    /// Claims work of a kind that may have some, and starts it; returns how much.
    async fn claim(&mut self, kind: &Kind, node: &NodeId) -> store::Result<usize> {
        let name = kind.spec.kind;
        let running = self.running.values().filter(|run| run.kind.spec.kind == name).count();
        let free = kind.spec.at_once.saturating_sub(running);
        // Not for each run that ends: claims are made for many at once.
        let is_busy = 2 * free < kind.spec.at_once.max(1);
        if !self.hungry.contains(&name) || is_busy {
            if is_busy && self.unshared.remove(&name) {
                self.upkeep.core.signals().share(name);
            }
            return Ok(0);
        }
        self.unshared.remove(&name);
        let leases = queue::claim(&self.upkeep.core, kind, node, &self.version, free).await?;
        let claimed = leases.len();
        // What runs by itself has a single row, so another claim would find nothing.
        let has_one_row = matches!(kind.spec.turn, Turn::Every(_));
        if claimed < free || has_one_row {
            self.hungry.remove(&name);
            if kind.spec.turn == Turn::PatientDue {
                self.gathers_until.insert(name, Instant::now() + GATHER);
            }
        }
        for lease in leases {
            self.start(kind, lease);
        }
        Ok(claimed)
    }

    fn start(&mut self, kind: &Kind, lease: JobLease) {
        self.last_number += 1;
        let (number, kind, version) = (self.last_number, *kind, self.version.clone());
        let lost: Arc<AtomicBool> = Arc::default();
        let run = Run {
            upkeep: self.upkeep.clone(),
            work: Work { lease: lease.clone(), lost: lost.clone(), stopping: self.stopping.subscribe() },
        };
        // Before it is spawned: its end can be reported as soon as it runs.
        self.running.insert(number, Running { kind, lease, lost, begun: Instant::now() });
        self.runs.spawn(kind.spec.kind.name(), async move { (number, attempt(kind, run, &version).await) });
    }

    fn note_end(&mut self, ended: Option<&Result<(u64, Report), runtime::TaskError>>) {
        // Runs do not panic outside their guard, and nobody aborts them before the engine ends.
        let Some(Ok((number, report))) = ended else { return };
        let Some(run) = self.running.remove(number) else { return };
        let name = run.kind.spec.kind;
        // What became due of a subject while it was held could not be claimed then.
        if report.is_partial || self.rung.get(&name).is_some_and(|rung| *rung >= run.begun) {
            self.hungry.insert(name);
        }
    }

    fn note_bell(&mut self, kinds: BTreeSet<JobKind>) {
        let now = Instant::now();
        self.rung.extend(kinds.iter().map(|kind| (*kind, now)));
        self.unshared.extend(&kinds);
        self.hungry.extend(kinds);
    }

    /// Waits for what is under way, still giving signs of life, and leaves.
    async fn stop(&mut self) {
        self.stopping.send_replace(true);
        let deadline = Instant::now() + LONGEST_STOP;
        let mut look_at = Instant::now() + PAUSE;
        while !self.running.is_empty() && Instant::now() < deadline {
            tokio::select! {
                biased;
                ended = self.runs.join_next() => self.note_end(ended.as_ref()),
                () = runtime::sleep_until(look_at.min(deadline)) => {
                    if let Err(error) = self.membership.look().await {
                        tracing::warn!(%error, "this node could not give a sign of life");
                    }
                    look_at = Instant::now() + PAUSE;
                }
            }
        }
        if !self.running.is_empty() {
            tracing::warn!(jobs = self.running.len(), "background work was still under way and is given back");
            // Before leaving: a lease must not be free while its run can still write.
            self.runs.shutdown().await;
        }
        self.membership.leave().await;
    }
}
