//! The body of an answer, which keeps its request under way until it has been handed over: a stream that somebody reads is
//! no idle connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

use super::crowd::UnderWay;

/// The body.
pub struct Answering {
    body: Body,
    _under_way: Option<UnderWay>,
}

impl Answering {
    /// Makes a body of a request.
    pub fn new(body: Body, under_way: Option<UnderWay>) -> Self {
        Answering { body, _under_way: under_way }
    }
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
