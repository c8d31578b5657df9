//! The collector that traces are sent to, over the client of HTTP that the service has anyway.
//!
//! Batches come from a thread of the exporter, which knows no runtime, so a task of the service sends them.

use std::future::Future;
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::Url;
use tokio::sync::{mpsc, oneshot};

use crate::failure::Failure;

/// Longest time until the collector has taken a batch.
pub const LONGEST_REQUEST: Duration = Duration::from_secs(10);

type Answer = Result<Response<Bytes>, HttpError>;
type Batch = (Request<Bytes>, oneshot::Sender<Answer>);

/// The way to a collector.
#[derive(Debug)]
pub struct Collector {
    url: Url,
    batches: mpsc::UnboundedSender<Batch>,
}

impl Collector {
    /// Returns the collector at an address, and what sends to it until the way is dropped, or why nothing can.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(address: &str) -> Result<(Self, reqwest::Result<impl Future<Output = ()> + Send + use<>>), Failure> {
        let url = traces_at(address).ok_or_else(|| {
            // The address is not repeated: it can hold a password.
            Failure::Usage("--otlp-url must be an address such as http://127.0.0.1:4318".to_owned())
        })?;
        // One batch is sent at a time, and waits in the exporter until then.
        let (batches, waiting) = mpsc::unbounded_channel();
        let client = reqwest::Client::builder().timeout(LONGEST_REQUEST).build();
        Ok((Collector { url, batches }, client.map(|client| send(client, waiting))))
    }

    /// Returns where traces are posted to.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }
}

#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Answer {
        let (reply, answer) = oneshot::channel();
        self.batches.send((request, reply))?;
        answer.await?
    }
}

/// Sends batches one after the other. The log says when the collector begins to fail and when it takes traces again.
async fn send(client: reqwest::Client, mut batches: mpsc::UnboundedReceiver<Batch>) {
    let mut is_failing = false;
    while let Some((request, reply)) = batches.recv().await {
        let answer = post(&client, request).await;
        let failure = match &answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("status {}", answer.status().as_u16())),
            Err(error) => Some(error.to_string()),
        };
        match failure {
            Some(error) if !is_failing => tracing::warn!(error, "traces could not be sent and are lost"),
            None if is_failing => tracing::info!("traces are sent again"),
            _ => {}
        }
        is_failing = !matches!(&answer, Ok(answer) if answer.status().is_success());
        // An exporter that no longer waits has run out of time.
        let _ = reply.send(answer);
    }
}

async fn post(client: &reqwest::Client, request: Request<Bytes>) -> Answer {
    let request = reqwest::Request::try_from(request)?;
    // Without its address, which can hold a password.
    let answer = client.execute(request).await.map_err(reqwest::Error::without_url)?;
    let mut response = Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(answer.headers());
    }
    Ok(response.body(answer.bytes().await.map_err(reqwest::Error::without_url)?)?)
}

/// Returns the address below a collector's own that takes traces, as the specification of OTLP names it.
fn traces_at(address: &str) -> Option<Url> {
    const PATH: &str = "/v1/traces";
    let mut url = Url::parse(address).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host())?;
    let path = url.path().trim_end_matches('/');
    let path = if path.ends_with(PATH) { path.to_owned() } else { format!("{path}{PATH}") };
    url.set_path(&path);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_below_the_address_of_the_collector() {
        let at = |address: &str| traces_at(address).map(String::from);
        let traces = Some("http://127.0.0.1:4318/v1/traces".to_owned());
        assert_eq!(at("http://127.0.0.1:4318"), traces);
        assert_eq!(at("http://127.0.0.1:4318/"), traces);
        assert_eq!(at("http://127.0.0.1:4318/v1/traces"), traces);
        assert_eq!(at("https://c.example/in/"), Some("https://c.example/in/v1/traces".to_owned()));
        for wrong in ["127.0.0.1:4318", "collector", "grpc://c.example:4317", ""] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
