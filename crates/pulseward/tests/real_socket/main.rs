//! The built program on a real socket: started, spoken to over HTTP, administered while it runs, and ended by signals.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

mod administration;
mod backups;
mod bad_input;
mod bombs;
mod certificates;
mod clients;
mod compressed_answers;
mod configuration;
mod damaged_files;
mod database_files;
mod database_restart;
mod documented;
mod entrances;
mod erasure;
mod exports;
mod formats;
mod forms;
mod guides;
mod harness;
mod held_rows;
mod identity;
mod journey;
mod keeping;
mod kill;
mod lake;
mod master_keys;
mod meanwhile;
mod monitoring;
mod moving_on;
mod no_store;
mod numbers;
mod odd_input;
mod one_store;
mod operator_limits;
mod others_go_on;
mod portal;
mod proxies;
mod real_input;
mod recompute;
mod recordings;
mod refused_uploads;
mod refused_work;
mod reports;
mod sealed_day;
mod secrets;
mod silent_database;
mod start_and_end;
mod systemd_unit;
mod takeover;
mod took;
mod two_nodes;
mod unreachable;
mod wrong_usage;
