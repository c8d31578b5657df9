//! A fleet of simulated bracelets that speaks to a service over HTTP, as the real ones would.
//!
//! It enrols its patients as people are enrolled (voucher, activation, login), sends their past day by day, and then
//! their present minute by minute, or as much as a service can take. Every sync carries an identifier that follows from
//! its content, so a sync whose answer got lost is sent again without harm.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

mod client;
mod config;
mod delivery;
mod driver;
mod late;
mod live;
mod load;
mod progress;
mod run;
mod session;
mod tally;
mod truth_file;

pub use config::{Clock, FleetConfig, HistoryOrder, Live, LoadPlan};
pub use driver::Fleet;
pub use progress::{Progress, Silent};
pub use session::Session;
pub use tally::{FleetResult, Stopped};
