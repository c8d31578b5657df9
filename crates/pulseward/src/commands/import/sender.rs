//! Sends syncs, again and again while the service says that it will take them later.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use vitals::registry::DataType;

use super::compression::Compression;
use super::rejections::Rejection;
use crate::failure::Failure;
use crate::service::ServiceOptions;

/// Number of times that a sync is sent before it is given up.
const TRIES: u32 = 8;
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What became of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows sent.
    pub rows: u64,
    /// Rows that are new, or took another's place.
    pub stored: u64,
    /// Rows that were there.
    pub duplicate: u64,
    /// Rows that are not valid.
    pub rejected: u64,
}

impl Counts {
    /// Adds an answer about so many rows.
    pub fn add(&mut self, rows: u64, answer: Counts) {
        self.rows += rows;
        self.stored += answer.stored;
        self.duplicate += answer.duplicate;
        self.rejected += answer.rejected;
    }
}

/// Outcome of a sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many.
    pub counts: Counts,
    /// The first of those that are not valid.
    pub rejections: Vec<Rejection>,
}

impl Answer {
    fn of(answer: &Value) -> Self {
        let (mut counts, mut rejections) = (Counts::default(), Vec::new());
        for one in answer["types"].as_object().into_iter().flat_map(|types| types.values()) {
            let count = |name: &str| one[name].as_u64().unwrap_or(0);
            // What is stored now and was not before, from the view of who imports.
            counts.stored += count("stored") + count("replaced");
            counts.duplicate += count("duplicate");
            counts.rejected += count("rejected");
            // What cannot be read of an answer of 200 is no reason to fail: the rows are stored.
            rejections.extend(serde_json::from_value::<Vec<Rejection>>(one["errors"].clone()).unwrap_or_default());
        }
        Answer { counts, rejections }
    }
}

/// Sends to one service as one patient.
pub struct Sender {
    client: Client,
    address: String,
    bearer: String,
    compression: Compression,
}

impl Sender {
    /// Makes a sender to a service that answers.
    pub async fn open(service: &ServiceOptions, bearer: &str, compression: Compression) -> Result<Self, Failure> {
        // Long: a body of 32 MiB on a slow line is still a good upload.
        let client = service.client()?.timeout(Duration::from_mins(5)).build()?;
        service.reach(&client).await?;
        let address = format!("{}/health/v1/sync", service.url.trim_end_matches('/'));
        Ok(Sender { client, address, bearer: bearer.to_owned(), compression })
    }

    /// Sends the JSON of a sync.
    pub async fn send(&self, body: Vec<u8>) -> Result<Answer, Failure> {
        self.send_with(self.client.post(&self.address).header(CONTENT_TYPE, "application/json"), body).await
    }

    /// Sends an Arrow stream of rows of one type. `zone` is that of rows that name none.
    pub async fn send_columns(
        &self,
        data_type: DataType,
        zone: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Answer, Failure> {
        let address = format!("{}/{}", self.address, data_type.name());
        let mut request = self.client.post(address).header(CONTENT_TYPE, "application/vnd.apache.arrow.stream");
        if let Some(zone) = zone {
            request = request.query(&[("time_zone", zone)]);
        }
        self.send_with(request, body).await
    }

    /// Sends a body until the service has taken it or refuses it for good.
    async fn send_with(&self, request: RequestBuilder, body: Vec<u8>) -> Result<Answer, Failure> {
        let body = Bytes::from(self.pack(body).map_err(|error| Failure::io("compress a sync", error))?);
        let mut request = request.bearer_auth(&self.bearer).body(body);
        request = match self.compression {
            Compression::None => request,
            Compression::Gzip => request.header(CONTENT_ENCODING, "gzip"),
            Compression::Zstd => request.header(CONTENT_ENCODING, "zstd"),
        };
        let request = request.build()?;
        let mut tries = 0;
        loop {
            tries += 1;
            // Bytes are shared and not copied; only a body that streams could not be sent twice.
            let Some(again) = request.try_clone() else {
                return Err(Failure::Other("a sync cannot be sent twice".into()));
            };
            let wait = match self.client.execute(again).await {
                Ok(response) if response.status().is_success() => return Ok(Answer::of(&response.json().await?)),
                // The same rows again are duplicates at worst, so trying again is safe whatever became of the first
                // try.
                Ok(response) if tries < TRIES && passes(response.status()) => retry_after(&response),
                Ok(response) => return Err(refusal(response).await),
                // A request that cannot be built will not be built the next time either.
                Err(error) if tries < TRIES && !error.is_builder() => None,
                Err(error) => return Err(error.into()),
            };
            runtime::sleep(wait.unwrap_or(Duration::from_millis(200 << tries)).min(LONGEST_WAIT)).await;
        }
    }

    fn pack(&self, body: Vec<u8>) -> std::io::Result<Vec<u8>> {
        match self.compression {
            Compression::None => Ok(body),
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&body)?;
                encoder.finish()
            }
            Compression::Zstd => zstd::encode_all(&body[..], 1),
        }
    }
}

/// Returns whether the service may answer otherwise later.
fn passes(status: StatusCode) -> bool {
    use StatusCode as S;
    [S::TOO_MANY_REQUESTS, S::BAD_GATEWAY, S::SERVICE_UNAVAILABLE, S::GATEWAY_TIMEOUT].contains(&status)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn refusal(response: Response) -> Failure {
    let status = response.status();
    // A proxy in between answers with a page; then the status is all there is to report.
    let text = response.text().await.unwrap_or_default();
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let fields = body.get("errors").map(|errors| format!(" {errors}")).unwrap_or_default();
    Failure::Other(format!("the service answered {status}: {}{fields}", body["message"].as_str().unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_added_up_over_types() {
        let answer = json!({"types": {
            "activity": {"stored": 3, "duplicate": 1, "replaced": 2, "rejected": 4,
                "errors": [{"index": 7, "column": "bpm", "reason": "out of range: must be 0 to 255 /min"}]},
            "sleep": {"stored": 1}
        }});
        let answer = Answer::of(&answer);
        let (column, reason) = ("bpm".to_owned(), "out of range: must be 0 to 255 /min".to_owned());
        assert_eq!(answer.rejections, [Rejection { index: 7, column, reason }]);
        let mut counts = Counts::default();
        counts.add(11, answer.counts);
        assert_eq!(counts, Counts { rows: 11, stored: 6, duplicate: 1, rejected: 4 });
    }
}
