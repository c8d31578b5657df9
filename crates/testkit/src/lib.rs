//! What the tests share: throw-away databases and the folder of recorded data.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a client of the service, outside the runtime seam"
)]

mod postgres;
mod recordings;
mod rounds;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "s3")]
mod seaweed;
mod skip;

pub use postgres::{
    CountingProxy, FailoverProxy, LogMark, OpenTransaction, OwnServer, Pooler, Postgres, PostgresError, RealLink,
    SilentProxy, Statement, Traffic, count_transactions,
};
pub use recordings::real_data;
pub use rounds::{ROUNDS_VARIABLE, Rounds, SEED_VARIABLE};
#[cfg(feature = "s3")]
pub use s3::{S3_ACCESS_KEY, S3_BUCKET, S3_SECRET_KEY, S3Server};
#[cfg(feature = "s3")]
pub use seaweed::Seaweed;
pub use skip::skip;
