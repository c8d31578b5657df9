//! What an operation does in its transaction, without its type: what runs operations is compiled once, and not once for
//! each of some hundred operations in every crate that uses them.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::LocalBoxFuture;

use super::statement::Tx;
use crate::error::{Result, StoreError};

/// The statements of an operation. They may run again where the engine asks for it, and have no effects of their own.
pub(super) trait Statements: Send {
    /// Runs them in a transaction and leaves what they answer where [`Answer::take`] finds it.
    fn run<'run>(&'run mut self, tx: &'run Tx<'_>) -> LocalBoxFuture<'run, Result<()>>;
}

/// The statements of an operation as a value.
pub(super) type Body = Box<dyn Statements>;

/// The place of an operation's answer.
pub(super) struct Answer<T>(Arc<Mutex<Option<T>>>);

struct Answering<T, F> {
    work: F,
    answer: Answer<T>,
}

impl<T: Send + 'static> Answer<T> {
    pub fn none_yet() -> Self {
        Answer(Arc::default())
    }

    /// Returns the body of work whose answer is left here; of several, the last.
    pub fn to<F>(&self, work: F) -> Body
    where
        F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
    {
        Box::new(Answering { work, answer: Answer(self.0.clone()) })
    }

    /// Returns what was answered last.
    pub fn take(self) -> Result<T> {
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.ok_or_else(|| StoreError::Unavailable("not run".to_owned()))
    }
}

impl<T, F> Statements for Answering<T, F>
where
    T: Send + 'static,
    F: AsyncFnMut(&Tx<'_>) -> Result<T> + Send + 'static,
{
    fn run<'run>(&'run mut self, tx: &'run Tx<'_>) -> LocalBoxFuture<'run, Result<()>> {
        Box::pin(async move {
            let answer = (self.work)(tx).await?;
            *self.answer.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            Ok(())
        })
    }
}
