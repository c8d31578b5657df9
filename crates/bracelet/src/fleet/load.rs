//! The fleet as a load generator: as many one-minute syncs as asked for, or as the service takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::config::LoadPlan;
use super::driver::{Fleet, finish};
use super::session::Session;
use super::tally::FleetResult;
use crate::body::Window;
use crate::error::BraceletError;

/// A patient and the begin of their next sync, Unix ms.
struct Lane {
    session: Arc<Session>,
    next_ms: AtomicI64,
}

/// What the workers of one measurement share.
struct Load {
    plan: LoadPlan,
    lanes: Vec<Lane>,
    begin: Instant,
    now_ms: i64,
    /// Number of the next sync.
    ticket: AtomicU64,
}

impl Load {
    /// Returns when sync number `ticket` is due, none when it would be after the end.
    fn due(&self, ticket: u64) -> Option<Instant> {
        let offset = match self.plan.rate {
            Some(rate) => Duration::try_from_secs_f64(ticket as f64 / rate).ok()?,
            None => self.begin.elapsed(),
        };
        (offset < self.plan.duration).then(|| self.begin + offset)
    }

    /// Returns the next window of a lane, none when its data reach the present.
    fn next_window(&self, lane: &Lane) -> Option<Window> {
        let from_ms = lane.next_ms.fetch_add(self.plan.step_ms, Ordering::Relaxed);
        let to_ms = from_ms + self.plan.step_ms;
        (to_ms <= self.now_ms).then(|| Window::new(from_ms, to_ms))
    }
}

impl Fleet {
    /// Sends syncs of the enrolled patients by `plan` over all configured connections. All counts of the fleet begin
    /// again; the result holds those of the measurement alone.
    ///
    /// With a rate the latency is counted from when a sync was due, not from when a connection became free: a service
    /// that falls behind shows it.
    pub async fn load(&self, sessions: &[Arc<Session>], plan: LoadPlan) -> Result<FleetResult, BraceletError> {
        let now_ms = (self.clock)();
        // Whole minutes, so that a one-minute sync holds one row of activity.
        let first_ms = (now_ms - plan.begin_before_ms).div_euclid(60_000) * 60_000;
        let lanes: Vec<Lane> = sessions
            .iter()
            .map(|session| Lane { session: session.clone(), next_ms: AtomicI64::new(first_ms) })
            .collect();
        let load = Arc::new(Load { plan, lanes, begin: Instant::now(), now_ms, ticket: AtomicU64::new(0) });
        let total = plan.rate.map(|rate| (rate * plan.duration.as_secs_f64()) as u64);
        self.progress.phase("sending load", total);
        self.tally.reset();
        let mut workers = JoinSet::new();
        for _ in 0..self.config.connections.max(1) {
            let fleet = self.clone();
            let load = load.clone();
            workers.spawn(async move { fleet.work(&load).await });
        }
        finish(workers).await?;
        let seconds = load.begin.elapsed().as_secs_f64();
        Ok(self.tally.result(sessions.len() as u64, seconds))
    }

    /// One connection: takes the next sync, waits until it is due, sends it.
    async fn work(&self, load: &Load) -> Result<(), BraceletError> {
        if load.lanes.is_empty() {
            return Ok(());
        }
        loop {
            let ticket = load.ticket.fetch_add(1, Ordering::Relaxed);
            let Some(due) = load.due(ticket) else {
                return Ok(());
            };
            let lane = &load.lanes[(ticket % load.lanes.len() as u64) as usize];
            let Some(window) = load.next_window(lane) else {
                return Ok(());
            };
            tokio::time::sleep_until(due).await;
            let counted_from = load.plan.rate.map(|_| due);
            self.send_now(&lane.session, window, counted_from).await?;
        }
    }
}
