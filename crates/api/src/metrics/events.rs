//! Metrics of the event logs.

use platform::Platform;
use prometheus::proto::MetricFamily;

use super::families::gauges;

/// Returns how far readers of each log are behind; none when a database does not answer.
pub(super) async fn family(platform: &Platform) -> Option<MetricFamily> {
    let lags = platform.upkeep.event_lags_ms().await.ok()?;
    let help = "Age of the oldest event that readers cannot see yet, by database.";
    let values = lags.iter().map(|(database, lag_ms)| ([("database", &**database)], *lag_ms as f64 / 1e3));
    Some(gauges("pulseward_event_lag_seconds", help, values))
}
