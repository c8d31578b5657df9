//! Tasks and sets of tasks under cancellation and panics, and waits on a clock that does not move.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by stopping")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use runtime::{Elapsed, Instant, TaskSet, blocking, interval, sleep, sleep_until, spawn, timeout, yield_now};
use tokio::sync::oneshot;

const SECOND: Duration = Duration::from_secs(1);

/// Counts how many of its clones have been dropped.
struct Guard(Arc<AtomicU32>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn forever(guard: Guard) {
    std::future::pending::<()>().await;
    drop(guard);
}

#[tokio::test]
async fn an_empty_set_has_nothing_to_wait_for() {
    let mut tasks = TaskSet::<()>::default();
    assert_eq!(tasks.join_next().await, None);
    tasks.shutdown().await;
    tasks.spawn("after", async {});
    assert_eq!(tasks.join_next().await, Some(Ok(())), "a set goes on after it was empty");
    assert_eq!(tasks.join_next().await, None);
}

#[tokio::test]
async fn a_cancelled_join_loses_no_result() {
    let mut tasks = TaskSet::default();
    let (finish, finished) = oneshot::channel();
    tasks.spawn("late", async move { finished.await.unwrap() });
    assert!(tasks.join_next().now_or_never().is_none());
    finish.send(9).unwrap();
    assert_eq!(tasks.join_next().await, Some(Ok(9)));
    assert_eq!(tasks.join_next().await, None);
}

#[tokio::test(start_paused = true)]
async fn results_come_as_the_tasks_end_and_not_as_they_were_started() {
    let mut tasks = TaskSet::default();
    for seconds in [3, 1, 2] {
        tasks.spawn("sleeps", async move {
            sleep(seconds * SECOND).await;
            seconds
        });
    }
    let mut order = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        order.push(ended.unwrap());
    }
    assert_eq!(order, [1, 2, 3]);
}

#[tokio::test]
async fn a_panic_in_a_set_ends_no_other_task() {
    let dropped = Arc::new(AtomicU32::new(0));
    let mut tasks = TaskSet::default();
    tasks.spawn("endless", forever(Guard(dropped.clone())));
    tasks.spawn("broken", async { panic!("one of many") });
    let error = tasks.join_next().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "broken panicked");
    for _ in 0..10 {
        yield_now().await;
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 0, "the other goes on");
    tasks.shutdown().await;
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn shutdown_ends_every_task_also_those_that_never_ran() {
    let dropped = Arc::new(AtomicU32::new(0));
    let mut tasks = TaskSet::default();
    for _ in 0..50 {
        tasks.spawn("endless", forever(Guard(dropped.clone())));
    }
    tasks.shutdown().await;
    assert_eq!(dropped.load(Ordering::SeqCst), 50);
    assert_eq!(tasks.join_next().await, None, "nothing is left to join");
}

#[tokio::test]
async fn a_task_that_spawns_a_set_takes_it_along_when_it_is_aborted() {
    let dropped = Arc::new(AtomicU32::new(0));
    let inner = Guard(dropped.clone());
    let (say, started) = oneshot::channel();
    let outer = spawn("outer", async move {
        let mut tasks = TaskSet::default();
        tasks.spawn("inner", forever(inner));
        say.send(()).unwrap();
        tasks.join_next().await;
    });
    started.await.unwrap();
    outer.abort();
    assert!(outer.await.unwrap_err().panic.is_none());
    while dropped.load(Ordering::SeqCst) == 0 {
        yield_now().await;
    }
}

#[tokio::test]
async fn a_dropped_task_goes_on() {
    let (say, heard) = oneshot::channel();
    drop(spawn("by itself", async move { say.send(5).unwrap() }));
    assert_eq!(heard.await, Ok(5));
}

#[tokio::test]
async fn aborting_what_has_ended_changes_nothing() {
    let (say, ended) = oneshot::channel();
    let task = spawn("quick", async move {
        say.send(()).unwrap();
        4
    });
    ended.await.unwrap();
    task.abort();
    assert_eq!(task.await, Ok(4));
}

#[tokio::test]
async fn blocking_work_that_has_begun_ends_though_it_is_aborted() {
    let (go, wait) = oneshot::channel::<()>();
    let (begin, begun) = oneshot::channel();
    let (say, heard) = oneshot::channel();
    let job = blocking("job", move || {
        begin.send(()).unwrap();
        let mut wait = wait;
        while wait.try_recv().is_err() {
            std::hint::spin_loop();
        }
        say.send("ended").unwrap();
        3
    });
    begun.await.unwrap();
    job.abort();
    go.send(()).unwrap();
    assert_eq!(heard.await, Ok("ended"));
    assert_eq!(job.await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn a_limit_drops_what_took_too_long() {
    let dropped = Arc::new(AtomicU32::new(0));
    let begin = Instant::now();
    assert_eq!(timeout(SECOND, forever(Guard(dropped.clone()))).await, Err(Elapsed));
    assert_eq!((begin.elapsed(), dropped.load(Ordering::SeqCst)), (SECOND, 1));
    assert_eq!(timeout(Duration::ZERO, async { 2 }).await, Ok(2), "what is ready needs no time");
    assert_eq!(Elapsed.to_string(), "the time limit has passed");
}

#[tokio::test(start_paused = true)]
async fn the_inner_of_two_limits_decides_when_it_is_shorter() {
    let begin = Instant::now();
    let wait = |seconds: u32| timeout(seconds * SECOND, std::future::pending::<()>());
    assert_eq!(timeout(5 * SECOND, wait(2)).await, Ok(Err(Elapsed)));
    assert_eq!(begin.elapsed(), 2 * SECOND);
    assert_eq!(timeout(SECOND, wait(9)).await, Err(Elapsed));
    assert_eq!(begin.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_interval_keeps_its_distance_whatever_each_turn_takes() {
    let begin = Instant::now();
    let mut ticks = interval(10 * SECOND);
    let mut times = Vec::new();
    for work in [0, 4, 9, 0, 3] {
        ticks.tick().await;
        times.push(begin.elapsed().as_secs());
        sleep(work * SECOND).await;
    }
    assert_eq!(times, [0, 10, 20, 30, 40], "work shorter than the period shifts no tick");
}

#[tokio::test(start_paused = true)]
async fn an_interval_that_fell_behind_goes_on_from_its_late_tick() {
    let begin = Instant::now();
    let mut ticks = interval(10 * SECOND);
    let mut times = Vec::new();
    for work in [25, 0, 13, 0, 0] {
        ticks.tick().await;
        times.push(begin.elapsed().as_secs());
        sleep(work * SECOND).await;
    }
    assert_eq!(times, [0, 25, 35, 48, 58]);
}

#[tokio::test(start_paused = true)]
async fn two_intervals_side_by_side_keep_their_own_beat() {
    async fn times(period: Duration, count: usize) -> Vec<u64> {
        let begin = Instant::now();
        let mut ticks = interval(period);
        let mut times = Vec::new();
        while times.len() < count {
            ticks.tick().await;
            times.push(begin.elapsed().as_secs());
        }
        times
    }
    let (slow, fast) = (spawn("slow", times(7 * SECOND, 3)), spawn("fast", times(2 * SECOND, 6)));
    assert_eq!(slow.await.unwrap(), [0, 7, 14]);
    assert_eq!(fast.await.unwrap(), [0, 2, 4, 6, 8, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_can_be_moved_nearer_and_further() {
    let begin = Instant::now();
    let mut wait = sleep_until(begin + 100 * SECOND);
    wait.reset(begin + 3 * SECOND);
    (&mut wait).await;
    assert_eq!(begin.elapsed(), 3 * SECOND);
    wait.reset(begin + SECOND);
    (&mut wait).await;
    assert_eq!(begin.elapsed(), 3 * SECOND, "a time that has passed is ready at once");
    assert_eq!((begin + SECOND) - begin, SECOND);
    assert!(begin < begin + SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_sleep_counts_from_its_call_and_not_from_its_first_poll() {
    let begin = Instant::now();
    let later = sleep(5 * SECOND);
    sleep(4 * SECOND).await;
    later.await;
    assert_eq!(begin.elapsed(), 5 * SECOND);
}
