//! Server-sent events as a client reads them.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use std::time::Duration;

use axum::body::BodyDataStream;
use futures::StreamExt as _;
use serde_json::Value;

/// A block of a stream: an event, or a comment with a place.
#[derive(Debug)]
pub struct Received {
    /// Name; empty for an event without one.
    pub name: String,
    /// Place behind it.
    pub id: String,
    /// Data; none of a comment.
    pub data: Option<Value>,
}

/// A stream that is being read.
pub struct EventStream {
    body: BodyDataStream,
    read: String,
}

impl EventStream {
    pub fn of(response: axum::response::Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        EventStream { body: response.into_body().into_data_stream(), read: String::new() }
    }

    /// Returns the next block; `None` when the stream has ended.
    pub async fn block(&mut self) -> Option<Received> {
        loop {
            if let Some((block, rest)) = self.read.split_once("\n\n") {
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    line.map(|value| value.trim_start().to_owned())
                };
                let data = field("data").map(|data| serde_json::from_str(&data).expect("JSON"));
                let (name, id) = (field("event").unwrap_or_default(), field("id").unwrap_or_default());
                let rest = rest.to_owned();
                self.read = rest;
                return Some(Received { name, id, data });
            }
            // Far longer than anything takes, so that a test that fails ends.
            let piece = tokio::time::timeout(Duration::from_secs(30), self.body.next()).await.expect("in time")?;
            self.read.push_str(std::str::from_utf8(&piece.expect("a piece")).expect("text"));
        }
    }

    /// Returns the next event: its name, its place and its data; `None` when the stream has ended.
    pub async fn event(&mut self) -> Option<(String, String, Value)> {
        loop {
            let Received { name, id, data } = self.block().await?;
            if let Some(data) = data {
                return Some((name, id, data));
            }
        }
    }

    /// Returns the cursor that a stream begins with.
    pub async fn begin(&mut self) -> String {
        self.block().await.expect("a comment").id
    }
}
