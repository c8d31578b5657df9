//! Bodies of requests that are refused before they are read.
//!
//! A client that is still sending when the connection closes gets a reset, and most then never look at the answer that
//! came before it. So what is left of a body is read and thrown away while the answer is on its way.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::Request;
use axum::http::header::EXPECT;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use runtime::Instant;

/// The most that is read for nothing, bytes: as much as a client sends before it looks up, and no gift to one that never ends.
const MOST_BYTES: u64 = 64 << 20;

/// A body whose rest is read and thrown away when it is dropped.
pub struct ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    body: Option<B>,
    /// How long a client may pause.
    patience: Duration,
    /// Since when it has paused.
    since: Instant,
    /// Whether the client waits for leave to send (`Expect: 100-continue`): then there is nothing to read unless it was given.
    awaits_leave: bool,
}

impl<B> ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    /// The same request with such a body.
    pub fn of(request: Request<B>, patience: Duration) -> Request<Self> {
        let awaits_leave = request.headers().contains_key(EXPECT);
        request.map(|body| ReadToTheEnd { body: Some(body), patience, since: Instant::now(), awaits_leave })
    }
}

impl<B> HttpBody for ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        // The first look is the leave.
        self.awaits_leave = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        match polled {
            // A body that has failed has nothing more to give.
            Poll::Ready(Some(Err(_))) => self.body = None,
            Poll::Ready(_) => self.since = Instant::now(),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl<B> Drop for ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream() && !self.awaits_leave) else { return };
        // One that was given up because its client paused for too long is not waited for again.
        let left = self.patience.saturating_sub(self.since.elapsed());
        if !left.is_zero() {
            runtime::spawn("rest of a body", read(body, left, self.patience));
        }
    }
}

/// Reads until the end, until the client pauses for too long, or until it is too much.
async fn read(mut body: impl HttpBody<Data = Bytes> + Unpin, first: Duration, patience: Duration) {
    let (mut bytes, mut wait) = (0, first);
    while bytes < MOST_BYTES {
        let Ok(Some(Ok(frame))) = runtime::timeout(wait, body.frame()).await else { return };
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        wait = patience;
    }
}
