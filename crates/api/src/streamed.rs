//! Long answers as JSON that is written while it is sent.
//!
//! What is shown comes batch by batch, is written some items at a time on a thread that may block, and leaves as soon
//! as it is written, so the memory that an answer takes does not grow with it.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};

use crate::error::{Result, broken_off};

/// Text around the items.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Before the first.
    pub before: Vec<u8>,
    /// After the last.
    pub after: Vec<u8>,
}

impl Frame {
    /// Makes an array.
    pub fn array() -> Self {
        Frame { before: b"[".to_vec(), after: b"]".to_vec() }
    }

    /// Makes an object, whose members the items write with their names.
    pub fn object() -> Self {
        Frame { before: b"{".to_vec(), after: b"}".to_vec() }
    }
}

/// Returns an answer of many items with commas between them, `at_once` of them written in one go. Fails with a status
/// of its own when the first batch does; a later fault breaks the connection off, since a shorter answer would look
/// whole.
pub(crate) async fn streamed<Item, Batches, Write>(
    batches: Batches,
    frame: Frame,
    at_once: usize,
    write: Write,
) -> Result<Response>
where
    Item: Send + 'static,
    Batches: Stream<Item = platform::Result<Vec<Item>>> + Send + 'static,
    Write: Fn(&mut Vec<u8>, Item) -> serde_json::Result<()> + Clone + Send + Sync + 'static,
{
    let mut batches = Box::pin(batches);
    // Rights and parameters are checked by the first read, and only until the head is sent can an answer have another
    // status.
    let first = batches.next().await.transpose()?;
    let batches = futures::stream::iter(first.map(Ok)).chain(batches);
    let body = Body::from_stream(written(batches, frame, at_once, write));
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn written<Item: Send + 'static>(
    batches: impl Stream<Item = platform::Result<Vec<Item>>> + Send + 'static,
    frame: Frame,
    at_once: usize,
    write: impl Fn(&mut Vec<u8>, Item) -> serde_json::Result<()> + Clone + Send + Sync + 'static,
) -> impl Stream<Item = std::io::Result<Bytes>> {
    async_stream::try_stream! {
        let mut out = frame.before;
        let mut is_first = true;
        let mut batches = std::pin::pin!(batches);
        while let Some(batch) = batches.next().await {
            let mut items = batch.map_err(broken_off)?.into_iter();
            while items.len() > 0 {
                // Pieces bound what is in memory at once, however slowly the client reads.
                let some: Vec<Item> = items.by_ref().take(at_once).collect();
                let mut piece = std::mem::take(&mut out);
                let write = write.clone();
                // A piece takes milliseconds to write, too long for a thread that serves connections.
                let work = runtime::blocking("write an answer", move || {
                    for item in some {
                        if !std::mem::take(&mut is_first) {
                            piece.push(b',');
                        }
                        write(&mut piece, item)?;
                    }
                    Ok::<_, serde_json::Error>(piece)
                });
                // The closure has its own copy, which is gone with it.
                is_first = false;
                yield Bytes::from(work.await.map_err(std::io::Error::other)??);
            }
        }
        out.extend(frame.after);
        yield Bytes::from(out);
    }
}

#[cfg(test)]
mod tests {
    use platform::PlatformError;

    use super::*;

    fn number(out: &mut Vec<u8>, number: u32) -> serde_json::Result<()> {
        serde_json::to_writer(out, &number)
    }

    async fn text(batches: Vec<platform::Result<Vec<u32>>>, frame: Frame) -> Option<Vec<u8>> {
        let answer = streamed(futures::stream::iter(batches), frame, 2, number).await.expect("an answer");
        Some(axum::body::to_bytes(answer.into_body(), 100).await.ok()?.to_vec())
    }

    #[tokio::test]
    async fn items_are_parted_by_commas_across_pieces_and_batches() {
        let batches = vec![Ok(vec![1, 2, 3]), Ok(Vec::new()), Ok(vec![4])];
        assert_eq!(text(batches, Frame::array()).await.expect("whole"), b"[1,2,3,4]");
    }

    #[tokio::test]
    async fn nothing_is_still_a_whole_answer() {
        assert_eq!(text(Vec::new(), Frame::object()).await.expect("whole"), b"{}");
    }

    #[tokio::test]
    async fn a_fault_at_the_beginning_is_an_error_and_a_later_one_breaks_off() {
        let fault = || Err(PlatformError::Internal("away".to_owned()));
        assert!(streamed(futures::stream::iter([fault()]), Frame::array(), 2, number).await.is_err());
        assert_eq!(text(vec![Ok(vec![1]), fault()], Frame::array()).await, None);
    }
}
