//! Objects in an S3-compatible store.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, RetryConfig};

use super::store::{Objects, Place, location};
use crate::error::Result;

/// How long a request is tried again when the store says that it is busy or away. Shorter than what `deadlines.rs`
/// allows, so that the store's own words are reported.
const LONGEST_RETRY: Duration = Duration::from_secs(3);
const LONGEST_CONNECT: Duration = Duration::from_secs(3);
/// How long nothing may come. There is no limit to a whole request: a large object is read as fast as the reader
/// takes it.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// A bucket, and who asks.
#[derive(Clone, Default)]
pub struct S3Address {
    /// The bucket.
    pub bucket: String,
    /// What all paths begin with; may be empty.
    pub prefix: String,
    /// Region; `us-east-1` without.
    pub region: Option<String>,
    /// Address of the store, for one that is not the first of its kind.
    pub endpoint: Option<String>,
    /// Identity; without, the machine's own role is asked for.
    pub access_key_id: Option<String>,
    /// Its secret.
    pub secret_access_key: Option<String>,
    /// A token that belongs to a temporary identity.
    pub session_token: Option<String>,
    /// Whether requests may go over a connection that is not encrypted.
    pub allow_http: bool,
}

impl std::fmt::Debug for S3Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("S3Address").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

impl Objects {
    /// Objects in a bucket. Nothing is asked of it yet.
    pub fn bucket(address: &S3Address) -> Result<Self> {
        let retry = RetryConfig { retry_timeout: LONGEST_RETRY, ..RetryConfig::default() };
        let client = ClientOptions::new()
            .with_connect_timeout(LONGEST_CONNECT)
            // A limit to the whole request would break off large archives on slow lines.
            .with_timeout_disabled()
            .with_read_timeout(LONGEST_SILENCE)
            .with_allow_http(address.allow_http);
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&address.bucket)
            .with_region(address.region.as_deref().unwrap_or("us-east-1"))
            // Nothing here depends on conditional writes: the catalog is the only commit point.
            .with_conditional_put(S3ConditionalPut::Disabled)
            .with_client_options(client)
            .with_retry(retry);
        if let Some(endpoint) = &address.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(id) = &address.access_key_id {
            builder = builder.with_access_key_id(id);
        }
        if let Some(secret) = &address.secret_access_key {
            builder = builder.with_secret_access_key(secret);
        }
        if let Some(token) = &address.session_token {
            builder = builder.with_token(token);
        }
        // Tries again would hide from a probe, which has less than a second, that the store answers with errors.
        let once = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let probe = builder.clone().with_retry(once).build()?;
        let signer = Arc::new(builder.build()?);
        let prefix = location(&address.prefix)?;
        let store = Arc::new(PrefixStore::new(Arc::clone(&signer), prefix.clone()));
        let probe = Arc::new(PrefixStore::new(probe, prefix.clone()));
        Ok(Objects::with_probe(store, probe, Place::Bucket { signer, prefix: prefix.to_string() }))
    }
}
