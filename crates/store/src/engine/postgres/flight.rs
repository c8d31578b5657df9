//! One transaction on a PostgreSQL connection, with as few waits as its questions allow.
//!
//! What is sent is not waited for until somebody needs an answer: BEGIN leaves with the first statement, statements
//! without an answer leave at once, and COMMIT leaves with the last of them. The server takes them in order. When one
//! fails, those behind it fail too and COMMIT rolls back, so looking at the answers late loses nothing.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::TryStreamExt;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::held::{self, Held};
use super::statements::Known;
use crate::engine::deadlines::Work;
use crate::engine::param::Param;
use crate::engine::row::Row;
use crate::error::{Result, StoreError};

type Sent = Pin<Box<dyn Future<Output = std::result::Result<(), tokio_postgres::Error>>>>;

/// What kind of transaction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One statement without a transaction of its own.
    Single,
    /// Several statements that read one state.
    Snapshot(Work),
    /// Statements that write.
    Write(Work),
}

/// Statements on their way in one transaction.
pub(in crate::engine) struct Flight {
    client: Arc<Held>,
    mode: Mode,
    /// Held while a statement is prepared and sent, so that statements arrive in the order of their first poll.
    order: tokio::sync::Mutex<()>,
    /// Statements whose answers nobody has looked at, in the order in which they were sent.
    sent: RefCell<VecDeque<Sent>>,
    /// How the first of those failed whose answer has come.
    failure: RefCell<Option<tokio_postgres::Error>>,
    is_open: Cell<bool>,
    /// Whether the server has answered a statement of this transaction.
    is_answered: Cell<bool>,
    has_failed: Cell<bool>,
    /// Whether a statement was looked for where it was not prepared.
    has_met_pooler: Cell<bool>,
    /// Statements whose answers the work or its commit waits for, or waited for when it was dropped.
    awaited: Cell<usize>,
}

/// Reason why a commit did not succeed.
pub(super) struct CommitFailure {
    /// The error.
    pub error: StoreError,
    /// Whether the transaction has surely been rolled back.
    pub is_undone: bool,
}

impl Flight {
    pub(super) fn begin(client: Arc<Held>, mode: Mode) -> Self {
        let text = match mode {
            Mode::Single => None,
            Mode::Snapshot(work) => Some(work.begin_snapshot()),
            Mode::Write(work) => Some(work.begin_write()),
        };
        let flight = Flight {
            client,
            mode,
            order: tokio::sync::Mutex::default(),
            sent: RefCell::default(),
            failure: RefCell::default(),
            is_open: Cell::new(mode != Mode::Single),
            is_answered: Cell::new(false),
            has_failed: Cell::new(false),
            has_met_pooler: Cell::new(false),
            awaited: Cell::new(0),
        };
        if let Some(text) = text {
            let client = flight.client.clone();
            flight.send(Box::pin(async move { client.batch_execute(text).await }));
        }
        flight
    }

    /// Runs a statement and waits for how many rows it touched.
    pub(in crate::engine) async fn execute(&self, text: &'static str, params: &[&dyn Param]) -> Result<u64> {
        let turn = self.order.lock().await;
        let statement = self.prepared(text).await?;
        let mut running = pin!(statement.execute(&self.client, of_postgres(params)));
        let polled = poll_once(running.as_mut());
        drop(turn);
        let answer = match polled {
            Poll::Ready(answer) => answer,
            Poll::Pending => self.answered(running).await,
        };
        self.is_answered.set(self.is_answered.get() | answer.is_ok());
        self.checked(answer).await
    }

    /// Sends a statement whose answer is looked at when the transaction ends.
    pub(in crate::engine) async fn put(&self, text: &'static str, params: &[&dyn Param]) -> Result<()> {
        let _turn = self.order.lock().await;
        let statement = self.prepared(text).await?;
        self.send_with(statement, params);
        Ok(())
    }

    /// The same for a statement of several rows. The server knows the types of its parameters from the statement of one
    /// row alone.
    pub(in crate::engine) async fn put_rows(
        &self,
        one: &'static str,
        several: &'static str,
        rows: usize,
        params: &[&dyn Param],
    ) -> Result<()> {
        let _turn = self.order.lock().await;
        let found = self.answered(self.client.statements().find_rows(&self.client, one, several, rows)).await;
        self.send_with(self.checked(found).await?, params);
        Ok(())
    }

    fn send_with(&self, statement: Known, params: &[&dyn Param]) {
        let params: Vec<Box<dyn ToSql + Sync + Send>> = params.iter().map(|param| param.boxed()).collect();
        let client = self.client.clone();
        self.send(Box::pin(async move {
            let params = params.iter().map(|param| &**param as &(dyn ToSql + Sync));
            statement.execute(&client, params).await.map(drop)
        }));
    }

    /// Runs a query and hands over its rows as they come.
    pub(in crate::engine) async fn query(
        &self,
        text: &'static str,
        params: &[&dyn Param],
        each: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let turn = self.order.lock().await;
        let statement = self.prepared(text).await?;
        let mut running = pin!(statement.query(&self.client, of_postgres(params)));
        let polled = poll_once(running.as_mut());
        drop(turn);
        let answer = match polled {
            Poll::Ready(answer) => answer,
            Poll::Pending => self.answered(running).await,
        };
        let mut rows = pin!(self.checked(answer).await?);
        self.is_answered.set(true);
        loop {
            let row = self.answered(rows.try_next()).await;
            let Some(row) = self.checked(row).await? else { return Ok(()) };
            each(&Row::Postgres(&row))?;
        }
    }

    /// Runs a text without parameters and answers.
    pub(super) async fn run(&self, text: &str) -> Result<()> {
        let answer = self.answered(self.client.batch_execute(text)).await;
        self.checked(answer).await
    }

    /// Prepares a statement without running it.
    pub(in crate::engine) async fn prepare(&self, text: &'static str) -> Result<()> {
        self.prepared(text).await.map(drop)
    }

    /// Commits; COMMIT leaves together with what was sent last, once the server has answered anything at all.
    pub(super) async fn commit(self) -> std::result::Result<(), CommitFailure> {
        let undone = |error| CommitFailure { error, is_undone: true };
        self.awaited.set(0);
        if self.has_failed.get() {
            self.end();
            return Err(undone(StoreError::Database("a statement of the transaction has failed".to_owned())));
        }
        if !self.is_answered.get() {
            // Nothing has shown that the connection is alive. COMMIT on a dead one could not be tried again.
            if let Err(error) = self.all_answered().await {
                self.end();
                return Err(undone(error.into()));
            }
        }
        let mut commit = pin!(self.client.batch_execute("COMMIT"));
        let polled = poll_once(commit.as_mut());
        self.is_open.set(false);
        let was_sent = polled.is_pending();
        // The server said that a statement failed, so it has rolled back. A connection that broke after COMMIT was sent
        // says nothing.
        let failure = |error: tokio_postgres::Error| {
            let is_undone = error.as_db_error().is_some() || !was_sent;
            CommitFailure { error: error.into(), is_undone }
        };
        self.all_answered().await.map_err(failure)?;
        let committed = match polled {
            Poll::Ready(committed) => committed,
            Poll::Pending => self.answered(commit).await,
        };
        // A server that stops may end the session after it has committed, so only a conflict is sure to have undone it.
        committed
            .map_err(|error| CommitFailure { is_undone: error.code().is_some_and(is_conflict), error: error.into() })
    }

    /// Ends the transaction without effects and without waiting; the connection takes whatever comes next after it.
    /// For work that has come to its end: what it did not wait for any more, as after a statement that failed, ends
    /// by itself.
    pub(super) fn end(&self) {
        self.awaited.set(0);
        if self.is_open.replace(false) {
            let text = if matches!(self.mode, Mode::Write(_)) { "ROLLBACK" } else { "COMMIT" };
            // An answer that nobody waits for is dropped by the connection's task.
            let _ = poll_once(pin!(self.client.batch_execute(text)));
        }
    }

    /// Returns the failure that came first, where a later one was noticed before it.
    pub(super) async fn cause(&self, noticed: StoreError) -> StoreError {
        if !self.has_failed.get() {
            return noticed;
        }
        self.all_answered().await.err().map_or(noticed, StoreError::from)
    }

    /// Returns whether a statement was refused because a pooler gave it to a connection that does not know it. Such a
    /// statement was not carried out.
    pub(super) fn has_met_pooler(&self) -> bool {
        self.has_met_pooler.get()
    }

    fn note(&self, error: &tokio_postgres::Error) {
        if self.client.statements().shows_pooler(error) {
            self.has_met_pooler.set(true);
        }
    }

    /// Waits for an answer, and takes those before it: the connection holds back what comes behind an answer that nobody
    /// takes, where it arrives in more than two pieces. A damaged page brings such, with a warning, an error and an end.
    async fn answered<A>(&self, asked: impl Future<Output = A>) -> A {
        self.awaited.set(self.awaited.get() + 1);
        let mut asked = pin!(asked);
        let answer = poll_fn(|context| {
            let _ = self.poll_sent(context);
            asked.as_mut().poll(context)
        });
        let answer = answer.await;
        self.awaited.set(self.awaited.get().saturating_sub(1));
        answer
    }

    /// Waits until everything that was sent is answered; fails as the first of it did.
    async fn all_answered(&self) -> std::result::Result<(), tokio_postgres::Error> {
        self.answered(poll_fn(|context| self.poll_sent(context))).await;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Takes the answers that have come of what was sent. They come in its order, so only the first is looked at.
    fn poll_sent(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut sent = self.sent.borrow_mut();
        while let Some(first) = sent.front_mut() {
            let Poll::Ready(answer) = first.as_mut().poll(context) else { return Poll::Pending };
            sent.pop_front();
            if let Err(error) = answer {
                self.note(&error);
                self.failure.borrow_mut().get_or_insert(error);
            }
        }
        Poll::Ready(())
    }

    async fn checked<T>(&self, answer: std::result::Result<T, tokio_postgres::Error>) -> Result<T> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => {
                self.note(&error);
                self.has_failed.set(true);
                Err(self.cause(error.into()).await)
            }
        }
    }

    fn send(&self, mut statement: Sent) {
        // The first poll hands the statement to the connection; its answer is looked at later.
        match poll_once(statement.as_mut()) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => self.sent.borrow_mut().push_back(Box::pin(std::future::ready(Err(error)))),
            Poll::Pending => self.sent.borrow_mut().push_back(statement),
        }
    }

    async fn prepared(&self, text: &'static str) -> Result<Known> {
        let found = self.answered(self.client.statements().find(&self.client, text)).await;
        self.checked(found).await
    }
}

impl Drop for Flight {
    /// A caller who goes away while the server works must not leave a connection whose next user waits for that.
    fn drop(&mut self) {
        // Also what was only sent may wait for a row that somebody holds.
        let is_broken_off = self.is_open.get() && matches!(self.mode, Mode::Write(_));
        if self.awaited.get() > 0 || is_broken_off {
            held::give_up(self.client.clone());
        } else {
            self.end();
        }
    }
}

/// Returns whether the server has rolled a transaction back because it met another one.
fn is_conflict(code: &SqlState) -> bool {
    code.code().starts_with("40")
}

/// Polls once with a waker that wakes nobody; a caller that needs the answer polls again with a waker of its own.
fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn of_postgres<'params>(params: &'params [&dyn Param]) -> impl ExactSizeIterator<Item = &'params (dyn ToSql + Sync)> {
    params.iter().map(|param| *param as &(dyn ToSql + Sync))
}
