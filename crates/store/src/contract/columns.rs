//! The health database has no place for a name, an e-mail, an external id or a group name.

use std::collections::BTreeSet;

/// Every column that the health database may have. A new one has to be added here, by someone who has asked himself
/// whether it tells who the patient is.
const ALLOWED: &[&str] = &[
    "chunk.arrival",
    "chunk.channel",
    "chunk.data_type",
    "chunk.first_us",
    "chunk.last_us",
    "chunk.patient",
    "chunk.payload",
    "chunk.row_count",
    "daily_summary.body",
    "daily_summary.format",
    "daily_summary.local_day",
    "daily_summary.patient",
    "daily_summary.section",
    "dead_object.dead_since_ms",
    "dead_object.path",
    "device.battery_level",
    "device.device_type",
    "device.firmware_version",
    "device.patient",
    "device.serial_number",
    "device.updated_ms",
    "due.arrival",
    "due.data_type",
    "due.first_us",
    "due.last_us",
    "due.patient",
    "due.ready_ms",
    "latest_value.body",
    "latest_value.patient",
    "news_entry.body",
    "news_entry.patient",
    "news_entry.time_ms",
    "open_hour.data_type",
    "open_hour.hour_us",
    "open_hour.patient",
    "open_hour.ready_ms",
    "patient.arrivals",
    "patient.birthday",
    "patient.created_ms",
    "patient.customer_code",
    "patient.fold_lease_until_ms",
    "patient.fold_token",
    "patient.gender",
    "patient.hair_density",
    "patient.height",
    "patient.record_id",
    "patient.skin_color",
    "patient.time_zone",
    "patient.updated_ms",
    "patient.uuid",
    "patient.weight",
    "patient_setting.body",
    "patient_setting.name",
    "patient_setting.patient",
    "patient_setting.valid_from_ms",
    "schema_version.version",
    "segment.bytes",
    "segment.data_type",
    "segment.first_us",
    "segment.generation",
    "segment.last_us",
    "segment.path",
    "segment.patient",
    "segment.period_start_us",
    "segment.row_count",
    "segment.sealed_ms",
    "segment.sha256",
    "session.actor",
    "session.api_key",
    "session.ended_ms",
    "session.expires_ms",
    "session.first_issued_ms",
    "session.id",
    "session.issued_ms",
    "session.patient",
    "session.replaced_ms",
    "session.scope",
    "signing_key.created_ms",
    "signing_key.kid",
    "signing_key.public_key",
    "signing_key.retired_ms",
    "signing_key.sealed_key",
    "slot.cells",
    "slot.data_type",
    "slot.local_day",
    "slot.patient",
    "sync.arrival",
    "sync.content_hash",
    "sync.patient",
    "sync.received_ms",
    "sync.sync_id",
    "tally.data_type",
    "tally.offset_s",
    "tally.patient",
    "tally.quarter_us",
    "tally.samples",
];

const COLUMNS: &str = "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'";

#[tokio::test]
async fn the_health_database_has_no_column_for_a_person() {
    let stores = super::Stores::sqlite().await;
    let columns = stores.health.db.read(|tx| tx.query(COLUMNS, &[], |row| row.get::<String>(0))).await;
    let columns: BTreeSet<String> = columns.expect("the columns").into_iter().collect();
    let allowed: BTreeSet<String> = ALLOWED.iter().map(|column| (*column).to_owned()).collect();
    let unknown: Vec<_> = columns.difference(&allowed).collect();
    assert!(unknown.is_empty(), "not on the list: {unknown:?}");
    let gone: Vec<_> = allowed.difference(&columns).collect();
    assert!(gone.is_empty(), "on the list, but not in the database: {gone:?}");
}
