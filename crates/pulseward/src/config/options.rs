//! The options themselves. Their documentation is the help text, and the comments of `config.example.toml`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::values::Interval;

/// Where the data are. Every command that works on the store takes these.
#[derive(Args, Clone, Serialize, Deserialize)]
#[command(next_help_heading = "Store")]
pub struct StoreOptions {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", env = "PULSEWARD_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Folder of the embedded store: databases, objects, master key
    #[arg(long, value_name = "DIR", env = "PULSEWARD_DATA", default_value = "./pulseward-data")]
    pub data: PathBuf,
    /// PostgreSQL address of the users database instead of a file in the data folder
    #[arg(long, value_name = "URL", env = "PULSEWARD_USERS_DB", hide_env_values = true)]
    pub users_db: Option<String>,
    /// PostgreSQL address of the health database instead of a file in the data folder
    #[arg(long, value_name = "URL", env = "PULSEWARD_HEALTH_DB", hide_env_values = true)]
    pub health_db: Option<String>,
    /// Where sealed samples and archives lie, `file:///DIR` or `s3://BUCKET/PREFIX`, instead of `objects` in the data
    /// folder; credentials, region and endpoint of S3 come from the usual `AWS_...` variables
    #[arg(long, value_name = "URL", env = "PULSEWARD_OBJECTS")]
    pub objects: Option<String>,
    /// Allow a store at an `http://` address that is not on this machine
    #[arg(long, env = "PULSEWARD_OBJECTS_ALLOW_HTTP")]
    pub objects_allow_http: bool,
    /// File of the 32 bytes that seal the signing keys, instead of `master.key` in the data folder; made when missing
    #[arg(long, value_name = "FILE", env = "PULSEWARD_MASTER_KEY_FILE")]
    pub master_key_file: Option<PathBuf>,
}

/// How the service is reached, and what an operator can set.
#[derive(Args, Clone, Serialize, Deserialize)]
#[command(next_help_heading = "Service")]
pub struct ServeOptions {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", env = "PULSEWARD_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: String,
    /// Address under which clients reach the service, such as `https://study.example`; default: the one listened on
    #[arg(long, value_name = "URL", env = "PULSEWARD_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// A proxy in front ends TLS: allows a non-loopback address without a certificate
    #[arg(long, env = "PULSEWARD_BEHIND_PROXY")]
    pub behind_proxy: bool,
    /// Certificate chain (PEM); the service then speaks HTTPS only
    #[arg(long, value_name = "FILE", env = "PULSEWARD_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "PULSEWARD_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Minutes that an access token lives
    #[arg(long, value_name = "N", env = "PULSEWARD_TOKEN_TTL_MINUTES", default_value_t = 60,
        value_parser = clap::value_parser!(i64).range(1..))]
    pub token_ttl_minutes: i64,
    /// Minutes after its first issue within which a token can be refreshed
    #[arg(long, value_name = "N", env = "PULSEWARD_TOKEN_REFRESH_MINUTES", default_value_t = 518_400,
        value_parser = clap::value_parser!(i64).range(1..))]
    pub token_refresh_minutes: i64,
    /// Days that a voucher can be used
    #[arg(long, value_name = "N", env = "PULSEWARD_VOUCHER_DAYS", default_value_t = 90,
        value_parser = clap::value_parser!(i64).range(1..))]
    pub voucher_days: i64,
    /// Time between two exports of a patient, such as `300s`; `admin set-export-limit` stands above it
    #[arg(long, value_name = "SPAN", env = "PULSEWARD_EXPORT_INTERVAL", default_value = "300s")]
    pub export_interval: Interval,
    /// Largest upload as it is sent, MiB
    #[arg(long, value_name = "N", env = "PULSEWARD_SYNC_MIB", default_value_t = 32,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub sync_mib: u16,
    /// Largest upload when it is expanded, MiB
    #[arg(long, value_name = "N", env = "PULSEWARD_SYNC_EXPANDED_MIB", default_value_t = 256,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub sync_expanded_mib: u16,
}

/// What is logged, on standard error.
#[derive(Args, Clone, Serialize, Deserialize)]
#[command(next_help_heading = "Log")]
pub struct LogOptions {
    /// What to log: a level, or levels by module such as `warn,platform=debug`
    #[arg(long, value_name = "FILTER", env = "PULSEWARD_LOG", default_value = "info")]
    pub log: String,
    /// How to write it
    #[arg(long, value_name = "FORMAT", env = "PULSEWARD_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}
