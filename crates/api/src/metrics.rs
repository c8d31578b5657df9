//! What is counted for operators, and its text for Prometheus.
//!
//! Labels are routes as they are written in the code, methods, statuses, data types: nothing of a request itself.

pub(crate) mod counted;
mod events;
mod exports;
mod families;
mod integrity;
mod jobs;
mod stores;

pub use counted::Metrics;
pub use families::append_gauges;

use families::{gauges, text_of};

use crate::operations::are_stores_ready;
use crate::state::ApiState;

/// Returns the metrics of a node in the text format of Prometheus, version 0.0.4. What it asks the stores for is left
/// out when they do not answer.
pub async fn metrics_text(state: &ApiState) -> String {
    let mut families = state.metrics.families();
    let under_way = state.limits.requests_at_once.saturating_sub(state.places.free());
    let held = state.uploads.held_bytes();
    families.extend([
        gauges("pulseward_requests_under_way", "Requests that are being answered.", [([], under_way as f64)]),
        gauges("pulseward_upload_memory_bytes", "Memory that uploads under way are counted with.", [([], held as f64)]),
    ]);
    let is_ready = f64::from(u8::from(are_stores_ready(&state.platform).await));
    let help = "1 while both databases and the objects can be read and written, as /readyz says, else 0.";
    families.push(gauges("pulseward_ready", help, [([], is_ready)]));
    if let Ok(waiting) = state.platform.data.patients_due().await {
        let help = "Patients whose derived values wait to be computed, on all nodes.";
        families.push(gauges("pulseward_fold_queue_patients", help, [([], waiting as f64)]));
    }
    families.extend(jobs::families(&state.platform).await);
    families.extend(exports::families(&state.platform).await);
    families.extend(integrity::families(&state.platform).await);
    families.extend(events::family(&state.platform).await);
    families.extend(stores::families(&state.platform.upkeep.store_counts()));
    text_of(families)
}
