//! TLS without a proxy: a certificate chain and its key from PEM files, HTTP/2 and HTTP/1.1 by ALPN.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::protocol::Protocol;
use crate::config::ServeOptions;
use crate::failure::Failure;

const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// A certificate and its key, ready to serve with. Clones share them.
#[derive(Clone)]
pub struct Certificate {
    acceptor: TlsAcceptor,
}

impl Certificate {
    /// Returns the certificate that the options name, none when they name none.
    pub fn from_options(options: &ServeOptions) -> Result<Option<Self>, Failure> {
        match (&options.tls_cert, &options.tls_key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Self::from_files(certificate, key).map(Some),
            // From a file one of them can come alone; `clap` only sees the command line.
            _ => Err(Failure::Usage("--tls-cert and --tls-key go together".to_owned())),
        }
    }

    fn from_files(certificate: &Path, key: &Path) -> Result<Self, Failure> {
        let unreadable =
            |path: &Path, error: &dyn std::fmt::Display| Failure::Other(format!("{}: {error}", path.display()));
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain = chain.map_err(|error| unreadable(certificate, &error))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
        let mut config = config.map_err(|error| unreadable(certificate, &error))?;
        // Without a name in common, clients of HTTP/2 would have to guess.
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        Ok(Certificate { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Shakes hands with a client.
    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<(TlsStream<TcpStream>, Protocol)> {
        let stream = self.acceptor.accept(stream).await?;
        let protocol =
            if stream.get_ref().1.alpn_protocol() == Some(HTTP2) { Protocol::Http2 } else { Protocol::Http1 };
        Ok((stream, protocol))
    }
}
