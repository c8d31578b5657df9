//! A connection whose client takes no byte of its answer for too long is given up: it would hold memory for nobody.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use runtime::{Instant, Sleep, sleep};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream on which writing fails once nothing could be written for so long.
pub struct GivesUpWhenStalled<S> {
    stream: S,
    timeout: Duration,
    /// Runs while a write waits.
    waiting: Option<Sleep>,
}

impl<S: AsyncWrite + Unpin> GivesUpWhenStalled<S> {
    /// Gives a stream up after so long.
    pub fn new(stream: S, timeout: Duration) -> Self {
        GivesUpWhenStalled { stream, timeout, waiting: None }
    }

    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        attempt: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        // Every byte that goes out begins the time again: slow is allowed, still is not.
        if let Poll::Ready(done) = attempt(Pin::new(&mut self.stream), context) {
            self.waiting = None;
            return Poll::Ready(done);
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| sleep(timeout));
        ready!(Pin::new(&mut *waiting).poll(context));
        // Another poll must not find a timer that has run out already.
        waiting.reset(Instant::now() + timeout);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GivesUpWhenStalled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Without a timer: a connection that waits for a request, or for the answer to it, reads nothing for long.
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GivesUpWhenStalled<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.watch(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.watch(context, |stream, context| stream.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watch(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watch(context, AsyncWrite::poll_shutdown)
    }
}
