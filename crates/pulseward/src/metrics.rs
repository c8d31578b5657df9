//! Metrics on a listener of their own, so that who may read them is a matter of who can connect.

use std::net::SocketAddr;

use api::{ApiState, gauge, metrics_text};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config::LimitOptions;
use crate::failure::Failure;
use crate::server::{Doorway, Patience, Server, resolve};

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

    /// Returns the metrics of a service.
    pub fn new((listener, address): (TcpListener, SocketAddr), state: ApiState, limits: &LimitOptions) -> Self {
        let router = Router::new().route("/metrics", get(async move || answer(&state).await));
        let patience = Patience::new(limits);
        // Plain HTTP with the same timers: those who may connect are chosen by the address.
        let doorway = Doorway::default();
        let server = Server { listener, router, certificate: None, is_https: false, doorway, patience };
        MetricsServer { address, server }
    }

    /// Serves until `stop` becomes true.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        self.server.run(stop).await;
    }
}

async fn answer(state: &ApiState) -> impl IntoResponse + use<> {
    let mut text = metrics_text(state).await;
    write_process(&mut text);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
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
        gauge(text, "process_resident_memory_bytes", "Memory of the process that is in use.", bytes);
    }
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        gauge(text, "process_open_fds", "Open files and connections.", entries.count() as u64);
    }
}
