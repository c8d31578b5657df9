//! Metrics of the event logs.

use platform::Platform;

use super::text::{heading, line};

/// Writes how far readers of each log are behind; left out when a database does not answer.
pub(super) async fn write(platform: &Platform, text: &mut String) {
    let Ok(lags) = platform.upkeep.event_lags_ms().await else { return };
    let name = "pulseward_event_lag_seconds";
    heading(text, name, "gauge", "Age of the oldest event that readers cannot see yet, by database.");
    for (database, lag_ms) in lags {
        line(text, &format!("{name}{{database=\"{database}\"}} {}", lag_ms as f64 / 1e3));
    }
}
