//! Bodies that come too slowly are given up: each holds a place among the requests under way.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use api::SlowBody;
use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use runtime::{Instant, Sleep, sleep};

/// The largest body, bytes, that has to come as a whole within the time in which the rate of a larger one is taken.
const SMALL_BYTES: u64 = 64 << 10;
/// The least rate of a larger body, bytes per second.
const LEAST_RATE: u64 = 1 << 10;
/// Looks at the rate within that time.
const LOOKS: u32 = 6;

/// A body that fails once it has come too slowly. One that is small has a time as a whole, a larger one or one that does not
/// say how large it is has a least rate.
pub struct Paced<B> {
    body: B,
    patience: Duration,
    /// Set when the body is first asked for.
    pace: Option<Pace>,
}

/// How a body has come so far.
struct Pace {
    next_look: Sleep,
    is_small: bool,
    /// Bytes since the last look.
    bytes: u64,
    /// Bytes between each two of the last looks, in a ring, and how many looks there have been.
    between_looks: [u64; LOOKS as usize],
    looks: usize,
}

impl<B: HttpBody> Paced<B> {
    /// Gives a body up that needs more time than this, or is slower over this time.
    pub fn new(body: B, patience: Duration) -> Self {
        Paced { body, patience, pace: None }
    }
}

impl Pace {
    /// Looks at the rate each time that it is time to; answers once the body is too slow.
    fn poll_too_slow(&mut self, patience: Duration, context: &mut Context<'_>) -> Poll<SlowBody> {
        loop {
            match Pin::new(&mut self.next_look).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => self.next_look.reset(Instant::now() + patience / LOOKS),
            }
            self.between_looks[self.looks % self.between_looks.len()] = std::mem::take(&mut self.bytes);
            self.looks += 1;
            let seconds = patience.as_secs();
            let is_slow = self.is_small || self.between_looks.iter().sum::<u64>() < LEAST_RATE * seconds;
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
        let Paced { body, patience, pace } = &mut *self;
        let size = body.size_hint();
        let polled = Pin::new(body).poll_frame(context);
        // Most bodies are there with their head and never need a timer.
        if let Poll::Ready(frame) = polled {
            if let (Some(pace), Some(Ok(frame))) = (pace, &frame) {
                pace.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let pace = pace.get_or_insert_with(|| Pace {
            next_look: sleep(*patience / LOOKS),
            is_small: size.exact().is_some_and(|bytes| bytes <= SMALL_BYTES),
            bytes: 0,
            between_looks: Default::default(),
            looks: 0,
        });
        pace.poll_too_slow(*patience, context).map(|slow| Some(Err(slow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
