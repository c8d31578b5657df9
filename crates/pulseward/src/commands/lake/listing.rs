//! The listing of a group's files over HTTP, page by page.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::Stream;
use reqwest::Client;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::service::ServiceOptions;

/// Pages of a listing.
pub(super) struct Listing {
    client: Client,
    address: String,
    token: String,
    since: Option<String>,
    ended: bool,
    open: Vec<Open>,
    unreadable: BTreeSet<String>,
}

/// A file that is listed.
#[derive(Deserialize)]
pub(super) struct File {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
    url: String,
}

#[derive(Deserialize)]
struct Page {
    files: Vec<File>,
    next_since: String,
    more: bool,
    /// A service of before has no list of them.
    #[serde(default)]
    open: Vec<Open>,
    #[serde(default)]
    unreadable: Vec<String>,
}

/// From when on rows of a type are not in files yet.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Open {
    #[serde(rename = "type")]
    pub data_type: String,
    pub from: String,
}

impl Listing {
    /// Opens the listing of a service that answers.
    pub(super) async fn open(
        service: &ServiceOptions,
        token: &str,
        group: &str,
        since: Option<String>,
    ) -> Result<Self, Failure> {
        let (client, token) = (service.client()?.build()?, token.to_owned());
        service.reach(&client).await?;
        let address = format!("{}/integration/v1/groups/{group}/lake", service.url.trim_end_matches('/'));
        Ok(Listing { client, address, token, since, ended: false, open: Vec::new(), unreadable: BTreeSet::new() })
    }

    /// The next page; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<File>>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let mut request = self.client.get(&self.address).bearer_auth(&self.token);
        if let Some(since) = &self.since {
            request = request.query(&[("since", since)]);
        }
        let response = request.send().await?;
        if !response.status().is_success() {
            let status = response.status();
            let text = response.text().await.unwrap_or_default();
            return Err(Failure::Other(format!("the service answered {status}: {text}")));
        }
        let page: Page = response.json().await?;
        self.since = Some(page.next_since);
        self.ended = !page.more;
        self.open = page.open;
        self.unreadable.extend(page.unreadable);
        Ok(Some(page.files))
    }

    /// How far the listing is.
    pub(super) fn since(&self) -> Option<&str> {
        self.since.as_deref()
    }

    /// What is not in files yet, as the last page has it.
    pub(super) fn still_open(&self) -> &[Open] {
        &self.open
    }

    /// Patients who have files that could not be listed: what is stored about them is damaged.
    pub(super) fn unreadable(&self) -> &BTreeSet<String> {
        &self.unreadable
    }

    /// The bytes of a file.
    pub(super) async fn fetch(
        &self,
        file: &File,
    ) -> Result<impl Stream<Item = Result<Bytes, reqwest::Error>> + Unpin + use<>, Failure> {
        let response = self.client.get(&file.url).send().await?.error_for_status()?;
        Ok(Box::pin(response.bytes_stream()))
    }
}
