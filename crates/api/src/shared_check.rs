//! A check that those who ask at the same time share.
//!
//! Anyone may ask whether the service is ready. Were each answered by a check of its own, many at once would wait for each
//! other until each took too long, and a node that works would say that it does not.

use axum::body::Bytes;
use runtime::Instant;
use tokio::sync::Mutex;

/// The last check.
#[derive(Default)]
pub(crate) struct SharedCheck(Mutex<Option<Checked>>);

struct Checked {
    ended: Instant,
    /// What is answered; none where the check failed.
    answer: Option<Bytes>,
}

impl SharedCheck {
    /// Returns the answer of the check that is under way, or else of a new one. `Ok(None)` where the one that was under way
    /// has failed; why, it has said to the one who began it.
    pub(crate) async fn answer<E>(&self, check: impl Future<Output = Result<Bytes, E>>) -> Result<Option<Bytes>, E> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        // One that had ended before is none: what it has found may have changed.
        if let Some(checked) = last.as_ref().filter(|checked| checked.ended > asked) {
            return Ok(checked.answer.clone());
        }
        let checked = check.await;
        *last = Some(Checked { ended: Instant::now(), answer: checked.as_ref().ok().cloned() });
        checked.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_who_ask_at_the_same_time_share_one_check_and_later_ones_make_another() {
        let (shared, checks) = (SharedCheck::default(), AtomicUsize::new(0));
        let check = || async {
            runtime::sleep(Duration::from_millis(500)).await;
            match checks.fetch_add(1, Ordering::Relaxed) {
                0 => Ok(Bytes::from_static(b"ready")),
                _ => Err("away"),
            }
        };
        let begun = Instant::now();
        let answers = futures::future::join_all((0..50).map(|_| shared.answer(check()))).await;
        assert!(answers.iter().all(|answer| *answer == Ok(Some(Bytes::from_static(b"ready")))), "{answers:?}");
        assert_eq!((checks.load(Ordering::Relaxed), begun.elapsed().as_millis()), (1, 500));
        let (first, second) = futures::join!(shared.answer(check()), shared.answer(check()));
        assert_eq!((first, second), (Err("away"), Ok(None)));
        assert_eq!(checks.load(Ordering::Relaxed), 2);
    }
}
