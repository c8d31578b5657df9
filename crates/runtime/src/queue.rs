//! A thread that serves a queue of jobs.

use std::{fmt, io};

use tokio::sync::mpsc;

use crate::task::thread;

/// Starts a thread that calls `work` for each job, in the order of arrival, until the last [`Queue`] is dropped and
/// the queue is empty. `work` may take further jobs that wait already, to do several together. Callers wait for room
/// while `capacity` jobs wait. A panic of `work` ends the thread, and the queue is [`Closed`] from then on.
///
/// This takes the place of a thread that blocks on a channel, because a scheduler with one thread can call `work` in
/// place.
///
/// # Errors
/// When the system gives no thread.
///
/// # Panics
/// If `capacity` is zero.
pub fn serve<Job, Work>(name: &'static str, capacity: usize, mut work: Work) -> io::Result<Queue<Job>>
where
    Job: Send + 'static,
    Work: FnMut(Job, &mut Waiting<Job>) + Send + 'static,
{
    let (jobs, receiver) = mpsc::channel(capacity);
    let mut waiting = Waiting(receiver);
    thread(name, move || {
        #[expect(clippy::disallowed_methods, reason = "the place where a thread waits for jobs")]
        while let Some(job) = waiting.0.blocking_recv() {
            work(job, &mut waiting);
        }
    })?;
    Ok(Queue(jobs))
}

/// Jobs that wait for a thread started with [`serve`].
pub struct Waiting<Job>(mpsc::Receiver<Job>);

impl<Job> Waiting<Job> {
    /// Takes the next job if one waits already.
    pub fn take(&mut self) -> Option<Job> {
        self.0.try_recv().ok()
    }
}

/// Way to a thread started with [`serve`]. Clones share it.
pub struct Queue<Job>(mpsc::Sender<Job>);

impl<Job> Queue<Job> {
    /// Adds a job, once there is room for it. Cancelling the wait adds nothing.
    ///
    /// # Errors
    /// When the thread has ended.
    pub async fn add(&self, job: Job) -> Result<(), Closed> {
        self.0.send(job).await.map_err(|_| Closed)
    }

    /// Returns how many jobs wait, without callers that wait for room.
    pub fn waiting(&self) -> usize {
        // From the permits and not a counter of our own, which could drift from what really waits.
        self.0.max_capacity() - self.0.capacity()
    }
}

impl<Job> Clone for Queue<Job> {
    fn clone(&self) -> Self {
        Queue(self.0.clone())
    }
}

impl<Job> fmt::Debug for Queue<Job> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Queue")
    }
}

impl<Job> fmt::Debug for Waiting<Job> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Waiting")
    }
}

/// Error of a queue whose thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the thread of this queue has ended")
    }
}

impl std::error::Error for Closed {}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a thread is held up on purpose")]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    /// A number to be done, and where its group is reported.
    type Numbered = (u32, oneshot::Sender<Vec<u32>>);

    /// Does what waits together, as a writer of a database does. Each group ends when nothing waits.
    fn grouping() -> Queue<Numbered> {
        serve("grouping", 8, |first: Numbered, waiting| {
            let jobs: Vec<Numbered> = std::iter::once(first).chain(std::iter::from_fn(|| waiting.take())).collect();
            let group: Vec<u32> = jobs.iter().map(|(number, _)| *number).collect();
            for (_, reply) in jobs {
                let _ = reply.send(group.clone());
            }
        })
        .unwrap()
    }

    #[tokio::test]
    async fn jobs_are_done_in_order_and_none_is_lost() {
        let queue = grouping();
        let mut answers = Vec::new();
        for number in 0..100 {
            let (reply, answer) = oneshot::channel();
            queue.add((number, reply)).await.unwrap();
            answers.push(answer);
        }
        let mut groups = Vec::new();
        for answer in answers {
            groups.push(answer.await.unwrap());
        }
        groups.dedup();
        assert_eq!(groups.concat(), (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn full_queue_holds_callers_up_until_there_is_room() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (say, begun) = oneshot::channel();
        let mut say = Some(say);
        let queue = serve("slow", 1, move |(), _| {
            if let Some(say) = say.take() {
                say.send(()).unwrap();
            }
            wait.recv().unwrap();
        })
        .unwrap();
        queue.add(()).await.unwrap();
        begun.await.unwrap();
        queue.add(()).await.unwrap();
        let mut third = Box::pin(queue.add(()));
        assert!(futures::poll!(&mut third).is_pending());
        go.send(()).unwrap();
        assert_eq!(third.await, Ok(()));
        go.send(()).unwrap();
        go.send(()).unwrap();
    }

    #[tokio::test]
    async fn queue_is_closed_after_a_panic() {
        let queue = serve("breaks", 1, |_: oneshot::Sender<()>, _| panic!("broken")).unwrap();
        let (reply, answer) = oneshot::channel();
        queue.add(reply).await.unwrap();
        assert!(answer.await.is_err());
        queue.0.closed().await;
        assert_eq!(queue.add(oneshot::channel().0).await, Err(Closed));
    }

    #[tokio::test]
    async fn jobs_that_wait_are_done_after_the_last_queue_is_dropped() {
        let (say, mut heard) = mpsc::unbounded_channel();
        let queue = serve("ends", 4, move |number: u32, _| say.send(number).unwrap()).unwrap();
        for number in 0..4 {
            queue.clone().add(number).await.unwrap();
        }
        drop(queue);
        let mut done = Vec::new();
        while let Some(number) = heard.recv().await {
            done.push(number);
        }
        assert_eq!(done, [0, 1, 2, 3]);
    }
}
