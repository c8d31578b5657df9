//! Metrics on a listener of their own, so that who may read them is a matter of who can connect.

use std::net::SocketAddr;

use api::{ApiState, append_gauges, metrics_text};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config::LimitOptions;
use crate::disks::{Disk, Room};
use crate::failure::Failure;
use crate::server::{ConnectionLimits, HostRouter, Server, resolve};

/// Serves `/metrics`.
pub struct MetricsServer {
    /// Where it listens.
    pub address: SocketAddr,
    server: Server,
}

impl MetricsServer {
    /// Returns the socket that the option names; none when it names none.
    pub async fn bind(listen: Option<&str>) -> Result<Option<(TcpListener, SocketAddr)>, Failure> {
        let Some(listen) = listen else { return Ok(None) };
        let refused = |error| Failure::io(format!("listen on {listen}"), error);
        let listener = TcpListener::bind(&resolve(listen).await?[..]).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Some((listener, address)))
    }

    /// Returns the metrics of a service whose store lies on these disks.
    pub fn new(
        (listener, address): (TcpListener, SocketAddr),
        state: ApiState,
        disks: Vec<Disk>,
        limits: &LimitOptions,
    ) -> Self {
        let router = Router::new().route("/metrics", get(async move || answer(&state, &disks).await));
        let connection_limits = ConnectionLimits::new(limits);
        // Plain HTTP with the same timers: those who may connect are chosen by the address.
        let host_router = HostRouter::default();
        let server =
            Server { listener, router, certificate: None, is_https: false, host_router, limits: connection_limits };
        MetricsServer { address, server }
    }

    /// Serves until `stop` becomes true.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        self.server.run(stop).await;
    }
}

async fn answer(state: &ApiState, disks: &[Disk]) -> impl IntoResponse + use<> {
    let mut text = metrics_text(state).await;
    write_build(&mut text);
    write_disks(&mut text, disks);
    write_process(&mut text);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

/// Writes the version that runs, so that a dashboard can show when another one began.
fn write_build(text: &mut String) {
    let help = "Always 1; the label is the version of the program.";
    append_gauges(text, "pulseward_build_info", help, [([("version", env!("CARGO_PKG_VERSION"))], 1.0)]);
}

/// Room where the store lies. A disk that cannot be asked is left out: a 0 would look like one that is full.
fn write_disks(text: &mut String, disks: &[Disk]) {
    let room: Vec<_> = disks.iter().filter_map(|disk| Some((disk.holds, disk.room()?))).collect();
    let all = |value: fn(&Room) -> u64| room.iter().map(move |(holds, room)| ([("holds", *holds)], value(room) as f64));
    let help = "Bytes that the service can still write where its databases or objects lie.";
    append_gauges(text, "pulseward_disk_free_bytes", help, all(|room| room.free_bytes));
    let help = "Size of the disk on which databases or objects lie.";
    append_gauges(text, "pulseward_disk_size_bytes", help, all(|room| room.size_bytes));
}

/// What the system reports of this process, where it has `/proc`.
fn write_process(text: &mut String) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).and_then(|rest| {
        let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
        Some(kib * 1024)
    });
    // Left out elsewhere: a 0 would look like a measurement.
    if let Some(bytes) = resident {
        let help = "Memory of the process that is in use.";
        append_gauges(text, "process_resident_memory_bytes", help, [([], bytes as f64)]);
    }
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        append_gauges(text, "process_open_fds", "Open files and connections.", [([], entries.count() as f64)]);
    }
}
