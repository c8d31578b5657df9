//! The runtime seam: everything in the service that waits, spawns, blocks, computes on other cores, asks the time or
//! draws randomness goes through this crate.
//!
//! Today each function is a thin layer over tokio and the standard library. The crate exists so that the same service
//! can run under another scheduler: a seeded one with a single thread and a clock of its own, which repeats a run
//! exactly. Three rules make that possible:
//!
//! - **Callers see types of this crate only**, never `JoinHandle`, `tokio::time::Instant` or `JoinSet`. A second
//!   implementation changes bodies here and no caller.
//! - **The runtime is ambient.** A function asks the runtime that the calling task runs on, as tokio's own functions
//!   do, so nothing has to be passed through and several simulated nodes can share a process.
//! - **Work never waits for work in a thread.** [`blocking`], [`compute`] and [`thread`] take functions that run to
//!   their end; a thread with a queue is [`serve`], which calls a function for each job. All of them can therefore run
//!   in place, one after the other.
//!
//! Wall clock and randomness are values ([`Clock`], [`Random`]) because operations of one process need different ones
//! in tests. Only the binary makes real ones.
//!
//! Channels, locks and semaphores of `tokio::sync` may be used directly: they know no runtime, and wake in the order
//! in which tasks began to wait. The methods of theirs that block a thread are forbidden. `clippy.toml` forbids the
//! rest of what this crate wraps, and a test of this crate reads the sources for what clippy cannot see.
//!
//! # `select!`
//!
//! `tokio::select!` polls its branches in a random order. Write `biased;` first, which polls them as they are written,
//! and decide what that means: a branch that is always ready starves those below it. Put the end of the task (a stop
//! signal) first, then what comes rarely, and what comes often last.
//!
//! # Hash maps
//!
//! [`HashMap`] and [`HashSet`] iterate in an order that differs between runs. Where the order of iteration reaches an
//! answer, a log or an order of statements, use a `BTreeMap`.
//!
//! # What is outside
//!
//! Libraries keep timers, tasks and randomness of their own. A simulator replaces these drivers as a whole and must
//! not rely on their time-outs:
//!
//! | Library | What it does by itself | Why it stays outside |
//! |---|---|---|
//! | hyper | time-outs of heads and keep-alive, tasks of HTTP/2 | **inside**: `pulseward::server` hands it a timer and an executor over this crate |
//! | axum | comments that keep a stream of events alive | it takes no timer; simulated requests skip the listener |
//! | tokio | sockets, signals, files | the edge of the process; simulated requests call the router, simulated stores replace drivers |
//! | `object_store` | retries with random waits, time-outs of requests, tasks for files that block | it takes no timer; a simulated store is another `ObjectStore` |
//! | rusqlite | waits for another process's lock (`busy_timeout`), sleeps inside SQLite | one process owns the file in a simulation, so nothing waits |
//! | tokio-postgres, deadpool, tokio-util | threads that drive connections, a task for each; time-outs of connecting and of waiting for a connection | only the real network needs them; a simulated store is SQLite, whose operations run in place |
//! | reqwest | time-outs and a pool of connections | only commands that are clients of a service use it |
//! | `opentelemetry_sdk` (feature `otlp`) | a thread that batches spans every five seconds, randomness for their ids | nothing of the service waits for it but its end; simulated runs send no traces |
//! | rustls, aws-lc-rs, tempfile | randomness for handshakes and names of temporary files | no stored or sent value of the service depends on it |

mod compute;
mod hash;
mod left;
mod queue;
mod task;
mod time;
mod values;

pub use compute::compute;
pub use hash::{HashMap, HashSet, Hashing};
pub use left::{Leave, Left};
pub use queue::{Closed, Queue, Waiting, serve};
pub use task::{Task, TaskError, TaskSet, blocking, run, spawn, thread, yield_now};
pub use time::{Elapsed, Instant, Interval, Sleep, interval, sleep, sleep_until, timeout};
pub use values::{Clock, Random};
