//! The body of a request, which takes a place when it is first asked for.
//!
//! Routes check a credential before they look at the body. So who has proven to be known takes the place of an owner, whatever
//! was known at the head; and one whose route checks none is a stranger, whatever credential the request shows.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

use crate::body::rejection::NoPlace;
use crate::places::bodies::Reading;
use crate::proof::Proof;

/// The body.
pub(crate) struct PlacedBody {
    body: Body,
    proof: Proof,
    /// Its place, once it has one.
    reading: Option<Reading>,
}

impl PlacedBody {
    /// Makes a body, whose place lasts as long as the proof.
    pub(crate) fn new(body: Body, proof: &Proof) -> Self {
        PlacedBody { body, proof: proof.clone(), reading: None }
    }
}

impl HttpBody for PlacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let PlacedBody { body, proof, reading } = &mut *self;
        if reading.is_none() {
            *reading = proof.begin_body();
        }
        let Some(reading) = reading else {
            return Poll::Ready(Some(Err(axum::Error::new(NoPlace::Left))));
        };
        let polled = Pin::new(&mut *body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => reading.came(frame.data_ref().map_or(0, Bytes::len)),
            Poll::Ready(None | Some(Err(_))) => reading.ended(),
            Poll::Pending if reading.poll_given_up(context).is_ready() => {
                return Poll::Ready(Some(Err(axum::Error::new(NoPlace::GivenUp))));
            }
            Poll::Pending => {}
        }
        // Nobody looks again after the last byte of a body that has said how long it is.
        if body.is_end_stream() {
            reading.ended();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
