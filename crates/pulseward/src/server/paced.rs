//! Bodies that come too slowly are given up: each holds a place among the requests under way.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use api::{LEAST_RATE, SlowBody};
use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use runtime::{Instant, Sleep, sleep};

/// The largest body, bytes, that has to come as a whole within the time in which the rate of a larger one is taken.
const SMALL_BYTES: u64 = 64 << 10;
/// Looks at the rate within that time.
const LOOKS: u32 = 6;

/// A body that fails once it has come too slowly. One that is small has a time as a whole, a larger one has a least rate.
/// One that does not say how large it is counts as small until more has come than a small one has.
pub struct Paced<B> {
    body: B,
    timeout: Duration,
    /// Bytes, as the body says before any has come.
    size: Option<u64>,
    /// Bytes that have come.
    came: u64,
    /// Set when the body first keeps its reader waiting.
    pace: Option<Pace>,
}

/// How a body has come so far.
struct Pace {
    next_look: Sleep,
    /// Bytes that had come at the last look.
    came: u64,
    /// Bytes between each two of the last looks, in a ring, and how many looks there have been.
    between_looks: [u64; LOOKS as usize],
    looks: usize,
}

impl<B: HttpBody> Paced<B> {
    /// Gives a body up that needs more time than this, or is slower over this time.
    pub fn new(body: B, timeout: Duration) -> Self {
        let size = body.size_hint().exact();
        Paced { body, timeout, size, came: 0, pace: None }
    }
}

impl Pace {
    /// Looks at the rate each time that it is time to; answers once a body of this size, of which so many bytes have come, is
    /// too slow.
    fn poll_too_slow(
        &mut self,
        (size, came): (Option<u64>, u64),
        timeout: Duration,
        context: &mut Context<'_>,
    ) -> Poll<SlowBody> {
        loop {
            match Pin::new(&mut self.next_look).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => self.next_look.reset(Instant::now() + timeout / LOOKS),
            }
            self.between_looks[self.looks % self.between_looks.len()] = came - self.came;
            self.came = came;
            self.looks += 1;
            let seconds = timeout.as_secs();
            let is_slow =
                size.unwrap_or(came) <= SMALL_BYTES || self.between_looks.iter().sum::<u64>() < LEAST_RATE * seconds;
            if self.looks >= self.between_looks.len() && is_slow {
                return Poll::Ready(SlowBody { seconds, least_rate: LEAST_RATE });
            }
        }
    }
}

impl<B> HttpBody for Paced<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Paced { body, timeout, size, came, pace } = &mut *self;
        let polled = Pin::new(body).poll_frame(context);
        // Most bodies are there with their head and never need a timer.
        if let Poll::Ready(frame) = polled {
            if let Some(Ok(frame)) = &frame {
                *came += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let pace = pace.get_or_insert_with(|| Pace {
            next_look: sleep(*timeout / LOOKS),
            came: *came,
            between_looks: Default::default(),
            looks: 0,
        });
        pace.poll_too_slow((*size, *came), *timeout, context).map(|slow| Some(Err(slow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
