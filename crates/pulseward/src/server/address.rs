//! Where the service listens, under which address clients know it, and whether that is safe.

use std::net::SocketAddr;

use crate::config::ServeOptions;
use crate::failure::Failure;
use crate::wiring::objects::is_loopback;

/// Returns the socket addresses that `--listen` names.
pub async fn resolve(listen: &str) -> Result<Vec<SocketAddr>, Failure> {
    // Names such as `localhost` are allowed and can have addresses of both families.
    let found = tokio::net::lookup_host(listen).await;
    let found: Vec<SocketAddr> =
        found.map_err(|error| Failure::Usage(format!("--listen {listen}: {error}")))?.collect();
    if found.is_empty() {
        return Err(Failure::Usage(format!("--listen {listen}: no such address")));
    }
    Ok(found)
}

/// Refuses to listen where others than this machine can connect, unless the way to the service is encrypted and the
/// service knows its own name.
pub fn check_exposure(addresses: &[SocketAddr], options: &ServeOptions) -> Result<(), Failure> {
    let is_plain = options.public_url.as_deref().is_some_and(|url| url.starts_with("http://") && !is_loopback(url));
    // All of them: a name may lead to this machine and to its network.
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        if is_plain {
            tracing::warn!(
                "--public-url begins with http://: if others than this machine use it, passwords, tokens and samples \
                 cross the network in clear text"
            );
        }
        return Ok(());
    }
    // Health data and keys in clear text have to be asked for in as many words.
    if options.tls_cert.is_none() && !options.behind_proxy {
        let message = "an address that others can reach needs --tls-cert and --tls-key, or --behind-proxy when a \
            proxy in front of the service ends TLS";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Links in answers would name 0.0.0.0, and tokens name the address that they are for.
    if options.public_url.is_none() {
        let message = "an address that others can reach needs --public-url, the address that clients use";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Clients would be sent there, with their passwords, tokens and samples.
    if is_plain {
        let message = "--public-url begins with http://, and others can reach this address: clients are to use https://, \
            which --tls-cert or the proxy in front of the service speaks";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(())
}

/// The addresses that clients use, without a slash at their end.
pub struct PublicUrls {
    /// Of the integration API.
    pub integration: String,
    /// Of the Users Cloud.
    pub users: String,
    /// Of the Health Cloud.
    pub health: String,
}

impl PublicUrls {
    /// Returns the first host name of each cloud, and paths below the configured address or the one that is listened on
    /// for clouds without a name. Scheme and port are that address's.
    pub fn new(options: &ServeOptions, local: SocketAddr) -> Result<Self, Failure> {
        let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
        let base = options.public_url.clone().unwrap_or_else(|| format!("{scheme}://{local}"));
        let base = base.trim_end_matches('/');
        let wrong = || Failure::Usage(format!("--public-url {base}: must look like https://study.example"));
        let url: reqwest::Url = base.parse().map_err(|_| wrong())?;
        // Paths are appended to it, so nothing may follow the path.
        let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
        if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() || has_more {
            return Err(wrong());
        }
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let of = |names: &[String], path: &str| match names.first() {
            Some(name) => format!("{}://{}{port}", url.scheme(), name.to_ascii_lowercase()),
            None => format!("{base}{path}"),
        };
        Ok(PublicUrls {
            integration: of(&options.hosts_integration, "/integration"),
            users: of(&options.hosts_users, "/users"),
            health: of(&options.hosts_health, "/health"),
        })
    }

    /// Returns whether clients reach the service over TLS.
    pub fn are_https(&self) -> bool {
        // All have the scheme of the public address, as it was written.
        self.integration.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServeOptions;
    use clap::{Command, FromArgMatches};

    fn options(arguments: &[&str]) -> ServeOptions {
        let command = <ServeOptions as clap::Args>::augment_args(Command::new("serve"));
        let command = command.mut_args(|argument| argument.env(None::<&str>));
        let matches = command.try_get_matches_from([&["serve"], arguments].concat()).unwrap();
        ServeOptions::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn an_open_address_needs_encryption_and_a_name() {
        let open = ["0.0.0.0:80".parse().unwrap()];
        let loopback = ["127.0.0.1:80".parse().unwrap(), "[::1]:80".parse().unwrap()];
        let tls = ["--tls-cert", "c", "--tls-key", "k"];
        let url = ["--public-url", "https://study.example"];
        let allowed =
            |addresses: &[SocketAddr], arguments: &[&str]| check_exposure(addresses, &options(arguments)).is_ok();
        assert!(allowed(&loopback, &[]));
        assert!(!allowed(&open, &[]));
        assert!(!allowed(&open, &url));
        assert!(!allowed(&open, &["--behind-proxy"]));
        assert!(!allowed(&open, &tls));
        assert!(allowed(&open, &[&url[..], &["--behind-proxy"]].concat()));
        assert!(allowed(&open, &[&url[..], &tls].concat()));
        assert!(!allowed(&[loopback[0], open[0]], &[]), "one open address is enough");
        for (plain, is_allowed) in
            [("http://study.example", false), ("http://127.0.0.1:80", true), ("http://[::1]", true)]
        {
            assert_eq!(allowed(&open, &["--behind-proxy", "--public-url", plain]), is_allowed, "{plain}");
            assert!(allowed(&loopback, &["--public-url", plain]), "a warning: it may be a test");
        }
    }

    fn urls(arguments: &[&str]) -> Result<[String; 3], Failure> {
        let local = "127.0.0.1:8080".parse().unwrap();
        PublicUrls::new(&options(arguments), local).map(|urls| [urls.integration, urls.users, urls.health])
    }

    #[test]
    fn the_public_address_is_an_address() {
        let [integration, users, health] = urls(&["--public-url", "https://study.example/"]).unwrap();
        assert_eq!(integration, "https://study.example/integration");
        assert_eq!((&users[..], &health[..]), ("https://study.example/users", "https://study.example/health"));
        for wrong in ["study.example", "ftp://study.example", "https://study.example/?a=1", "https://me@study.example"]
        {
            assert!(urls(&["--public-url", wrong]).is_err(), "{wrong}");
        }
        assert_eq!(urls(&[]).unwrap()[1], "http://127.0.0.1:8080/users");
    }

    #[test]
    fn a_cloud_with_names_is_at_the_root_of_the_first() {
        let hosts = ["--hosts-health", "Health.example,old.example", "--hosts-integration", "api.example"];
        let public = ["--public-url", "https://study.example:8443"];
        let [integration, users, health] = urls(&[&hosts[..], &public].concat()).unwrap();
        assert_eq!(integration, "https://api.example:8443");
        assert_eq!(users, "https://study.example:8443/users");
        assert_eq!(health, "https://health.example:8443");
        assert_eq!(urls(&hosts).unwrap()[2], "http://health.example:8080");
    }
}
