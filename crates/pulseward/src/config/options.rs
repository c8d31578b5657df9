//! The options themselves. Their documentation is the help text, and the comments of `config.example.toml`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::values::{Connections, Interval, Retention};

/// What `serve` is given too, so that a receipt of an erasure names the same places.
#[derive(Args, Clone, Serialize, Deserialize)]
pub struct CopyOptions {
    /// Where copies of the objects lie, as `serve` has it: the receipt names them, and nothing in them is erased
    #[arg(long, value_name = "URL", env = "PULSEWARD_OBJECT_COPIES")]
    pub object_copies: Option<String>,
}

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
    /// Connections to each PostgreSQL database at most, of this node; operations beyond them wait for up to 10 s
    #[arg(long, value_name = "N", env = "PULSEWARD_DB_CONNECTIONS", default_value = "16")]
    pub db_connections: Connections,
    /// Where sealed samples and archives lie, `file:///DIR` or `s3://BUCKET/PREFIX`, instead of `objects` in the data
    /// folder; credentials, region and endpoint of S3 come from the usual `AWS_...` variables
    #[arg(long, value_name = "URL", env = "PULSEWARD_OBJECTS")]
    pub objects: Option<String>,
    /// Allow a store at an `http://` address that is not on this machine
    #[arg(long, env = "PULSEWARD_OBJECTS_ALLOW_HTTP")]
    pub objects_allow_http: bool,
    /// File of the 32 bytes that seal the signing keys, instead of `master.key` in the data folder; made when missing,
    /// in a store that holds nothing sealed
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
    /// Networks of the proxies whose X-Forwarded-For is believed, such as `10.0.0.0/8,192.0.2.7`
    #[arg(long, value_name = "CIDR", env = "PULSEWARD_TRUSTED_PROXIES", value_delimiter = ',')]
    pub trusted_proxies: Vec<String>,
    /// Certificate chain (PEM); the service then speaks HTTPS only
    #[arg(long, value_name = "FILE", env = "PULSEWARD_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "PULSEWARD_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Host names at whose root the integration API is; the first is used in answers
    #[arg(long, value_name = "NAMES", env = "PULSEWARD_HOSTS_INTEGRATION", value_delimiter = ',')]
    pub hosts_integration: Vec<String>,
    /// Host names at whose root the Users Cloud is; the first is used in answers
    #[arg(long, value_name = "NAMES", env = "PULSEWARD_HOSTS_USERS", value_delimiter = ',')]
    pub hosts_users: Vec<String>,
    /// Host names at whose root the Health Cloud is; the first is used in answers
    #[arg(long, value_name = "NAMES", env = "PULSEWARD_HOSTS_HEALTH", value_delimiter = ',')]
    pub hosts_health: Vec<String>,
    /// What this node does; other nodes on the same stores do the rest
    #[arg(long, value_name = "ROLES", env = "PULSEWARD_ROLES", value_enum, value_delimiter = ',',
        default_values_t = NodeRole::ALL)]
    pub roles: Vec<NodeRole>,
    /// Address for metrics in the format of Prometheus, served to anyone who can connect; default: none
    #[arg(long, value_name = "ADDR", env = "PULSEWARD_METRICS_LISTEN")]
    pub metrics_listen: Option<String>,
    /// Address of an OpenTelemetry collector that traces are sent to, as OTLP over HTTP, in a program that was built with
    /// the feature `otlp`; default: none
    #[arg(long, value_name = "URL", env = "PULSEWARD_OTLP_URL", hide_env_values = true)]
    pub otlp_url: Option<String>,
    /// PostgreSQL address of the health database that leads to the server directly and not to a pooler: nodes wake each
    /// other through it; without it they look for work every two seconds
    #[arg(long, value_name = "URL", env = "PULSEWARD_LISTEN_DB_URL", hide_env_values = true)]
    pub listen_db_url: Option<String>,
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
    /// MiB a second that are read at most to check everything that is stored for damage, of this node; `off` for no check
    #[arg(long, value_name = "N|off", env = "PULSEWARD_SCRUB_RATE", default_value = "4")]
    pub scrub_rate: NumberOrOff,
    /// Where copies of the objects lie, such as `file:///BACKUP/objects` or a second bucket: damaged files are brought back
    /// from there
    #[arg(long, value_name = "URL", env = "PULSEWARD_OBJECT_COPIES")]
    pub object_copies: Option<String>,
    /// Minutes after which a session of the portal that nobody uses is locked
    #[arg(long, value_name = "N", env = "PULSEWARD_PORTAL_IDLE_MINUTES", default_value_t = 15,
        value_parser = clap::value_parser!(i64).range(1..=1440))]
    pub portal_idle_minutes: i64,
    /// Hours after which a session of the portal ends
    #[arg(long, value_name = "N", env = "PULSEWARD_PORTAL_SESSION_HOURS", default_value_t = 12,
        value_parser = clap::value_parser!(i64).range(1..=8760))]
    pub portal_session_hours: i64,
    /// Time between two exports of a patient, such as `300s`; `admin set-export-limit` overrides it
    #[arg(long, value_name = "SPAN", env = "PULSEWARD_EXPORT_INTERVAL", default_value = "300s")]
    pub export_interval: Interval,
    /// How long events are kept, such as `30d`, a day at least; ids of syncs are known for as long
    #[arg(long, value_name = "SPAN", env = "PULSEWARD_EVENT_RETENTION", default_value = "30d")]
    pub event_retention: Retention,
    /// How long security events are kept, such as `365d`, a day at least
    #[arg(long, value_name = "SPAN", env = "PULSEWARD_SECURITY_RETENTION", default_value = "365d")]
    pub security_retention: Retention,
    #[command(flatten)]
    #[serde(flatten)]
    pub limits: LimitOptions,
}

/// What is asked of the service at most.
#[derive(Args, Clone, Serialize, Deserialize)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Requests a minute of a credential, or of an address that shows no valid one; `off` for no limit
    #[arg(long, value_name = "N|off", env = "PULSEWARD_RATE_LIMIT", default_value = "180")]
    pub rate_limit: NumberOrOff,
    /// Requests that are answered at the same time; more are refused with 503
    #[arg(long, value_name = "N", env = "PULSEWARD_REQUESTS_AT_ONCE", default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub requests_at_once: u32,
    /// Connections that are open at the same time; more wait to be accepted
    #[arg(long, value_name = "N", env = "PULSEWARD_CONNECTIONS_AT_ONCE", default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_at_once: u32,
    /// Memory for uploads under way, MiB: as sent, as expanded, and as rows until they are stored; what does not fit is
    /// refused with 503, or with 413 where it never will
    #[arg(long, value_name = "N", env = "PULSEWARD_UPLOAD_MEMORY_MIB", default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub upload_memory_mib: u32,
    /// Largest upload as it is sent, MiB
    #[arg(long, value_name = "N", env = "PULSEWARD_SYNC_MIB", default_value_t = 32,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub sync_mib: u16,
    /// Largest upload when it is expanded, MiB
    #[arg(long, value_name = "N", env = "PULSEWARD_SYNC_EXPANDED_MIB", default_value_t = 256,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub sync_expanded_mib: u16,
    /// Largest head of a request, KiB; more is refused with 431
    #[arg(long, value_name = "N", env = "PULSEWARD_HEADER_KIB", default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(8..))]
    pub header_kib: u16,
    /// Seconds for the head of a request, a TLS handshake, or the next request on a connection
    #[arg(long, value_name = "S", env = "PULSEWARD_HEADER_SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub header_seconds: u16,
    /// Seconds for a body of up to 64 KiB, over which a larger one keeps 1 KiB a second, or in which a client takes no byte
    /// of an answer
    #[arg(long, value_name = "S", env = "PULSEWARD_BODY_SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub body_seconds: u16,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeRole {
    /// Serves the integration API
    Integration,
    /// Serves the Users Cloud
    Users,
    /// Serves the Health Cloud
    Health,
    /// Serves the web portal
    Portal,
    /// Computes derived values, tidies, seals
    Worker,
}

impl NodeRole {
    /// All of them.
    pub const ALL: [NodeRole; 5] =
        [NodeRole::Integration, NodeRole::Users, NodeRole::Health, NodeRole::Portal, NodeRole::Worker];
}

/// A number above 0, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrWord", into = "String")]
pub struct NumberOrOff(pub Option<u32>);

/// How a file may write it.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrWord {
    Number(u32),
    Word(String),
}

impl TryFrom<NumberOrWord> for NumberOrOff {
    type Error = String;

    fn try_from(written: NumberOrWord) -> Result<Self, String> {
        match written {
            NumberOrWord::Number(number) => number.to_string().parse(),
            NumberOrWord::Word(word) => word.parse(),
        }
    }
}

impl From<NumberOrOff> for String {
    fn from(limit: NumberOrOff) -> Self {
        limit.0.map_or_else(|| "off".to_owned(), |number| number.to_string())
    }
}

impl FromStr for NumberOrOff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(NumberOrOff(None));
        }
        let number = text.parse().ok().filter(|number| *number > 0);
        number.map(|number| NumberOrOff(Some(number))).ok_or_else(|| format!("`{text}` is neither a number nor `off`"))
    }
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
