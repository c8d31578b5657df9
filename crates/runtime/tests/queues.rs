//! Queues whose thread serves many callers, and the pool that computes, under cancellation and panics.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by stopping")]
#![allow(clippy::disallowed_methods, reason = "threads are held up on purpose")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use futures::future::join_all;
use runtime::{Closed, Queue, TaskSet, compute, serve, spawn, yield_now};
use tokio::sync::oneshot;

/// A queue whose thread finishes a job only when it is allowed to, and the jobs that it has done.
struct Held {
    queue: Queue<u32>,
    go: mpsc::Sender<()>,
    done: Arc<Mutex<Vec<u32>>>,
}

impl Held {
    /// Serves a queue of a capacity, in jobs; its thread is busy with job 0 when this returns.
    async fn start(capacity: usize) -> Self {
        let (go, wait) = mpsc::channel();
        let done = Arc::new(Mutex::new(Vec::new()));
        let (say, begun) = oneshot::channel();
        let (mut say, record) = (Some(say), done.clone());
        let queue = serve("held", capacity, move |job, _| {
            if let Some(say) = say.take() {
                say.send(()).unwrap();
            }
            wait.recv().unwrap();
            record.lock().unwrap().push(job);
        })
        .unwrap();
        queue.add(0).await.unwrap();
        begun.await.unwrap();
        Held { queue, go, done }
    }

    /// Allows the thread to do `jobs` in all, of which `allowed` were allowed before, and waits until it has done them.
    async fn finish(self, allowed: usize, jobs: usize) -> Vec<u32> {
        (allowed..jobs).for_each(|_| self.go.send(()).unwrap());
        while self.done.lock().unwrap().len() < jobs {
            yield_now().await;
        }
        self.done.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_cancelled_wait_for_room_adds_nothing_and_frees_its_place() {
    let held = Held::start(1).await;
    held.queue.add(1).await.unwrap();
    let mut given_up = Box::pin(held.queue.add(2));
    let mut patient = Box::pin(held.queue.add(3));
    assert!(futures::poll!(&mut given_up).is_pending());
    assert!(futures::poll!(&mut patient).is_pending());
    drop(given_up);
    held.go.send(()).unwrap();
    patient.await.unwrap();
    assert_eq!(held.finish(1, 3).await, [0, 1, 3]);
}

#[tokio::test]
async fn callers_that_wait_for_room_get_it_in_the_order_in_which_they_came() {
    let held = Held::start(1).await;
    held.queue.add(1).await.unwrap();
    let mut callers: Vec<_> = (2..6).map(|job| Box::pin(held.queue.add(job))).collect();
    for caller in &mut callers {
        assert!(futures::poll!(caller).is_pending());
    }
    for _ in 0..5 {
        held.go.send(()).unwrap();
    }
    // Asked for in the other order: the place in the queue counts and not who is polled first.
    callers.reverse();
    assert!(join_all(callers).await.iter().all(Result::is_ok));
    assert_eq!(held.finish(5, 6).await, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_queue_counts_the_jobs_that_wait_and_not_the_one_under_way() {
    let held = Held::start(4).await;
    assert_eq!(held.queue.waiting(), 0, "job 0 is under way");
    for job in 1..=4 {
        held.queue.add(job).await.unwrap();
        assert_eq!(held.queue.waiting(), job as usize);
    }
    let mut outside = Box::pin(held.queue.add(5));
    assert!(futures::poll!(&mut outside).is_pending());
    assert_eq!(held.queue.waiting(), 4, "a caller without room is not in the queue");
    drop(outside);
    assert_eq!(held.queue.clone().waiting(), 4, "clones share the queue");
    let queue = held.queue.clone();
    assert_eq!(held.finish(0, 5).await, [0, 1, 2, 3, 4]);
    assert_eq!(queue.waiting(), 0);
}

#[tokio::test]
async fn many_callers_of_one_queue_lose_no_job_and_keep_their_own_order() {
    const CALLERS: u32 = 20;
    const JOBS: u32 = 30;
    let done = Arc::new(Mutex::new(Vec::new()));
    let record = done.clone();
    let queue = serve("many", 3, move |job: (u32, u32), _| record.lock().unwrap().push(job)).unwrap();
    let mut callers = TaskSet::default();
    for caller in 0..CALLERS {
        let queue = queue.clone();
        callers.spawn("caller", async move {
            for job in 0..JOBS {
                queue.add((caller, job)).await.unwrap();
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    while done.lock().unwrap().len() < (CALLERS * JOBS) as usize {
        yield_now().await;
    }
    let done = done.lock().unwrap().clone();
    for caller in 0..CALLERS {
        let own: Vec<u32> = done.iter().filter(|(of, _)| *of == caller).map(|(_, job)| *job).collect();
        assert_eq!(own, (0..JOBS).collect::<Vec<_>>(), "caller {caller}");
    }
}

#[tokio::test]
async fn a_panic_closes_the_queue_for_those_who_wait_and_drops_their_jobs() {
    let (go, wait) = mpsc::channel::<()>();
    let (say, begun) = oneshot::channel();
    let mut say = Some(say);
    let queue = serve("breaks", 1, move |_: Arc<()>, _| {
        say.take().unwrap().send(()).unwrap();
        wait.recv().unwrap();
        panic!("broken");
    })
    .unwrap();
    let job = Arc::new(());
    queue.add(job.clone()).await.unwrap();
    begun.await.unwrap();
    queue.add(job.clone()).await.unwrap();
    let mut waits = Box::pin(queue.add(job.clone()));
    assert!(futures::poll!(&mut waits).is_pending());
    go.send(()).unwrap();
    assert_eq!(waits.await, Err(Closed));
    assert_eq!(queue.add(job.clone()).await, Err(Closed));
    while Arc::strong_count(&job) > 1 {
        yield_now().await;
    }
}

#[tokio::test]
async fn work_takes_together_only_what_waits_already() {
    let (go, wait) = mpsc::channel::<()>();
    let (say, mut groups) = tokio::sync::mpsc::unbounded_channel();
    let (begin, begun) = oneshot::channel();
    let mut begin = Some(begin);
    let queue = serve("groups", 8, move |first: u32, waiting| {
        if let Some(begin) = begin.take() {
            begin.send(()).unwrap();
        }
        wait.recv().unwrap();
        let group: Vec<u32> = std::iter::once(first).chain(std::iter::from_fn(|| waiting.take())).collect();
        assert!(waiting.take().is_none(), "nothing waits any more");
        say.send(group).unwrap();
    })
    .unwrap();
    queue.add(0).await.unwrap();
    begun.await.unwrap();
    for job in 1..6 {
        queue.add(job).await.unwrap();
    }
    go.send(()).unwrap();
    assert_eq!(groups.recv().await.unwrap(), [0, 1, 2, 3, 4, 5]);
    queue.add(6).await.unwrap();
    go.send(()).unwrap();
    assert_eq!(groups.recv().await.unwrap(), [6]);
    drop(queue);
    assert_eq!(groups.recv().await, None, "the thread ends with its last queue");
}

#[tokio::test]
async fn computed_results_come_back_to_the_callers_that_asked() {
    let squares = join_all((0..200_u64).map(|number| compute("square", move || number * number))).await;
    let expected: Vec<_> = (0..200_u64).map(|number| Ok(number * number)).collect();
    assert_eq!(squares, expected);
}

#[tokio::test]
async fn panics_of_computing_reach_their_own_callers_and_no_others() {
    let work = |number: u32| move || if number.is_multiple_of(3) { panic!("number {number}") } else { number };
    let ended = join_all((0..60).map(|number| compute("every third", work(number)))).await;
    for (number, result) in (0..).zip(ended) {
        match result {
            Ok(value) => assert_eq!((value, number % 3 == 0), (number, false)),
            Err(error) => {
                assert_eq!(error.name, "every third");
                assert_eq!(error.panic, Some(format!("number {number}")));
            }
        }
    }
}

#[tokio::test]
async fn a_panic_without_a_message_is_an_error_too() {
    let error = compute("silent", || std::panic::panic_any(7_u8)).await.unwrap_err();
    assert_eq!(error.to_string(), "silent panicked");
}

#[tokio::test]
async fn aborted_caller_of_the_pool_blocks_no_later_one() {
    let begun = Arc::new(AtomicUsize::new(0));
    let (go, wait) = mpsc::channel::<()>();
    let count = begun.clone();
    let (say, under_way) = oneshot::channel();
    let caller = spawn("caller", async move {
        compute("held", move || {
            count.fetch_add(1, Ordering::SeqCst);
            say.send(()).unwrap();
            wait.recv().is_ok()
        })
        .await
    });
    under_way.await.unwrap();
    caller.abort();
    assert_eq!(caller.await.unwrap_err().to_string(), "caller was aborted");
    go.send(()).unwrap();
    assert_eq!(compute("next", || 1).await, Ok(1));
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}
