//! Work that blocks a thread.

use crate::error::{Result, StoreError};

/// Runs blocking work off the async threads.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let joined = runtime::blocking("store", work).await;
    joined.unwrap_or_else(|error| Err(StoreError::Database(format!("store work stopped: {error}"))))
}
