//! The listener: accepts connections, cuts slow clients off, drains when told to stop.

mod address;
#[cfg(test)]
mod tests;
mod tls;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;
use tower_http::timeout::RequestBodyTimeoutLayer;

pub use address::{PublicUrl, check_exposure, resolve};
pub use tls::Certificate;

/// How long a client may take for the head of a request, a TLS handshake, or the next request on a connection.
const HEADER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may send no byte of a body.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// How long requests that are under way may take to end once the service is told to stop.
const DRAIN: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more room for connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a listener serves.
pub struct Server {
    /// The bound socket.
    pub listener: TcpListener,
    /// The routes.
    pub router: Router,
    /// The certificate, when the service itself speaks TLS.
    pub certificate: Option<Certificate>,
}

impl Server {
    /// Serves until `stop` becomes true, then takes no more connections, and returns when the last request has been
    /// answered or the time for draining has run out.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let router = self.router.layer(RequestBodyTimeoutLayer::new(BODY_PATIENCE));
        let draining = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let connection = Connection { router: router.clone(), peer, watcher: draining.watcher() };
            tokio::spawn(connection.open(stream, self.certificate.clone()));
        }
        drop(self.listener);
        if tokio::time::timeout(DRAIN, draining.shutdown()).await.is_err() {
            tracing::warn!("requests were still under way when the time for draining ran out");
        }
    }
}

/// One client's connection.
struct Connection {
    router: Router,
    peer: SocketAddr,
    watcher: Watcher,
}

impl Connection {
    async fn open(self, stream: TcpStream, certificate: Option<Certificate>) {
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let Some(certificate) = certificate else { return self.serve(stream, Protocol::Http1).await };
        match tokio::time::timeout(HEADER_PATIENCE, certificate.accept(stream)).await {
            Ok(Ok((stream, protocol))) => self.serve(stream, protocol).await,
            Ok(Err(error)) => tracing::debug!(%error, "no TLS with a client"),
            Err(_) => tracing::debug!("a client took too long for the TLS handshake"),
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, protocol: Protocol) {
        let (router, peer) = (self.router, self.peer);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().oneshot(request)
        });
        let builder = builder(protocol);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// What a connection speaks. It is settled before the first byte, because a server that waits for bytes to find out
/// waits without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

fn builder(protocol: Protocol) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(HEADER_PATIENCE);
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    }
}
