//! Asking the server whether it is there, on connections that operations do not use.
//!
//! A node's readiness and the breaker ask here, so that they get their answer within a second also while all connections
//! of the pool wait for something.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::future::select_ok;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};

use super::attempts::{Attempt, read, write_once};
use super::breaker::{Breaker, away};
use super::connections::Connections;
use super::flight::Mode;
use super::statements;
use crate::engine::body::{Answer, Body};
use crate::engine::deadlines::{ASK_TWICE_AFTER, LONGEST_PROBE, LONGEST_RETURN, PROBE_EVERY, SUSPICIOUS, Work};
use crate::error::{Result, StoreError};

const ASK: &str = "SELECT version FROM schema_version";
/// Writes what changes nothing. A row that another node's probe holds is not waited for: that node may be frozen.
const WRITE: &str = "UPDATE schema_version SET version = version
    WHERE version IN (SELECT version FROM schema_version FOR UPDATE SKIP LOCKED)";

/// Connections on which the server is asked whether it is there: one, and another one where that has died.
pub(super) const PROBES: usize = 2;

/// What asks whether the server is there, and ends operations while it is not. Clones share it.
#[derive(Clone)]
pub(super) struct Watch {
    /// What the server is asked on.
    pub probes: Connections,
    /// What operations use; those that lead to where nobody answers are closed.
    pub operations: Connections,
    pub breaker: Arc<Breaker>,
    /// How statements are sent: a pooler gives each transaction another connection of the server.
    pub statements: statements::Statements,
}

impl Watch {
    /// Runs work until the server gives no answer to anything any more. It is then dropped.
    pub async fn guarded<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut state = self.breaker.subscribe();
        if *state.borrow() {
            return Err(away());
        }
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                answer = &mut work => {
                    if !matches!(answer, Err(StoreError::Unavailable(_))) {
                        self.breaker.note_answer();
                    }
                    return answer;
                }
                _ = state.wait_for(|is_open| *is_open) => return Err(away()),
                () = runtime::sleep(SUSPICIOUS) => self.suspect(),
            }
        }
    }

    /// Returns how a single statement runs that reads: by itself, unless its deadlines have to travel with it.
    pub fn mode_of_single(&self, kind: Work) -> Mode {
        if self.statements.is_unnamed() || kind.needs_transaction() { Mode::Snapshot(kind) } else { Mode::Single }
    }

    /// Returns how often the breaker has opened, and whether it is open.
    pub fn breaker_counts(&self) -> (u64, bool) {
        self.breaker.counts()
    }

    /// Reads with one statement, in less than a second; at once while it is known that the server does not answer.
    pub async fn probe(&self, body: Body, again: Body) -> Result<()> {
        // One task asks meanwhile. Each question would open connections that nobody uses any more when the server is back,
        // and which it then has to serve before it gets to those that are new.
        if self.breaker.counts().1 { Err(away()) } else { self.ask_twice(body, again).await }
    }

    async fn ask_twice(&self, body: Body, again: Body) -> Result<()> {
        let first = self.ask(body).boxed();
        let second = async {
            runtime::sleep(ASK_TWICE_AFTER).await;
            self.ask(again).await
        };
        // The one that got no answer is dropped, and its connection with it.
        let answered = runtime::timeout(LONGEST_PROBE, select_ok([first, second.boxed()])).await;
        let answered = answered.map_err(|_| away())?.map(drop);
        if is_there(&answered) {
            self.breaker.note_answer();
        }
        answered
    }

    /// Fails where nothing can be read or written, in less than a second for each.
    pub async fn check_writing(&self) -> Result<()> {
        self.probe(ask_version(), ask_version()).await?;
        let mut write = Answer::none_yet().to(async |tx| tx.execute(WRITE, &[]).await.map(drop));
        let written = self.probes.run(async move |place| {
            match write_once(&place, Mode::Write(Work::Request), &mut *write).await {
                Attempt::Ended(ended) => ended,
                Attempt::Again(error) => Err(error),
            }
        });
        runtime::timeout(LONGEST_PROBE, written).await.map_err(|_| away())?
    }

    async fn ask(&self, body: Body) -> Result<()> {
        let mode = self.mode_of_single(Work::Request);
        self.probes.run(async move |place| read(&place, mode, body).await).await
    }

    /// Asks whether the server is there, unless something was answered just now or somebody asks already. Opens the
    /// breaker if it is not, until it is.
    fn suspect(&self) {
        if self.breaker.has_answered_within(SUSPICIOUS) || !self.breaker.begin_asking() {
            return;
        }
        let watch = self.clone();
        drop(runtime::spawn("ask whether the database is there", async move {
            again_after_panics(|| watch.find_out()).await;
            watch.breaker.end_asking();
        }));
    }

    /// Opens the breaker where the server does not answer, and closes it once it does.
    async fn find_out(&self) {
        let answered = self.ask_twice(ask_version(), ask_version()).await;
        if let (false, Err(error)) = (is_there(&answered), answered) {
            self.breaker.open();
            tracing::error!(%error, "the database does not answer; requests that need it get 503");
            // They lead to where nobody answers.
            self.operations.lanes.close_idle();
            self.wait_for_the_server().await;
        }
        // Also where it was opened before a panic, and the server has come back meanwhile.
        if self.breaker.counts().1 {
            self.breaker.close();
            tracing::info!("the database answers again");
        }
    }

    /// Asks until there is an answer.
    async fn wait_for_the_server(&self) {
        let mut asked = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(is_there) = asked.next() => {
                    if is_there {
                        return;
                    }
                }
                // One after the other, because the first may be lost on a link that was cut.
                () = runtime::sleep(PROBE_EVERY) => {
                    if asked.len() < PROBES {
                        asked.push(self.is_back().boxed());
                    }
                }
            }
        }
    }

    /// Each question is given more time than a probe: a server that comes back, on a machine that is busy with the same, may
    /// need longer for a new connection, and one that was given up would begin again.
    async fn is_back(&self) -> bool {
        let answered = runtime::timeout(LONGEST_RETURN, self.ask(ask_version())).await;
        answered.is_ok_and(|answered| is_there(&answered))
    }
}

/// Does something until it has ended without a panic. One that ended the task silently would leave the breaker open, or
/// nobody asking, for as long as the process lives.
async fn again_after_panics<F: Future<Output = ()>>(work: impl Fn() -> F) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!("asking whether the database is there panicked and begins again");
        runtime::sleep(PROBE_EVERY).await;
    }
}

/// Returns whether the server is there: it is, also where it answers with an error, as of a damaged page. Nothing that the
/// database does hold may be refused for that.
fn is_there(answered: &Result<()>) -> bool {
    !matches!(answered, Err(StoreError::Unavailable(_)))
}

fn ask_version() -> Body {
    Answer::none_yet().to(async |tx| tx.query_opt(ASK, &[], |row| row.get::<i64>(0)).await.map(drop))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn asking_that_panics_begins_again() {
        let begun = AtomicU32::new(0);
        again_after_panics(|| async {
            assert!(begun.fetch_add(1, Ordering::SeqCst) == 2, "a panic for a test");
        })
        .await;
        assert_eq!(begun.load(Ordering::SeqCst), 3);
    }
}
