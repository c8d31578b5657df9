//! Bodies of requests that are refused before they are read.
//!
//! A client that is still sending when the connection closes gets a reset, and most then never look at the answer that
//! came before it. So what is left of a body is read and thrown away while the answer is on its way.

use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use api::{Bodies, Reading, neighbourhood};
use axum::body::{Bytes, HttpBody};
use axum::http::header::EXPECT;
use axum::http::{Request, Version};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use runtime::{Hashing, Instant};

/// The most that is read for nothing, bytes: twice the largest upload of the default settings, so that who sends one that is too
/// large sees why, and no gift to one that never ends.
const MOST_BYTES: u64 = 64 << 20;

/// Bodies that are read for nothing at the same time, in all and of one address. Refusing stays cheap however many are
/// refused.
const PLACES: usize = 64;
const PLACES_OF_ADDRESS: usize = 16;

/// The places of bodies that are read for nothing. Clones share them.
#[derive(Clone)]
pub struct Unread {
    bodies: Bodies,
    // Strangers choose their addresses: with a key of its own for each process none can choose whose share it has.
    hasher: Hashing,
}

/// The share that a body counts in.
#[derive(Clone)]
struct Share {
    bodies: Bodies,
    address: u64,
}

impl Unread {
    /// All places, free.
    pub fn new() -> Self {
        // A body that is refused is worth no more than another: who sends well sees the answer, and the newcomer's connection
        // is closed at once.
        Unread { bodies: Bodies::new(PLACES, PLACES_OF_ADDRESS).sparing_good_ones(), hasher: Hashing::default() }
    }

    fn share_of(&self, address: IpAddr) -> Share {
        Share { bodies: self.bodies.clone(), address: self.hasher.hash_one(neighbourhood(address)) }
    }
}

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
    share: Share,
    /// Time for which a client may pause.
    timeout: Duration,
    /// Time since which it has paused.
    since: Instant,
}

impl<B> ReadToTheEnd<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    /// Returns the same request, of a client of this address, with such a body.
    pub fn of(request: Request<B>, timeout: Duration, (unread, client): (&Unread, IpAddr)) -> Request<Self> {
        let share = unread.share_of(client);
        let rest = match request.version() {
            Version::HTTP_2 => Rest::Reset,
            _ if request.headers().contains_key(EXPECT) => Rest::NotSent,
            _ => Rest::Read,
        };
        request.map(|body| ReadToTheEnd { body: Some(body), rest, share, timeout, since: Instant::now() })
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
        if left.is_zero() {
            return;
        }
        // Where all places are held, a slow sender loses one, or the address that has most of them: this body has it.
        if let Some((place, reading)) = self.share.bodies.enter(self.share.address, None) {
            runtime::spawn("rest of a body", async move {
                let _ = runtime::timeout(left, read(body, reading)).await;
                drop(place);
            });
        }
    }
}

/// Reads until the end, until it is too much, or until its place is given to another.
async fn read(mut body: impl HttpBody<Data = Bytes> + Unpin, mut reading: Reading) {
    let mut bytes = 0;
    while bytes < MOST_BYTES {
        let frame = {
            let mut next = pin!(body.frame());
            std::future::poll_fn(|context| match reading.poll_given_up(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => next.as_mut().poll(context),
            })
            .await
        };
        let Some(Ok(frame)) = frame else { return };
        let came = frame.data_ref().map_or(0, Bytes::len);
        reading.came(came);
        bytes += came as u64;
    }
}
