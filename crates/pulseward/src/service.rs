//! The service that a command sends to or reads from: its address, the authorities that vouch for it, and whether it is
//! there at all.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::{Certificate, Client, ClientBuilder, Url};
use serde_json::Value;

use crate::failure::Failure;
use crate::values::parse_service_url;

/// Time in which a service has to answer that it is there.
const LONGEST_ANSWER: Duration = Duration::from_secs(4);

/// Options of commands that speak to a service.
#[derive(Args)]
pub struct ServiceOptions {
    /// Address of the service, such as `http://127.0.0.1:8080`
    #[arg(long, value_name = "URL", env = "PULSEWARD_URL", value_parser = parse_service_url)]
    pub url: String,
    /// Certificates (PEM) of authorities to trust in addition to those of the system
    #[arg(long, value_name = "FILE", env = "PULSEWARD_CA_FILE")]
    ca_file: Option<PathBuf>,
}

/// What to do about a certificate that is refused, by the name that the library gives to the reason.
const HINTS: [(&str, &str); 2] = [
    ("UnknownIssuer", "; --ca-file names the authority to trust"),
    (
        "CaUsedAsEndEntity",
        "; the certificate of the service is that of an authority: make it one of a server (basicConstraints CA:FALSE, with \
         openssl `-addext basicConstraints=critical,CA:FALSE`), and --ca-file names it or its authority",
    ),
];

impl ServiceOptions {
    /// Returns the authorities that are named. A usage error when their file has no certificate.
    pub fn authorities(&self) -> Result<Vec<Certificate>, Failure> {
        let Some(path) = &self.ca_file else { return Ok(Vec::new()) };
        let text = std::fs::read(path).map_err(|error| Failure::file("read", path, error))?;
        let found = Certificate::from_pem_bundle(&text).unwrap_or_default();
        if found.is_empty() {
            return Err(Failure::Usage(format!("--ca-file {}: it has no certificate in PEM", path.display())));
        }
        Ok(found)
    }

    /// Returns what makes clients that trust these authorities.
    pub fn client(&self) -> Result<ClientBuilder, Failure> {
        Ok(Client::builder().connect_timeout(LONGEST_ANSWER).tls_certs_merge(self.authorities()?))
    }

    /// Asks once whether a service answers at the address, and fails within five seconds where none does: what is sent
    /// to it is tried again for minutes, which helps against a service that is started again and not against a typo.
    pub async fn reach(&self, client: &Client) -> Result<(), Failure> {
        let request = client.get(format!("{}/livez", self.url.trim_end_matches('/'))).timeout(LONGEST_ANSWER);
        let asked = async {
            let answer = request.send().await?;
            Ok::<_, reqwest::Error>((answer.status(), answer.bytes().await?))
        };
        let (status, body) = asked.await.map_err(|error| self.unreachable(error))?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() && body["status"] == "ok" {
            return Ok(());
        }
        Err(Failure::Other(format!("what answers at {} is no such service: /livez is {status}", self.origin())))
    }

    fn unreachable(&self, error: reqwest::Error) -> Failure {
        let reasons = bracelet::reasons(&error.without_url());
        let hint = HINTS.into_iter().find(|(reason, _)| reasons.contains(reason)).map_or("", |(_, hint)| hint);
        Failure::Other(format!("no service answers at {}: {reasons}{hint}", self.origin()))
    }

    /// Scheme, host and port, without a password that the address may have.
    fn origin(&self) -> String {
        Url::parse(&self.url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_reported_without_its_password() {
        let options = ServiceOptions { url: "https://me:secret@study.example:8443/x?y".to_owned(), ca_file: None };
        assert_eq!(options.origin(), "https://study.example:8443");
    }
}
