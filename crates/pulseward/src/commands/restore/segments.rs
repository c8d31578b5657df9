//! `pulseward restore DIR --segment PATH`: single sealed files that are missing or damaged, back from a backup or a second
//! bucket, also while the service runs.

use std::path::Path;

use platform::Platform;
use serde_json::{Value, json};
use store::Objects;

use crate::commands::backup::manifest::OBJECTS;
use crate::config::StoreOptions;
use crate::failure::Failure;
use crate::wiring::objects::{self, Transport};
use crate::wiring::{self, Expected};

/// Brings the files back; answers which, and how large they are.
pub async fn restore(from: &Path, paths: &[String], store: &StoreOptions) -> Result<Value, Failure> {
    let copies = copies(from, Transport::of(store.objects_allow_http))?;
    let bring_back = async |platform: &Platform| {
        let mut restored = Vec::new();
        for path in paths {
            let bytes = platform.upkeep.bring_back(path, &copies).await;
            let bytes = bytes.map_err(|error| Failure::Other(format!("{path}: {error}")))?;
            restored.push(json!({"path": path, "bytes": bytes}));
        }
        Ok(json!({"segments": restored}))
    };
    wiring::with_stores(store, Expected::Store, bring_back).await
}

/// Returns the objects of a backup's folder, or those at an address.
fn copies(from: &Path, transport: Transport) -> Result<Objects, Failure> {
    match from.to_str() {
        Some(url) if url.contains("://") => objects::existing(url, transport),
        // A backup of a store with a bucket lists its objects and has no copies of them.
        _ => Ok(Objects::existing_folder(&from.join(OBJECTS))?),
    }
}
