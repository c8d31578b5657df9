//! What is counted for operators, and its text for Prometheus.
//!
//! Labels are routes as they are written in the code, methods, statuses, data types: nothing of a request itself.

pub(crate) mod counted;
mod events;
mod jobs;
mod stores;
mod text;

pub use counted::Metrics;
pub use text::gauge;

use crate::state::ApiState;

/// The metrics of a node in the text format of Prometheus, version 0.0.4. What it asks the stores for is left out when
/// they do not answer.
pub async fn metrics_text(state: &ApiState) -> String {
    let mut text = String::new();
    state.metrics.write_requests(&mut text);
    state.metrics.write_syncs(&mut text);
    let under_way = state.limits.requests_at_once.saturating_sub(state.requests.available_permits());
    gauge(&mut text, "pulseward_requests_under_way", "Requests that are being answered.", under_way as u64);
    let held = state.uploads.held_bytes() as u64;
    gauge(&mut text, "pulseward_upload_memory_bytes", "Memory that uploads under way are counted with.", held);
    if let Ok(waiting) = state.platform.data.patients_due().await {
        let help = "Patients whose derived values wait to be computed, on all nodes.";
        gauge(&mut text, "pulseward_fold_queue_patients", help, waiting);
    }
    jobs::write(&state.platform, &mut text).await;
    events::write(&state.platform, &mut text).await;
    stores::write(&state.platform.upkeep.store_counts(), &mut text);
    text
}
