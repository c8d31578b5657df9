//! One who listens to a study.

use tokio::sync::{broadcast, watch};

/// Receiver of what is published to a study.
#[derive(Debug)]
pub(crate) struct Listening<T> {
    pub(super) receiver: broadcast::Receiver<T>,
    pub(super) closed: watch::Receiver<bool>,
}

/// What a listener hears.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard<T> {
    /// This was published.
    Published(T),
    /// It fell behind and has missed something.
    FellBehind,
    /// This node is about to stop, or the listening has to begin again.
    Ended,
}

impl<T: Clone> Listening<T> {
    /// Returns what is heard next. Nothing is lost when the future is dropped before it is ready.
    pub async fn next(&mut self) -> Heard<T> {
        tokio::select! {
            // Stopping comes first, so that a busy study cannot keep a node from ending.
            biased;
            _ = self.closed.wait_for(|closed| *closed) => Heard::Ended,
            received = self.receiver.recv() => match received {
                Ok(published) => Heard::Published(published),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    // What is still in the queue is part of what will be read again.
                    self.receiver = self.receiver.resubscribe();
                    Heard::FellBehind
                }
                Err(broadcast::error::RecvError::Closed) => Heard::Ended,
            },
        }
    }
}
