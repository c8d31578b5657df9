//! The service's speed, end to end over HTTP, with the data on disk and every answer durable.
//!
//! `cargo bench -p pulseward --bench spine [-- SCENARIO…]` runs all scenarios or the named ones and prints a line each.
//! `PULSEWARD_BENCH_BINARY` names another program to measure, such as that of the version before.
//! What each measures, and the figures reached, are in docs/benchmarks.md.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

mod client;
mod ingest;
mod keys;
mod load;
mod reading;
mod server;

use server::Server;

/// A part of the benchmark: its name, what it does with a server of its own, and further options of that.
type Scenario = (&'static str, fn(&Server), &'static [&'static str]);

/// A node that stores and answers and leaves derivations to others.
const WITHOUT_WORKER: &[&str] = &["--roles", "integration,users,health"];

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let scenarios: [Scenario; 10] = [
        ("rows", ingest::rows, &[]),
        ("day", ingest::day, &[]),
        ("waveforms", ingest::waveforms, &[]),
        ("waveforms-stored", ingest::waveforms, WITHOUT_WORKER),
        ("burst", load::burst, &[]),
        ("sustained", load::sustained, &[]),
        ("live", load::live, &[]),
        ("keys", keys::keys, &[]),
        ("list", reading::patient_list, &[]),
        ("summaries", reading::summaries, &[]),
    ];
    for (name, scenario, options) in scenarios {
        if !named.is_empty() && !named.iter().any(|wanted| wanted == name) {
            continue;
        }
        let server = Server::start(options);
        let (at_rest, _) = server.memory_mib();
        println!("== {name} (resident at rest {at_rest} MiB)");
        scenario(&server);
        println!("  resident at worst {} MiB, CPU {:.1} s", server.memory_mib().1, server.cpu_s());
    }
}
