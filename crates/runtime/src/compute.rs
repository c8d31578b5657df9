//! A pool of threads for work that computes and never waits, and gives way to what answers requests.
#![expect(clippy::disallowed_methods, reason = "the place where threads wait for work that computes")]

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::task::{TaskError, thread};

type Job = Box<dyn FnOnce() + Send>;

/// How much less the system favours this work: next to a thread that answers a request, a third of its share. A burst of
/// uploads would otherwise wait behind the days that it makes due.
const NICENESS: i32 = 5;

/// One pool for the process: more threads than cores would only take turns.
static POOL: LazyLock<Pool> = LazyLock::new(|| {
    // Honours the affinity and the quota of the process. Where the system does not say, one core is certain.
    Pool::start(std::thread::available_parallelism().map_or(1, NonZero::get))
});

/// Computes on one of as many threads as the process has cores, in the order of arrival. `work` must be pure computing
/// of at least some ten microseconds: it holds up the work behind it. A caller that stops waiting before its turn has
/// nothing computed.
///
/// # Errors
/// When the work panicked.
pub async fn compute<T, F>(name: &'static str, work: F) -> Result<T, TaskError>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    POOL.run(name, work).await
}

struct Pool {
    /// None when the system gave no thread at all: work is then done where it is asked for.
    jobs: Option<mpsc::Sender<Job>>,
}

impl Pool {
    fn start(threads: usize) -> Self {
        // Unbounded, because jobs are sent from async functions, which must not block.
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let start = || {
            let waiting = waiting.clone();
            thread("compute", move || work_off(&waiting)).is_ok()
        };
        // Fewer threads than asked for are enough to go on with; a service that does not start helps nobody.
        let started = (0..threads).filter(|_| start()).count();
        Pool { jobs: (started > 0).then_some(jobs) }
    }

    async fn run<T, F>(&self, name: &'static str, work: F) -> Result<T, TaskError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move || {
            // A caller whose request has timed out must not hold up those behind it.
            if !reply.is_closed() {
                let done = catch_unwind(AssertUnwindSafe(work));
                let _ = reply.send(done.map_err(|payload| TaskError::panicked(name, &*payload)));
            }
        });
        match &self.jobs {
            Some(jobs) => drop(jobs.send(job)),
            None => job(),
        }
        answer.await.unwrap_or_else(|_| Err(TaskError::aborted(name)))
    }
}

fn work_off(waiting: &Mutex<mpsc::Receiver<Job>>) {
    // Of this thread alone, as Linux has it. Where it is refused, the work is done as before.
    let _ = rustix::process::nice(NICENESS);
    loop {
        // The lock is held while this thread waits and not while it works.
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // The work itself is guarded already. A result that panics when nobody takes it must not cost a thread.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn panic_is_an_error_and_the_pool_goes_on() {
        let pool = Pool::start(1);
        let fails = |message: &'static str| move || -> u32 { panic!("{message}") };
        let error = pool.run("derive", fails("index out of bounds")).await.unwrap_err();
        assert_eq!(error, TaskError { name: "derive", panic: Some("index out of bounds".to_owned()) });
        assert_eq!(pool.run("derive", || 7).await, Ok(7));
        assert_eq!(compute("derive", || 8).await, Ok(8));
    }

    #[tokio::test]
    async fn work_gives_way_to_the_threads_that_ask_for_it() {
        let niceness = || rustix::process::nice(0).expect("the system says it");
        let asking = niceness();
        let computing = Pool::start(1).run("derive", niceness).await.expect("computed");
        // The least favoured has 19.
        assert_eq!(computing, (asking + NICENESS).min(19));
        assert_eq!(niceness(), asking, "another thread's changed");
    }

    #[tokio::test]
    async fn work_runs_on_all_threads_at_once_and_on_no_more() {
        const THREADS: usize = 3;
        let pool = Pool::start(THREADS);
        let (barrier, running, most) = (Arc::new(Barrier::new(THREADS)), Arc::default(), Arc::default());
        let work = |_| {
            let (barrier, running, most): (_, Arc<AtomicUsize>, Arc<AtomicUsize>) =
                (barrier.clone(), Arc::clone(&running), Arc::clone(&most));
            pool.run("meet", move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // Passes only when as many run at the same time.
                barrier.wait();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        };
        let ended = futures::future::join_all((0..4 * THREADS).map(work)).await;
        assert!(ended.iter().all(Result::is_ok));
        assert_eq!(most.load(Ordering::SeqCst), THREADS);
    }

    #[tokio::test]
    async fn work_of_a_caller_that_stopped_waiting_is_not_begun() {
        let pool = Pool::start(1);
        let (go, wait) = mpsc::channel::<()>();
        let begun = Arc::new(AtomicUsize::new(0));
        let counts = |begun: &Arc<AtomicUsize>| {
            let begun = begun.clone();
            move || begun.fetch_add(1, Ordering::SeqCst)
        };
        let mut busy = Box::pin(pool.run("busy", move || wait.recv().is_ok()));
        let mut given_up = Box::pin(pool.run("given up", counts(&begun)));
        assert!(futures::poll!(&mut busy).is_pending());
        assert!(futures::poll!(&mut given_up).is_pending());
        drop(given_up);
        go.send(()).unwrap();
        assert_eq!(busy.await, Ok(true));
        assert_eq!(pool.run("last", counts(&begun)).await, Ok(0));
    }

    #[tokio::test]
    async fn without_threads_work_is_done_in_place() {
        let here = std::thread::current().id();
        let pool = Pool::start(0);
        assert_eq!(pool.run("in place", move || std::thread::current().id() == here).await, Ok(true));
        assert!(pool.run("in place", || panic!("x")).await.is_err());
    }

    #[tokio::test]
    async fn result_that_panics_when_dropped_costs_no_thread() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let pool = Pool::start(1);
        let (go, wait) = mpsc::channel::<()>();
        let (say, begun) = oneshot::channel();
        let mut left = Box::pin(pool.run("bomb", move || {
            say.send(()).unwrap();
            let _ = wait.recv();
            Bomb
        }));
        assert!(futures::poll!(&mut left).is_pending());
        begun.await.unwrap();
        drop(left);
        go.send(()).unwrap();
        assert_eq!(pool.run("next", || 1).await, Ok(1));
    }
}
