//! Address that a request comes from.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::Extensions;
use axum::http::request::Parts;

/// Address that a request comes from. The listener sets it; requests without it are counted as those of one client.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub Option<IpAddr>);

impl ClientAddress {
    /// Returns the address as a string, by which attempts are counted and logged.
    pub fn text(self) -> String {
        self.0.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }
}

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(client_address(&parts.extensions))
    }
}

/// Returns the address of a request with these extensions.
pub(crate) fn client_address(extensions: &Extensions) -> ClientAddress {
    // The node has looked through its trusted proxies; the peer of the connection may be one of them.
    if let Some(address) = extensions.get::<ClientAddress>() {
        return *address;
    }
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    ClientAddress(peer.map(|ConnectInfo(peer)| peer.ip()))
}
