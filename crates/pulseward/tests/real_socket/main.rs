//! The built program on a real socket: started, spoken to over HTTP, administered beside it, and ended by signals.

mod administration;
mod harness;
mod journey;
mod kill;
mod start_and_end;
