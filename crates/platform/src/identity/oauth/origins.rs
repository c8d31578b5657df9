//! Origins of the pages that may call from a browser: those of the https addresses at which clients are answered.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use boxed_futures::boxed_futures;

use super::redirect::origin_of_pages;
use crate::core::error::Result;
use crate::identity::Identity;

/// Time for which origins that were read count, ms: a page whose client was just registered waits so long at most. Without
/// this, anyone who sends an origin could make the service read the list of clients each time.
const COUNT_MS: i64 = 5_000;

#[boxed_futures]
impl Identity {
    /// Returns whether an origin, as a browser sends it, is one at which a client that is not removed is answered.
    pub async fn is_origin_of_client(&self, origin: &str) -> Result<bool> {
        Ok(self.origins_of_clients().await?.contains(origin))
    }

    async fn origins_of_clients(&self) -> Result<Arc<BTreeSet<String>>> {
        let now_ms = self.core.now_ms();
        let known = self.memory.origins.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A clock that was put back makes them old as well.
        if let Some((_, origins)) = known.filter(|(read_ms, _)| (0..COUNT_MS).contains(&(now_ms - read_ms))) {
            return Ok(origins);
        }
        let clients = self.core.users().oauth_clients().await?;
        let in_force = clients.into_iter().filter(|(client, _)| client.removed_ms.is_none());
        let addresses = in_force.flat_map(|(_, redirect_uris)| redirect_uris);
        let origins = Arc::new(addresses.filter_map(|address| origin_of_pages(&address)).collect());
        *self.memory.origins.lock().unwrap_or_else(PoisonError::into_inner) = Some((now_ms, Arc::clone(&origins)));
        Ok(origins)
    }
}
