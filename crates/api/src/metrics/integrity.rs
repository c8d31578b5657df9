//! Metrics of what is damaged, and of the pass that looks for it.

use platform::{ESSENTIALS, Platform};
use prometheus::proto::MetricFamily;
use store::ObjectFault;

use super::families::gauges;

/// Returns what is known on all nodes; left out when the database does not answer.
pub(super) async fn families(platform: &Platform) -> Vec<MetricFamily> {
    let mut families = Vec::new();
    if let Ok(damage) = platform.upkeep.damage().await {
        let faults = ObjectFault::ALL.iter().map(|fault| ([("fault", fault.name())], damage.count(*fault) as f64));
        families.push(gauges("pulseward_damaged_files", "Sealed files that are missing or damaged.", faults));
    }
    if let Ok(rows) = platform.upkeep.damaged_rows().await {
        let help = "Stretches of rows in the database that were found damaged.";
        families.push(gauges("pulseward_damaged_rows", help, [([], rows.stretches as f64)]));
    }
    if let Ok(logs) = platform.upkeep.damaged_log_counts() {
        let help = "Write-ahead logs that were damaged when they were read after a crash, and are kept.";
        let logs = logs.map(|(database, logs)| ([("database", database)], logs as f64));
        families.push(gauges("pulseward_damaged_logs", help, logs));
    }
    if let Ok(damaged) = platform.upkeep.damaged_essentials().await {
        // A line for each of them, so that the first damage is a change of a series that is there.
        let tables = ESSENTIALS.map(|(database, table)| {
            let is_damaged = damaged.iter().any(|found| (found.database, found.table) == (database, table));
            ([("database", database), ("table", table)], f64::from(u8::from(is_damaged)))
        });
        let help = "1 while a table of signing keys or of the store's identity is damaged, else 0.";
        families.push(gauges("pulseward_damaged_tables", help, tables));
    }
    // Absent until it is known: a 0 would be a log that was signed in 1970.
    if let Some(signed_ms) = platform.upkeep.audit_signed_ms() {
        let help = "When a signed checkpoint was last seen to cover the whole audit log, seconds since 1970.";
        families.push(gauges("pulseward_audit_checkpoint_timestamp_seconds", help, [([], signed_ms as f64 / 1e3)]));
    }
    if let Ok(Some(state)) = platform.upkeep.scrub_state().await {
        let help = "Bytes that the pass over everything stored has read, of the pass under way or the last one.";
        families.push(gauges("pulseward_scrub_bytes", help, [([], state.bytes as f64)]));
        if let Some(ended_ms) = state.ended_ms {
            let help = "When the last pass over everything stored has ended, seconds since 1970; absent during a pass.";
            families.push(gauges("pulseward_scrub_ended_timestamp_seconds", help, [([], ended_ms as f64 / 1e3)]));
        }
    }
    families
}
