//! Monotonic time and waiting for it.
#![expect(clippy::disallowed_methods, reason = "the place where tokio's clock is asked")]

use std::future::Future;
use std::ops::{Add, Sub};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

/// Point of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(tokio::time::Instant);

impl Instant {
    /// Returns the current time.
    pub fn now() -> Self {
        Instant(tokio::time::Instant::now())
    }

    /// Returns the time since then; zero when it lies ahead.
    pub fn elapsed(self) -> Duration {
        Instant::now() - self
    }

    /// Returns the same point for libraries that use the standard type.
    pub fn into_std(self) -> std::time::Instant {
        self.0.into_std()
    }

    /// Returns the same point from a library that uses the standard type.
    pub fn from_std(instant: std::time::Instant) -> Self {
        Instant(tokio::time::Instant::from_std(instant))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        // A deadline that lies ahead is asked for too: then nothing has passed, and nothing panics.
        self.0.saturating_duration_since(earlier.0)
    }
}

/// Future that is ready at a point in time.
#[derive(Debug)]
#[must_use = "a wait does nothing until it is awaited"]
pub struct Sleep(Pin<Box<tokio::time::Sleep>>);

impl Sleep {
    /// Moves the point in time; the future waits again even if it was ready.
    pub fn reset(&mut self, deadline: Instant) {
        self.0.as_mut().reset(deadline.0);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

/// Waits for a duration, counted from this call.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep(Box::pin(tokio::time::sleep(duration)))
}

/// Waits until a point in time; one in the past is ready at once.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep(Box::pin(tokio::time::sleep_until(deadline.0)))
}

/// Error of a future that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl std::fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the time limit has passed")
    }
}

impl std::error::Error for Elapsed {}

/// Awaits a future for at most `limit`, counted from this call, and drops it then.
///
/// # Errors
/// [`Elapsed`] when the future was not ready in time.
pub fn timeout<F: Future>(limit: Duration, future: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
    // Made here and not in the block: the limit counts from the call, as a reader expects, and not from the first
    // poll.
    let limited = tokio::time::timeout(limit, future);
    async move { limited.await.map_err(|_| Elapsed) }
}

/// Ticks at a fixed distance.
#[derive(Debug)]
pub struct Interval(tokio::time::Interval);

impl Interval {
    /// Waits for the next tick: the first is ready at once. Ticks that were missed are not made up for; the next one
    /// comes a full period after the late one. Cancelling the wait loses no tick.
    pub async fn tick(&mut self) {
        self.0.tick().await;
    }
}

/// Returns ticks with `period` between them.
///
/// # Panics
/// If `period` is zero.
pub fn interval(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    // A caller that was busy for an hour wants its next turn, not a turn for each one that it missed.
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Interval(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn sleep_ends_at_its_deadline_and_waits_again_after_reset() {
        let begin = Instant::now();
        sleep(SECOND).await;
        assert_eq!(begin.elapsed(), SECOND);
        sleep_until(begin).await;
        assert_eq!(begin.elapsed(), SECOND, "a deadline in the past is ready at once");
        let mut wait = sleep_until(begin + 2 * SECOND);
        (&mut wait).await;
        wait.reset(begin + 5 * SECOND);
        wait.await;
        assert_eq!(begin.elapsed(), 5 * SECOND);
        assert_eq!(begin - Instant::now(), Duration::ZERO, "a negative duration is zero");
        assert_eq!(Instant::from_std(begin.into_std()), begin);
    }

    #[tokio::test(start_paused = true)]
    async fn timeout_returns_the_output_or_elapsed_and_counts_from_the_call() {
        assert_eq!(timeout(SECOND, async { 7 }).await, Ok(7));
        let begin = Instant::now();
        let limited = timeout(2 * SECOND, std::future::pending::<()>());
        sleep(SECOND).await;
        assert_eq!(limited.await, Err(Elapsed));
        assert_eq!(begin.elapsed(), 2 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn interval_ticks_at_once_then_by_period_and_skips_what_was_missed() {
        let begin = Instant::now();
        let mut ticks = interval(SECOND);
        ticks.tick().await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
        ticks.tick().await;
        assert_eq!(begin.elapsed(), SECOND);
        sleep(10 * SECOND).await;
        ticks.tick().await;
        assert_eq!(begin.elapsed(), 11 * SECOND, "a late tick is ready at once");
        ticks.tick().await;
        assert_eq!(begin.elapsed(), 12 * SECOND, "missed ticks are not made up for");
    }

    #[tokio::test(start_paused = true)]
    async fn interval_keeps_a_tick_whose_wait_was_cancelled() {
        let begin = Instant::now();
        let mut ticks = interval(10 * SECOND);
        ticks.tick().await;
        assert_eq!(timeout(4 * SECOND, ticks.tick()).await, Err(Elapsed));
        ticks.tick().await;
        assert_eq!(begin.elapsed(), 10 * SECOND);
    }
}
