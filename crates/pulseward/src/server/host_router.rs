//! What is settled about a request before any route sees it: who sends it, and which cloud it is for.

use std::net::IpAddr;

use api::{ClientAddress, Hosts, Part, UnclearHost, UnknownCoding};
use axum::http::Version;
use axum::http::header::HOST;
use axum::response::{IntoResponse, Response};

use super::proxies::TrustedProxies;
use crate::config::ServeOptions;
use crate::failure::Failure;

/// Names of the clouds, and the proxies that are believed.
#[derive(Default)]
pub struct HostRouter {
    hosts: Hosts,
    proxies: TrustedProxies,
}

impl HostRouter {
    /// Returns what the options say.
    pub fn new(options: &ServeOptions) -> Result<Self, Failure> {
        let mut hosts = Hosts::default();
        let clouds = [
            (&options.hosts_integration, Part::Integration),
            (&options.hosts_users, Part::Users),
            (&options.hosts_health, Part::Health),
        ];
        for (names, part) in clouds {
            for name in names {
                // At the start and not at the first request: a name with a port would never match, and nobody would
                // know why.
                if !is_host_name(name) {
                    return Err(Failure::Usage(format!("`{name}` is not a host name such as api.study.example")));
                }
                // The same path means different things on each cloud, so one name cannot be two.
                if !hosts.add(name, part) {
                    return Err(Failure::Usage(format!("the host name {name} is given to two clouds")));
                }
            }
        }
        Ok(HostRouter { hosts, proxies: TrustedProxies::new(&options.trusted_proxies)? })
    }

    /// Returns whether connections from an address are those of a trusted proxy.
    pub fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxies.trusts(peer.to_canonical())
    }

    /// Notes the client's address and finds the cloud. `Err` holds the refusal, also of a request of HTTP/1.1 that does not
    /// say which host it is for (RFC 9112, 3.2), and of one whose body cannot be distinguished from what follows it.
    #[expect(clippy::result_large_err, reason = "the refusal goes out as it is")]
    pub fn enter<B>(&self, peer: IpAddr, request: &mut hyper::Request<B>) -> Result<(), Response> {
        // Set whatever the request says, so that no header can pretend to have set it.
        let client = self.proxies.client(peer, request.headers());
        request.extensions_mut().insert(ClientAddress(Some(client)));
        if request.version() == Version::HTTP_11 && !request.headers().contains_key(HOST) {
            return Err(UnclearHost.into_response());
        }
        UnknownCoding::check(request.headers()).map_err(IntoResponse::into_response)?;
        self.hosts.place(request).map_err(IntoResponse::into_response)
    }
}

/// Letters, digits, hyphens and dots; no port, which is that of the public address.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.split('.').all(is_label)
}
