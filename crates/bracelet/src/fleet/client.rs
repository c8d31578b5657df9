//! Requests that are tried again while there is hope.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::config::FleetConfig;
use super::tally::Tally;
use crate::error::BraceletError;

/// Time for which requests may go on once the fleet is stopped: those under way and those of what was held back together.
const LONGEST_END: Duration = Duration::from_secs(5);

/// How a request proves who sends it. No credential ever is in an address.
#[derive(Clone, Copy)]
pub(crate) enum Credential<'a> {
    None,
    ApiKey(&'a str),
    Bearer(&'a str),
}

/// What came back: any status that trying again would not change.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    /// The JSON, or null when the body is none.
    pub json: Value,
    /// Duration of the last attempt, without the waiting before it.
    pub latency: Duration,
}

impl Answer {
    /// Returns the JSON of an accepted request; `what` names the request in the error.
    pub fn accepted(self, what: &'static str) -> Result<Value, BraceletError> {
        if self.status.is_success() {
            return Ok(self.json);
        }
        Err(self.refusal(what))
    }

    /// Returns the error that this answer means.
    pub fn refusal(&self, what: &'static str) -> BraceletError {
        BraceletError::Refused {
            what,
            status: self.status.as_u16(),
            message: self.json["message"].as_str().unwrap_or("").to_owned(),
        }
    }
}

/// A body and whether it is compressed; cloning it copies nothing.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    pub bytes: Bytes,
    pub is_gzip: bool,
}

impl Payload {
    /// Makes an uncompressed body.
    pub fn json(value: &Value) -> Self {
        Self { bytes: Bytes::from(value.to_string()), is_gzip: false }
    }
}

/// Speaks to one service.
#[derive(Clone)]
pub(crate) struct ServiceClient {
    http: reqwest::Client,
    url: String,
    retry_for: Duration,
    tally: Arc<Tally>,
    /// When true, nothing is tried again; none while nobody can stop the fleet.
    stop: Option<watch::Receiver<bool>>,
    /// When the first request saw that the fleet is stopped: one time for all, or a frozen service would hold up each of
    /// a patient's last requests by itself.
    stopped_at: Arc<OnceLock<Instant>>,
}

impl ServiceClient {
    pub fn new(config: &FleetConfig, tally: Arc<Tally>) -> Result<Self, BraceletError> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_merge(config.authorities.iter().cloned())
            // A redirect could carry the API key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(config.connections.max(1))
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_mins(2))
            .build()?;
        Ok(Self {
            http,
            url: config.url.clone(),
            retry_for: config.retry_for,
            tally,
            stop: None,
            stopped_at: Arc::default(),
        })
    }

    /// Returns the same client, whose requests are not tried again once `stop` is true.
    pub fn until(&self, stop: &watch::Receiver<bool>) -> Self {
        Self { stop: Some(stop.clone()), ..self.clone() }
    }

    /// POSTs until the answer is final: connection errors, 429, 502, 503 and 504 are tried again as long as the patience
    /// lasts and the fleet is not stopped, after the time that Retry-After names.
    pub async fn post(
        &self,
        path: &str,
        credential: Credential<'_>,
        payload: &Payload,
    ) -> Result<Answer, BraceletError> {
        let first_attempt = Instant::now();
        let mut attempt = 0;
        loop {
            let outcome = tokio::select! {
                biased;
                () = self.end() => return Err(BraceletError::Stopped),
                outcome = self.post_once(path, credential, payload) => outcome,
            };
            let wait = match &outcome {
                Ok((answer, retry_after)) if is_passing(answer.status) => {
                    retry_after.unwrap_or_else(|| back_off(attempt))
                }
                Err(error) if is_transport(error) => back_off(attempt),
                _ => return outcome.map(|(answer, _)| answer),
            };
            if first_attempt.elapsed() + wait > self.retry_for {
                return outcome.map(|(answer, _)| answer);
            }
            tokio::select! {
                biased;
                () = self.stopped() => return outcome.map(|(answer, _)| answer),
                () = tokio::time::sleep(wait) => {}
            }
            self.tally.record_retry();
            attempt += 1;
        }
    }

    /// Waits until the fleet is stopped: for ever where nobody can stop it.
    async fn stopped(&self) {
        if let Some(mut stop) = self.stop.clone()
            && stop.wait_for(|stop| *stop).await.is_ok()
        {
            return;
        }
        // A vanished sender is no request to stop.
        std::future::pending::<()>().await;
    }

    /// Waits until a stopped fleet waits for no answer any more.
    async fn end(&self) {
        self.stopped().await;
        tokio::time::sleep_until(*self.stopped_at.get_or_init(Instant::now) + LONGEST_END).await;
    }

    async fn post_once(
        &self,
        path: &str,
        credential: Credential<'_>,
        payload: &Payload,
    ) -> Result<(Answer, Option<Duration>), BraceletError> {
        let mut request = self
            .http
            .post(format!("{}{path}", self.url))
            .header(CONTENT_TYPE, "application/json")
            .body(payload.bytes.clone());
        request = match credential {
            Credential::None => request,
            Credential::ApiKey(key) => request.header("X-Api-Key", key),
            Credential::Bearer(token) => request.bearer_auth(token),
        };
        if payload.is_gzip {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        let begin = Instant::now();
        let response = request.send().await?;
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let text = response.bytes().await?;
        let answer =
            Answer { status, json: serde_json::from_slice(&text).unwrap_or(Value::Null), latency: begin.elapsed() };
        Ok((answer, retry_after))
    }
}

/// Returns whether the service says that it will take the same request later.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Returns whether the network failed, not the request: a broken or timed-out connection, a cut-off answer.
fn is_transport(error: &BraceletError) -> bool {
    matches!(error, BraceletError::Http(error) if !error.is_builder())
}

/// 0.1, 0.2, 0.4 … at most 5 s.
fn back_off(attempt: u32) -> Duration {
    Duration::from_millis(100 << attempt.min(6)).min(Duration::from_secs(5))
}
