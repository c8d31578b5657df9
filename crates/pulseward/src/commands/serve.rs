//! `pulseward serve`: the service.

use std::net::SocketAddr;

use api::{ApiState, Limits, Part};
use axum::Router;
use clap::{ArgMatches, Args};
use platform::Platform;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config::{self, LimitOptions, LogFormat, LogOptions, NodeRole, ServeOptions, StoreOptions};
use crate::disks::Disk;
use crate::failure::Failure;
use crate::metrics::MetricsServer;
use crate::server::{Certificate, ConnectionLimits, HostRouter, PublicUrls, Server, check_exposure, resolve};
use crate::traces::Traces;
use crate::wiring::{HeldFolder, HeldName};
use crate::{logging, wiring, worker};

/// Serve all clouds on one address
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    service: ServeOptions,
    #[command(flatten)]
    log: LogOptions,
}

impl Serve {
    /// Serves until SIGTERM or SIGINT, then drains.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let options = config::complete(self.service, matches, file.as_deref())?;
        let log = config::complete(self.log, matches, file.as_deref())?;
        // Before the log, which hands its spans to it.
        let traces = Traces::start(options.otlp_url.as_deref())?;
        logging::start_with(&log, traces.layer())?;
        let addresses = resolve(&options.listen).await?;
        check_exposure(&addresses, &options)?;
        // Read before the store is opened: a mistake here must not have made a data folder.
        let certificate = Certificate::from_options(&options)?;
        // Before the stores as well: a second service on one port ends without having touched the data of the first.
        let listener = TcpListener::bind(&addresses[..]).await;
        let listener = listener.map_err(|error| Failure::io(format!("listen on {}", options.listen), error))?;
        let service = Service::open(&store, &options, listener, certificate).await?;
        // Installed before the line that says that the service is ready: anyone who reads it may send a signal at once.
        let stop = stop_on_signal()?;
        if let Some(address) = service.metrics_address() {
            eprintln!("metrics on http://{address}/metrics");
        }
        // The address that is bound and not the one that was asked for: port 0 has become a real one.
        eprintln!("listening on {}", service.url);
        // That line is for programs that start the service, in both formats. A log of objects is to have it as well.
        if log.log_format == LogFormat::Json {
            tracing::info!(address = service.url, "listening");
        }
        let ended = service.run(stop).await;
        // After the last request, whose spans are still to be sent.
        traces.end().await;
        ended
    }
}

/// An opened service, about to serve.
pub struct Service {
    /// The operations, for what the command itself wants done.
    pub platform: Platform,
    /// The address that is listened on, such as `http://127.0.0.1:8080`.
    pub url: String,
    server: Server,
    metrics: Option<MetricsServer>,
    /// The name to work under in the background, where the node does.
    works_as: Option<HeldName>,
    listen_db_url: Option<String>,
    /// Until the stores are closed, nobody else serves from the data folder.
    _folder: Option<HeldFolder>,
}

impl Service {
    /// Opens the stores and puts the routes together. Connections wait in the listener until the service runs.
    pub async fn open(
        store: &StoreOptions,
        options: &ServeOptions,
        listener: TcpListener,
        certificate: Option<Certificate>,
    ) -> Result<Self, Failure> {
        let limits = limits(&options.limits)?;
        let host_router = HostRouter::new(options)?;
        let metrics_listener = MetricsServer::bind(options.metrics_listen.as_deref()).await?;
        let local = listener.local_addr().map_err(|error| Failure::io("listen", error))?;
        let urls = PublicUrls::new(options, local)?;
        // Also of a certificate under a public address that is not encrypted, as in a try.
        let is_https = certificate.is_some() || urls.are_https();
        let settings = wiring::settings(options, urls, wiring::object_copies(options.object_copies.as_deref(), store)?);
        // Before the stores: a second service would take the first one's work for that of a process that has died.
        let folder = wiring::hold_folder(store)?;
        let platform = wiring::open(store, settings).await?;
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let state = ApiState::new(platform.clone(), limits);
        let disks = Disk::of_store(store, platform.upkeep.object_folder());
        let metrics =
            metrics_listener.map(|listener| MetricsServer::new(listener, state.clone(), disks, &options.limits));
        let router = with_pages(api::router_of(state, &parts(&options.roles)), &options.roles);
        let connection_limits = ConnectionLimits::new(&options.limits);
        let server = Server { listener, router, certificate, is_https, host_router, limits: connection_limits };
        let listen_db_url = options.listen_db_url.clone();
        // With a store of files it would be ignored silently, and nodes would wait for wake-ups that never come.
        if listen_db_url.is_some() && store.health_db.is_none() {
            return Err(Failure::Usage("--listen-db-url needs --health-db on the same server".to_owned()));
        }
        let works = options.roles.contains(&NodeRole::Worker);
        // The lock is taken before the service says that it is ready, so that two nodes of one name cannot both
        // start.
        let works_as = if works { Some(wiring::take_name(store)?) } else { None };
        let url = format!("{scheme}://{local}");
        Ok(Service { platform, url, server, metrics, works_as, listen_db_url, _folder: folder })
    }

    /// Returns where metrics are served, if they are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// Serves and works in the background until `stop` becomes true; returns when all is quiet.
    ///
    /// # Errors
    /// [`Failure::LogLeft`] when another process keeps the files of the databases from holding everything.
    pub async fn run(self, stop: watch::Receiver<bool>) -> Result<(), Failure> {
        let background = worker::start(&self.platform, self.works_as, self.listen_db_url, &stop);
        let metrics = self.metrics.map(|metrics| runtime::spawn("metrics", metrics.run(stop.clone())));
        // Streams of events never end by themselves, and would hold the end up.
        let (platform, mut stopped) = (self.platform.clone(), stop.clone());
        let closing = runtime::spawn("close boards", async move {
            let _ = stopped.wait_for(|stop| *stop).await;
            platform.data.end_listening();
        });
        // In this order: first no request needs the stores any more, then no job, and only then are they closed.
        self.server.run(stop).await;
        worker::end(background).await;
        closing.abort();
        if let Some(metrics) = metrics {
            metrics.abort();
        }
        wiring::close_last(&self.platform).await
    }
}

fn limits(options: &LimitOptions) -> Result<Limits, Failure> {
    let bytes = |mib: u32| mib as usize * (1 << 20);
    let limits = Limits {
        sync_bytes: bytes(options.sync_mib.into()),
        sync_expanded_bytes: bytes(options.sync_expanded_mib.into()),
        requests_per_minute: options.rate_limit.0,
        requests_at_once: options.requests_at_once as usize,
        upload_memory_bytes: bytes(options.upload_memory_mib),
    };
    // Such an upload would be refused with "try again later" for ever.
    if limits.upload_memory_bytes < limits.largest_upload_bytes() {
        let needed = limits.largest_upload_bytes() >> 20;
        let message = format!("--upload-memory-mib must be at least {needed}, or a largest upload would never fit");
        return Err(Failure::Usage(message));
    }
    Ok(limits)
}

/// Returns the routes with the pages of the portal around them, where a node serves them and they were built in.
fn with_pages(router: Router, roles: &[NodeRole]) -> Router {
    #[cfg(feature = "portal")]
    if roles.contains(&NodeRole::Portal) {
        return portal::around(router);
    }
    let _ = roles;
    router
}

/// Returns the clouds that a node serves.
fn parts(roles: &[NodeRole]) -> Vec<Part> {
    let part = |role: &NodeRole| match role {
        NodeRole::Integration => Some(Part::Integration),
        NodeRole::Users => Some(Part::Users),
        NodeRole::Health => Some(Part::Health),
        NodeRole::Portal => Some(Part::Portal),
        NodeRole::Worker => None,
    };
    let served: Vec<Part> = roles.iter().filter_map(part).collect();
    // A role that is named twice is served once.
    Part::ALL.into_iter().filter(|part| served.contains(part)).collect()
}

/// Becomes true with the first SIGTERM or SIGINT. A second one ends the process at once.
pub fn stop_on_signal() -> Result<watch::Receiver<bool>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let no_signals = |error| Failure::io("wait for signals", error);
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let (say_stop, stop) = watch::channel(false);
    runtime::spawn("signals", async move {
        tokio::select! { biased; _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        // Nobody listens any more when the work has ended by itself.
        let _ = say_stop.send(true);
        tokio::select! { biased; _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        // Somebody who asks twice does not want to wait for the draining.
        std::process::exit(1);
    });
    Ok(stop)
}
