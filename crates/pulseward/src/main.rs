//! The `pulseward` program: reads its command line and configuration, opens the stores, runs the command.
//!
//! This crate is the only one that reads the wall clock, the environment and the operating system's randomness;
//! everything below takes them as parameters.

mod cli;
mod commands;
mod config;
mod disks;
mod failure;
mod logging;
mod metrics;
mod output;
mod panics;
mod progress;
mod server;
mod service;
mod traces;
mod values;
mod wiring;
mod worker;

use std::process::ExitCode;

// The system's allocator gives memory back late and slowly when many threads take and return blocks of many sizes,
// which is what decoding syncs does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    panics::say_where();
    // Before anything connects: a TLS client that is built before a provider is chosen panics. An error means that one is chosen.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    // Before anything is written: databases, journals, objects and archives hold what nobody else on the machine may read,
    // also when the folder that they are made in was there before.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let ended = match cli::run() {
        Ok(()) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    eprintln!("error: {ended}");
    ExitCode::from(ended.exit_status())
}
