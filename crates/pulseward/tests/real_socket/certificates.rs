//! A certificate that a test trusts.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A certificate for one name or address, with its key, as files in a folder.
pub struct Certificate {
    /// The certificate (PEM).
    pub file: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
}

impl Certificate {
    /// Makes one for a name as certificates write it, such as `DNS:study.example`. `None`, after saying so loudly, where the
    /// command that makes it is not there.
    pub fn make(folder: &Path, name: &str) -> Option<Self> {
        Self::with_constraints(folder, name, "CA:FALSE")
    }

    /// The same, as the command makes it when nothing is said of what the certificate is for: that of an authority.
    pub fn of_an_authority(folder: &Path, name: &str) -> Option<Self> {
        Self::with_constraints(folder, name, "CA:TRUE")
    }

    fn with_constraints(folder: &Path, name: &str, constraints: &str) -> Option<Self> {
        let (file, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
            .args(["-subj", "/CN=Certificate of a test", "-addext", &format!("subjectAltName={name}")])
            .args(["-addext", &format!("basicConstraints=critical,{constraints}"), "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&file)
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            testkit::skip("the openssl command, which makes the certificate, is not there");
            return None;
        }
        Some(Certificate { file, key })
    }

    /// Returns a client that trusts it, and nobody else.
    pub fn client(&self) -> reqwest::ClientBuilder {
        let root = reqwest::Certificate::from_pem(&std::fs::read(&self.file).unwrap()).unwrap();
        reqwest::Client::builder().tls_certs_only([root])
    }
}
