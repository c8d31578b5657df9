//! Where the service listens, under which address clients know it, and whether that is safe.

use std::net::SocketAddr;

use crate::config::ServeOptions;
use crate::failure::Failure;

/// The socket addresses that `--listen` names.
pub async fn resolve(listen: &str) -> Result<Vec<SocketAddr>, Failure> {
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
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        return Ok(());
    }
    if options.tls_cert.is_none() && !options.behind_proxy {
        let message = "an address that others can reach needs --tls-cert and --tls-key, or --behind-proxy when a \
            proxy in front of the service ends TLS";
        return Err(Failure::Usage(message.to_owned()));
    }
    if options.public_url.is_none() {
        let message = "an address that others can reach needs --public-url, the address that clients use";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(())
}

/// The address that clients use, without a slash at its end.
pub struct PublicUrl(pub String);

impl PublicUrl {
    /// The configured address, or the one that is listened on.
    pub fn new(options: &ServeOptions, local: SocketAddr) -> Result<Self, Failure> {
        let Some(given) = &options.public_url else {
            let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
            return Ok(PublicUrl(format!("{scheme}://{local}")));
        };
        let wrong = || Failure::Usage(format!("--public-url {given}: must look like https://study.example"));
        let url: reqwest::Url = given.parse().map_err(|_| wrong())?;
        let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
        if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() || has_more {
            return Err(wrong());
        }
        Ok(PublicUrl(given.trim_end_matches('/').to_owned()))
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
    }

    #[test]
    fn the_public_address_is_an_address() {
        let local = "127.0.0.1:8080".parse().unwrap();
        let public = |given: &str| PublicUrl::new(&options(&["--public-url", given]), local).map(|url| url.0);
        assert_eq!(public("https://study.example/").unwrap(), "https://study.example");
        for wrong in ["study.example", "ftp://study.example", "https://study.example/?a=1", "https://me@study.example"]
        {
            assert!(public(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            PublicUrl::new(&options(&[]), local).map(|url| url.0).ok().as_deref(),
            Some("http://127.0.0.1:8080")
        );
    }
}
