//! Tasks, threads, and the start of the runtime.
#![expect(clippy::disallowed_methods, reason = "the place where tasks and threads are started")]

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::task::{JoinError, JoinHandle};

use crate::left::Left;

/// Runs the main future of a program to its end. At most `blocking_threads` threads run [`blocking`] work; what is
/// still under way on them when the future ends is left behind.
///
/// # Errors
/// When the system gives no threads.
pub fn run<T>(blocking_threads: usize, main: impl Future<Output = T>) -> io::Result<T> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().max_blocking_threads(blocking_threads).build()?;
    let ended = runtime.block_on(main);
    // Waiting for blocking work could take as long as an export; what is durable was made so before.
    runtime.shutdown_background();
    Ok(ended)
}

/// Started work. Awaiting it gives what the work returns; dropping it lets the work go on.
///
/// To the runtime all work is of one type, and leaves its result behind: the machinery of a task would otherwise be
/// compiled for each place where one is started, which was two thirds of the program.
#[derive(Debug)]
pub struct Task<T> {
    name: &'static str,
    handle: JoinHandle<()>,
    result: Left<T>,
}

impl<T> Task<T> {
    /// Ends the task at its next wait. Blocking work that has begun goes on.
    pub fn abort(&self) {
        self.handle.abort();
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let name = self.name;
        let ended = ready!(Pin::new(&mut self.handle).poll(context));
        // Whatever ends without a panic has left its result before.
        let result = ended.map(|()| self.result.take().ok_or_else(|| TaskError::aborted(name)));
        Poll::Ready(result.unwrap_or_else(|error| Err(TaskError::of_join(name, error))))
    }
}

/// Reason why work has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    /// Name that the work was started with.
    pub name: &'static str,
    /// Message of the panic, which is for tests and never for the log; none when the work was aborted or its runtime has ended.
    pub panic: Option<String>,
}

impl TaskError {
    pub(crate) fn aborted(name: &'static str) -> Self {
        TaskError { name, panic: None }
    }

    /// Reads the message that a panic carries.
    pub(crate) fn panicked(name: &'static str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        TaskError { name, panic: Some(text.unwrap_or("no message").to_owned()) }
    }

    fn of_join(name: &'static str, error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(payload) => TaskError::panicked(name, &*payload),
            Err(_) => TaskError::aborted(name),
        }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.panic {
            // Without its message, which can hold anything of a person; errors are logged, and kept with jobs.
            Some(_) => write!(formatter, "{} panicked", self.name),
            None => write!(formatter, "{} was aborted", self.name),
        }
    }
}

impl std::error::Error for TaskError {}

/// Starts a task at once. `name` appears in errors.
pub fn spawn<F>(name: &'static str, future: F) -> Task<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let (result, leave) = Left::new();
    let work: BoxFuture<'static, ()> = Box::pin(async move { leave.put(future.await) });
    Task { name, handle: tokio::spawn(work), result }
}

/// Starts work that blocks its thread, such as reading files, at once or when a thread is free. It must not wait for
/// other work of the process. For work of milliseconds that only computes, see [`compute`](crate::compute).
pub fn blocking<T, F>(name: &'static str, work: F) -> Task<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (result, leave) = Left::new();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || leave.put(work()));
    Task { name, handle: tokio::task::spawn_blocking(work), result }
}

/// Starts a thread of its own for work that runs to its end by itself. A thread that waits for jobs is
/// [`serve`](crate::serve).
///
/// # Errors
/// When the system gives no thread.
pub fn thread(name: &'static str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Lets other tasks run first.
pub async fn yield_now() {
    tokio::task::yield_now().await;
}

/// Set of tasks that end together: dropping it aborts those that have not ended.
#[derive(Debug)]
pub struct TaskSet<T>(FuturesUnordered<Task<T>>);

impl<T> Default for TaskSet<T> {
    fn default() -> Self {
        TaskSet(FuturesUnordered::new())
    }
}

impl<T: Send + 'static> TaskSet<T> {
    /// Starts a task at once.
    pub fn spawn(&mut self, name: &'static str, future: impl Future<Output = T> + Send + 'static) {
        self.0.push(spawn(name, future));
    }
}

impl<T> TaskSet<T> {
    /// Waits for the next task that ends; none when all have ended.
    pub async fn join_next(&mut self) -> Option<Result<T, TaskError>> {
        self.0.next().await
    }

    /// Aborts all tasks and waits until they have ended.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    fn abort_all(&self) {
        self.0.iter().for_each(Task::abort);
    }
}

impl<T> Drop for TaskSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn fails(message: &str) -> u32 {
        panic!("{message}")
    }

    #[tokio::test]
    async fn panic_of_a_task_is_an_error_with_its_name_and_message() {
        let error = spawn("a task", async { fails("the reason") }).await.unwrap_err();
        assert_eq!(error.to_string(), "a task panicked", "what it said can be of a person, and errors are logged");
        let error = blocking("a job", || fails("another")).await.unwrap_err();
        assert_eq!(error, TaskError { name: "a job", panic: Some("another".to_owned()) });
        assert_eq!(spawn("a task", async { 1 }).await, Ok(1));
        assert_eq!(blocking("a job", || 2).await, Ok(2));
    }

    #[tokio::test]
    async fn aborted_task_is_an_error_without_a_panic() {
        let task = spawn("waits", std::future::pending::<()>());
        task.abort();
        assert_eq!(task.await.unwrap_err().to_string(), "waits was aborted");
    }

    #[tokio::test]
    async fn task_set_joins_what_has_ended_also_by_a_panic() {
        let mut tasks = TaskSet::default();
        tasks.spawn("fine", async { 3 });
        tasks.spawn("broken", async { fails("x") });
        let mut ended = Vec::new();
        while let Some(task) = tasks.join_next().await {
            ended.push(task.map_err(|error| error.name));
        }
        ended.sort();
        assert_eq!(ended, [Ok(3), Err("broken")]);
    }

    #[tokio::test]
    async fn dropped_task_set_aborts_its_tasks_and_shutdown_waits_for_that() {
        struct Counts(Arc<AtomicU32>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let dropped = Arc::new(AtomicU32::new(0));
        let endless = |counts: Counts| async move {
            std::future::pending::<()>().await;
            drop(counts);
        };
        let mut tasks = TaskSet::default();
        tasks.spawn("endless", endless(Counts(dropped.clone())));
        tasks.shutdown().await;
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        tasks.spawn("endless", endless(Counts(dropped.clone())));
        drop(tasks);
        while dropped.load(Ordering::Relaxed) < 2 {
            yield_now().await;
        }
    }

    #[test]
    fn thread_has_its_name_and_runs_to_its_end() {
        let (say, heard) = std::sync::mpsc::channel();
        thread("by-itself", move || say.send(std::thread::current().name().map(str::to_owned)).unwrap()).unwrap();
        assert_eq!(heard.recv().unwrap().as_deref(), Some("by-itself"));
    }

    #[test]
    fn run_returns_what_the_main_future_does_and_leaves_blocking_work_behind() {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let answer = run(2, async move {
            drop(blocking("stuck", move || held.recv()));
            spawn("inner", async { 5 }).await
        });
        assert_eq!(answer.unwrap(), Ok(5));
        drop(hold);
    }
}
