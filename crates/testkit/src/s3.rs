//! A server that speaks S3, on a folder of its own, on a free port of this machine.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;

/// Identity that the server knows.
pub const S3_ACCESS_KEY: &str = "tester";
/// Its secret.
pub const S3_SECRET_KEY: &str = "a secret of the tests";
/// The bucket that is there.
pub const S3_BUCKET: &str = "study";

/// A running server. It ends with the process.
pub struct S3Server {
    /// Its address.
    pub url: String,
    folder: tempfile::TempDir,
    away: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
}

impl std::fmt::Debug for S3Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("S3Server").field("url", &self.url).finish_non_exhaustive()
    }
}

impl S3Server {
    /// Starts a server with an empty bucket, on threads of its own.
    ///
    /// # Panics
    /// When it cannot be started: there is nothing to test then.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(S3_BUCKET)).expect("a bucket");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (away, silent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (root, gates) = (folder.path().to_owned(), [away.clone(), silent.clone()]);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("threads").block_on(serve(listener, root, gates));
        });
        S3Server { url, folder, away, silent }
    }

    /// Returns the folder behind the bucket.
    #[must_use]
    pub fn bucket_folder(&self) -> PathBuf {
        self.folder.path().join(S3_BUCKET)
    }

    /// Lets every request be answered 503, or no longer.
    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Lets no request be answered that comes from now on, or answers those that come again.
    pub fn set_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::SeqCst);
    }
}

async fn serve(listener: std::net::TcpListener, root: PathBuf, [away, silent]: [Arc<AtomicBool>; 2]) {
    let files = s3s_fs::FileSystem::new(root).expect("a folder");
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(S3_ACCESS_KEY, S3_SECRET_KEY));
    let service = builder.build();
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    let http = Builder::new(TokioExecutor::new());
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let service = Gate { inner: service.clone(), away: away.clone(), silent: silent.clone() };
        let connection = http.serve_connection(TokioIo::new(stream), service).into_owned();
        tokio::spawn(async move {
            // A client that goes away is no matter of the tests.
            let _ = connection.await;
        });
    }
}

/// Answers 503 while the server is to be away, and nothing while it is to be silent.
#[derive(Clone)]
struct Gate {
    inner: s3s::service::S3Service,
    away: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
}

impl hyper::service::Service<hyper::Request<hyper::body::Incoming>> for Gate {
    type Response = s3s::HttpResponse;
    type Error = s3s::HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, request: hyper::Request<hyper::body::Incoming>) -> Self::Future {
        if self.silent.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        if self.away.load(Ordering::SeqCst) {
            let mut answer = s3s::HttpResponse::new(s3s::Body::empty());
            *answer.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
            return Box::pin(std::future::ready(Ok(answer)));
        }
        hyper::service::Service::call(&self.inner, request)
    }
}
