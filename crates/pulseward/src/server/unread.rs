//! Bodies of requests that are refused before they are read.
//!
//! A client that is still sending when the connection closes gets a reset, and most then never look at the answer that
//! came before it. So what is left of a body is read and thrown away while the answer is on its way.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::header::EXPECT;
use axum::http::{Request, Version};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use runtime::Instant;
use tokio::sync::Semaphore;

/// The most that is read for nothing, bytes: twice the largest upload of the default settings, so that who sends one that is too
/// large sees why, and no gift to one that never ends.
const MOST_BYTES: u64 = 64 << 20;

/// Bodies that are read for nothing at the same time. Beyond these a connection just closes, so that refusing stays cheap
/// however many are refused.
static PLACES: Semaphore = Semaphore::const_new(64);

/// What becomes of the rest of a body that nobody wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It is read and thrown away.
    Read,
    /// The client waits for leave to send (`Expect: 100-continue`): there is nothing to read unless it was given.
    NotSent,
    /// HTTP/2 ends the one stream and keeps the connection.
    Reset,
}

/// A body whose rest is read and thrown away when it is dropped.
pub struct ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    body: Option<B>,
    rest: Rest,
    /// Time for which a client may pause.
    timeout: Duration,
    /// Time since which it has paused.
    since: Instant,
}

impl<B> ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    /// Returns the same request with such a body.
    pub fn of(request: Request<B>, timeout: Duration) -> Request<Self> {
        let rest = match request.version() {
            Version::HTTP_2 => Rest::Reset,
            _ if request.headers().contains_key(EXPECT) => Rest::NotSent,
            _ => Rest::Read,
        };
        request.map(|body| ReadToTheEnd { body: Some(body), rest, timeout, since: Instant::now() })
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
        if self.rest == Rest::NotSent {
            self.rest = Rest::Read;
        }
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        match polled {
            // At its end, or after a failure, it has nothing more to give.
            Poll::Ready(None | Some(Err(_))) => self.body = None,
            Poll::Ready(Some(Ok(_))) => self.since = Instant::now(),
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
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream() && self.rest == Rest::Read) else {
            return;
        };
        // One that was given up because its client paused for too long is not waited for again.
        let left = self.timeout.saturating_sub(self.since.elapsed());
        if let (false, Ok(place)) = (left.is_zero(), PLACES.try_acquire()) {
            runtime::spawn("rest of a body", async move {
                let _ = runtime::timeout(left, read(body)).await;
                drop(place);
            });
        }
    }
}

/// Reads until the end or until it is too much.
async fn read(mut body: impl HttpBody<Data = Bytes> + Unpin) {
    let mut bytes = 0;
    while bytes < MOST_BYTES {
        let Some(Ok(frame)) = body.frame().await else { return };
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
}
