//! The present: one sync per tick and patient.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::config::Live;
use super::delivery;
use super::driver::{Fleet, finish};
use super::late;
use super::session::Session;
use crate::body::Window;
use crate::error::BraceletError;
use crate::time::HOUR_MS;

impl Fleet {
    /// Sends the present from `begin_ms` on, one sync per tick and patient, until `stop` becomes true or all ticks are done.
    pub async fn send_live(
        &self,
        sessions: &[Arc<Session>],
        live: Live,
        begin_ms: i64,
        stop: &watch::Receiver<bool>,
    ) -> Result<(), BraceletError> {
        let total = live.ticks.map(|ticks| ticks * sessions.len() as u64);
        self.progress.phase("sending live", total);
        let mut tasks = JoinSet::new();
        for (number, session) in sessions.iter().cloned().enumerate() {
            // Spread over the tick: a real fleet doesn't speak all at once either.
            let offset = live.tick.mul_f64(number as f64 / sessions.len() as f64);
            let fleet = self.until(stop);
            let stop = stop.clone();
            tasks.spawn(async move { fleet.send_live_of(&session, live, begin_ms, offset, stop).await });
        }
        finish(tasks).await
    }

    async fn send_live_of(
        &self,
        session: &Session,
        live: Live,
        begin_ms: i64,
        offset: Duration,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), BraceletError> {
        let first = Instant::now() + live.tick + offset;
        let mut ticks = tokio::time::interval_at(first, live.tick.max(Duration::from_millis(1)));
        let mut held = Vec::new();
        let patient = &session.patient;
        let past_ms = i64::from(self.config.days + 1) * 24 * HOUR_MS;
        let mut late = late::still_held(patient, Window::new(begin_ms - past_ms, begin_ms));
        let mut cursor_ms = begin_ms;
        let mut ticks_left = live.ticks.unwrap_or(u64::MAX);
        while ticks_left > 0 {
            tokio::select! {
                _ = ticks.tick() => {}
                // A vanished sender is no request to stop; without it there is nothing left to wait for.
                stopped = stop.wait_for(|stop| *stop), if stop.has_changed().is_ok() => {
                    match stopped {
                        Ok(_) => break,
                        Err(_) => continue,
                    }
                }
            }
            ticks_left -= 1;
            let window = Window::new(cursor_ms, (cursor_ms + live.step_ms).min((self.clock)()));
            if window.to_ms <= cursor_ms {
                continue;
            }
            cursor_ms = window.to_ms;
            for due in delivery::live(patient.scenario, &mut held, window) {
                for piece in late::cut(patient, due) {
                    match piece.due_ms {
                        Some(_) => late.push(piece),
                        None => drop(self.send_window(session, piece.window).await?),
                    }
                }
            }
            // By the time of the samples and not by the clock: an accelerated run has its own.
            for due in late::release(patient, &mut late, cursor_ms) {
                self.send_window(session, due).await?;
            }
        }
        // Nothing is lost with the end of the fleet; the truth says when these were sent.
        for due in late::release(patient, &mut late, i64::MAX) {
            self.send_window(session, due).await?;
        }
        for late in delivery::release(&mut held) {
            self.send_window(session, late).await?;
        }
        Ok(())
    }
}
