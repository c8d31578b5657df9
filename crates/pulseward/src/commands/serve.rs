//! `pulseward serve`: the service.

use api::{ApiState, Limits};
use clap::{ArgMatches, Args};
use platform::Platform;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config::{self, LogOptions, ServeOptions, StoreOptions};
use crate::failure::Failure;
use crate::server::{Certificate, PublicUrl, Server, check_exposure, resolve};
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
        logging::start(&log)?;
        let addresses = resolve(&options.listen).await?;
        check_exposure(&addresses, &options)?;
        let certificate = Certificate::from_options(&options)?;
        let listener = TcpListener::bind(&addresses[..]).await;
        let listener = listener.map_err(|error| Failure::io(format!("listen on {}", options.listen), error))?;
        let service = Service::open(&store, &options, listener, certificate).await?;
        // Installed before the line that says that the service is ready: whoever reads it may send a signal at once.
        let stop = stop_on_signal()?;
        eprintln!("listening on {}", service.url);
        service.run(stop).await;
        Ok(())
    }
}

/// An opened service, about to serve.
pub struct Service {
    /// The operations, for what the command itself wants done.
    pub platform: Platform,
    /// The address that is listened on, such as `http://127.0.0.1:8080`.
    pub url: String,
    server: Server,
}

impl Service {
    /// Opens the stores and puts the routes together. Connections wait in the listener until the service runs.
    pub async fn open(
        store: &StoreOptions,
        options: &ServeOptions,
        listener: TcpListener,
        certificate: Option<Certificate>,
    ) -> Result<Self, Failure> {
        let local = listener.local_addr().map_err(|error| Failure::io("listen", error))?;
        let public_url = PublicUrl::new(options, local)?;
        let platform = wiring::open(store, wiring::settings(options, &public_url.0)).await?;
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let router = api::router(ApiState { platform: platform.clone(), limits: limits(options) });
        let server = Server { listener, router, certificate };
        Ok(Service { platform, url: format!("{scheme}://{local}"), server })
    }

    /// Serves and works in the background until `stop` becomes true; returns when all is quiet.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let background = worker::start(&self.platform, &stop);
        self.server.run(stop).await;
        worker::end(background).await;
    }
}

fn limits(options: &ServeOptions) -> Limits {
    let bytes = |mib: u16| usize::from(mib) << 20;
    Limits { sync_bytes: bytes(options.sync_mib), sync_expanded_bytes: bytes(options.sync_expanded_mib) }
}

/// Becomes true with the first SIGTERM or SIGINT. A second one ends the process at once.
pub fn stop_on_signal() -> Result<watch::Receiver<bool>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let no_signals = |error| Failure::io("wait for signals", error);
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let (say_stop, stop) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        // Nobody listens any more when the work has ended by itself.
        let _ = say_stop.send(true);
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        std::process::exit(1);
    });
    Ok(stop)
}
