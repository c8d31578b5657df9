//! The listener: accepts connections, cuts slow clients off, drains when asked to stop.

mod address;
mod answering;
mod crowd;
mod host_router;
mod hyper_runtime;
mod paced;
mod protocol;
mod proxies;
mod stalled;
#[cfg(test)]
mod tests;
mod tls;
mod unread;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::{ClientAddress, ProvenCaller};
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::STRICT_TRANSPORT_SECURITY;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tower::ServiceExt;

pub use address::{PublicUrls, check_exposure, resolve};
pub use host_router::HostRouter;
pub use tls::Certificate;

use self::protocol::Protocol;
use crate::config::LimitOptions;
use answering::Answering;
use crowd::{Crowd, Member};
use hyper_runtime::{Executor, Timer};
use paced::Paced;
use stalled::GivesUpWhenStalled;
use unread::{ReadToTheEnd, Unread};

/// Time that requests that are under way may take to end once the service is asked to stop.
const DRAIN: Duration = Duration::from_secs(30);
/// Time to wait when the system has no more room for connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A year, for this name alone: names below it may be served by others.
const STAY_ENCRYPTED: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// How long clients may take, and how much of them there may be.
#[derive(Clone, Copy)]
pub struct ConnectionLimits {
    /// For the head of a request, a TLS handshake, or the next request on a connection.
    pub header: Duration,
    /// For a small body, in which a larger one has to keep its least rate, and without a byte of an answer taken.
    pub body: Duration,
    /// The largest head of a request, bytes.
    pub header_bytes: usize,
    /// Connections at the same time.
    pub connections: usize,
}

impl ConnectionLimits {
    /// Returns what the options say.
    pub fn new(options: &LimitOptions) -> Self {
        ConnectionLimits {
            header: Duration::from_secs(options.header_seconds.into()),
            body: Duration::from_secs(options.body_seconds.into()),
            header_bytes: usize::from(options.header_kib) << 10,
            connections: options.connections_at_once as usize,
        }
    }
}

/// What a listener serves.
pub struct Server {
    /// The bound socket.
    pub listener: TcpListener,
    /// The routes.
    pub router: Router,
    /// The certificate, when the service itself speaks TLS.
    pub certificate: Option<Certificate>,
    /// Whether clients use an `https` address. Every answer then asks browsers to use no other (RFC 6797).
    pub is_https: bool,
    /// Who comes in, and to which cloud.
    pub host_router: HostRouter,
    /// Time that clients may take.
    pub limits: ConnectionLimits,
}

impl Server {
    /// Serves until `stop` becomes true, then takes no more connections, and returns when the last request has been
    /// answered or the time for draining has run out.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let router = self.router;
        let crowd = Crowd::new(self.limits.connections);
        let host_router = Arc::new(self.host_router);
        let unread = Unread::new();
        // The semaphore panics above its largest number.
        let places = Arc::new(Semaphore::new(self.limits.connections.min(Semaphore::MAX_PERMITS)));
        let draining = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                // The end first: connections that keep coming must not put it off.
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // Mostly too many open files. Trying again at once would take a core until some are closed.
                    runtime::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let place = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                place = place_of(&crowd, &places) => place,
            };
            // Behind a proxy that is trusted all clients have one address, and their connections are the proxy's to share out.
            let member = if host_router.is_proxy(peer.ip()) { None } else { Some(crowd.enter(peer.ip())) };
            if matches!(member, Some(None)) {
                // Closed and not kept waiting: it would hold a place for its wait.
                tracing::debug!("an address has too many connections without a credential");
                continue;
            }
            let (member, closed) = member.flatten().unzip();
            let connection = Connection {
                router: router.clone(),
                host_router: host_router.clone(),
                unread: unread.clone(),
                is_https: self.is_https,
                limits: self.limits,
                peer: peer.ip(),
                watcher: draining.watcher(),
                member,
                _place: place,
            };
            let serving = connection.open(stream, self.certificate.clone());
            runtime::spawn("connection", until_closed(serving, closed));
        }
        // Before the draining: new clients are refused at once and go to another node.
        drop(self.listener);
        if runtime::timeout(DRAIN, draining.shutdown()).await.is_err() {
            tracing::warn!("requests were still under way when the time for draining ran out");
        }
    }
}

/// Returns a place for a connection, for which another is closed where there is none; waits for one where all work.
/// Further connections wait in the system's queue meanwhile, where they cost nothing.
async fn place_of(crowd: &Crowd, places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = places.clone().try_acquire_owned() {
        return Some(place);
    }
    crowd.close_one();
    // Nobody closes the semaphore.
    places.clone().acquire_owned().await.ok()
}

/// Serves a connection until its end, or until it is closed for another.
async fn until_closed(serving: impl Future<Output = ()>, closed: Option<oneshot::Receiver<()>>) {
    let closed = async {
        match closed {
            Some(closed) => closed.await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        Ok(()) = closed => tracing::debug!("a connection was closed for another"),
        () = serving => {}
    }
}

/// One client's connection.
struct Connection {
    router: Router,
    host_router: Arc<HostRouter>,
    unread: Unread,
    is_https: bool,
    limits: ConnectionLimits,
    peer: IpAddr,
    watcher: Watcher,
    /// None of a trusted proxy.
    member: Option<Member>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    async fn open(self, stream: TcpStream, certificate: Option<Certificate>) {
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let Some(certificate) = certificate else { return self.serve(stream, Protocol::Http1).await };
        // A client that says nothing would hold its place for good, before any timer of HTTP runs.
        match runtime::timeout(self.limits.header, certificate.accept(stream)).await {
            Ok(Ok((stream, protocol))) => self.serve(stream, protocol).await,
            // Scanners do this all day; louder it would bury what an operator has to see.
            Ok(Err(error)) => tracing::debug!(%error, "no TLS with a client"),
            Err(_) => tracing::debug!("a client took too long for the TLS handshake"),
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, protocol: Protocol) {
        let Connection { router, host_router, unread, is_https, peer, limits, member, .. } = self;
        let member = Arc::new(member);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let entered = host_router.enter(peer, &mut request);
            // Behind a proxy that is trusted its clients have shares of their own, as they have everywhere.
            let client = request.extensions().get::<ClientAddress>().and_then(|client| client.0).unwrap_or(peer);
            let request = ReadToTheEnd::of(request, limits.body, (&unread, client));
            let request = request.map(|body| Paced::new(body, limits.body));
            let (router, member) = (router.clone(), member.clone());
            async move {
                let member = member.as_ref().as_ref();
                let under_way = member.map(Member::begin_request);
                let mut answer = match entered {
                    Ok(()) => router.oneshot(request).await,
                    // Answered and not cut off, so that a client with a broken Host header learns what is wrong.
                    Err(refusal) => Ok(refusal),
                };
                if let (true, Ok(answer)) = (is_https, &mut answer) {
                    stay_encrypted(answer);
                }
                let proven = answer.as_ref().ok().and_then(|answer| answer.extensions().get::<ProvenCaller>());
                if let Some((member, ProvenCaller { owner })) = member.zip(proven) {
                    member.note_owner(*owner);
                }
                answer.map(|answer| answer.map(|body| Answering::new(body, under_way)))
            }
        });
        // Bodies that come have a timer of their own; this one is for answers that nobody takes.
        let builder = builder(protocol, limits);
        let stream = GivesUpWhenStalled::new(stream, limits.body);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

fn stay_encrypted(answer: &mut Response) {
    answer.headers_mut().insert(STRICT_TRANSPORT_SECURITY, STAY_ENCRYPTED);
}

fn builder(protocol: Protocol, limits: ConnectionLimits) -> auto::Builder<Executor> {
    let mut builder = auto::Builder::new(Executor);
    let http1 = &mut builder.http1();
    http1.timer(Timer).header_read_timeout(limits.header).max_buf_size(limits.header_bytes);
    // HTTP/2 counts heads in 32 bits.
    let largest_head = u32::try_from(limits.header_bytes).unwrap_or(u32::MAX);
    let http2 = &mut builder.http2();
    // HTTP/2 has no time for a head. Pings find clients that are gone without a word.
    http2.timer(Timer).keep_alive_interval(limits.header).max_header_list_size(largest_head);
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    }
}
