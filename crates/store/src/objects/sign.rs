//! Addresses that open one object for a while, where the store can sign them.

use std::time::Duration;

use boxed_futures::boxed_futures;
use object_store::signer::{Method, SignedUrlOptions, Signer};

use super::store::{Objects, Place, location};
use crate::error::Result;

#[boxed_futures]
impl Objects {
    /// Returns an address that the store itself has signed; none when objects lie in a folder, which cannot. `name` is
    /// what the object is called when it is saved.
    pub async fn signed_url(&self, path: &str, name: &str, lifetime: Duration) -> Result<Option<String>> {
        let Place::Bucket { signer, prefix } = &self.place else { return Ok(None) };
        let full = if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
        let saved_as = ("response-content-disposition", format!("attachment; filename=\"{name}\""));
        let options = SignedUrlOptions::default().with_query([saved_as]);
        let url = signer.signed_url_opts(Method::GET, &location(&full)?, lifetime, &options).await?;
        Ok(Some(url.to_string()))
    }
}
