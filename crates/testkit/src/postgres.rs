//! A throw-away PostgreSQL cluster: one for each test binary, a fresh database for each test.
//!
//! The server refuses to run as root, so root runs it as the user `postgres`, in a folder that this user owns. Nothing
//! runs when the last test of a binary has ended, so the server is watched by a shell that ends it as soon as the
//! pipe from the binary closes, whichever way the binary ends.

mod cluster;
mod failover;
mod log;
mod open_transaction;
mod own;
mod pooler;
mod proxy;
mod real_link;
mod silent;

pub use cluster::{Postgres, PostgresError};
pub use failover::FailoverProxy;
pub use log::{LogMark, Statement, count_transactions};
pub use open_transaction::OpenTransaction;
pub use own::OwnServer;
pub use pooler::Pooler;
pub use proxy::{CountingProxy, Traffic};
pub use real_link::RealLink;
pub use silent::SilentProxy;
