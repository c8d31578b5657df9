//! Every table that holds rows of a patient: what erasure empties.
//!
//! `contract/erasure.rs` looks for tables with a column `patient` that are missing here.

use crate::texts::sql;

sql! {
    CHUNK = "DELETE FROM chunk WHERE patient = $1";
    SEGMENT = "DELETE FROM segment WHERE patient = $1";
    DAMAGED_ROW = "DELETE FROM damaged_row WHERE patient = $1";
    DAMAGED_OBJECT = "DELETE FROM damaged_object WHERE patient = $1";
    OPEN_HOUR = "DELETE FROM open_hour WHERE patient = $1";
    UNVERIFIED = "DELETE FROM unverified WHERE patient = $1";
    TALLY = "DELETE FROM tally WHERE patient = $1";
    DUE = "DELETE FROM due WHERE patient = $1";
    SLOTS = "DELETE FROM derived WHERE patient = $1 AND output = 1";
    SECTIONS = "DELETE FROM derived WHERE patient = $1 AND output = 2";
    AF_HOURS = "DELETE FROM derived WHERE patient = $1 AND output = 4";
    NEWS = "DELETE FROM derived WHERE patient = $1 AND output = 5";
    /// Whatever else is computed.
    DERIVED = "DELETE FROM derived WHERE patient = $1";
    LATEST = "UPDATE patient SET latest = NULL WHERE uuid = $1 AND latest IS NOT NULL";
    PATIENT_SETTING = "DELETE FROM patient_setting WHERE patient = $1";
    PATIENT_ALARM = "DELETE FROM patient_alarm WHERE patient = $1";
    DEVICE = "DELETE FROM device WHERE patient = $1";
    /// Before the sessions, which show whose they are.
    OAUTH_REFRESH_TOKEN = "DELETE FROM oauth_refresh_token
        WHERE family IN (SELECT family FROM session WHERE patient = $1)";
    OAUTH_CODE = "DELETE FROM oauth_code WHERE patient = $1";
    EXPORT_JOB = "DELETE FROM export_job WHERE patient = $1";
    JOB = "DELETE FROM job WHERE patient = $1";
    EXPORT_LIMIT = "DELETE FROM export_limit WHERE patient = $1";
    RETIRED = "DELETE FROM retired WHERE patient = $1";
    SESSION = "DELETE FROM session WHERE patient = $1";
    SYNC = "UPDATE event SET sync_id = NULL WHERE patient = $1 AND (type = 'sync.stored' OR type = 'sync.repeated')";
    /// Readers of the log count positions, so the rows stay.
    EVENT = "UPDATE event SET body = '{}', sync_id = NULL, content_hash = NULL WHERE patient = $1";
    PATIENT = "DELETE FROM patient WHERE uuid = $1";
}

/// The kind that a receipt counts the rows of a table under, or nothing for rows that mean nothing to anybody, and the
/// statement that removes those of a patient.
pub(crate) const DELETE: [(&str, &str); 27] = [
    ("chunks", CHUNK),
    ("segments", SEGMENT),
    ("", DAMAGED_OBJECT),
    ("", DAMAGED_ROW),
    ("", OPEN_HOUR),
    ("", UNVERIFIED),
    ("", TALLY),
    ("", DUE),
    ("slots", SLOTS),
    ("summaries", SECTIONS),
    ("afib_hours", AF_HOURS),
    ("news_entries", NEWS),
    ("", DERIVED),
    ("latest_values", LATEST),
    ("settings", PATIENT_SETTING),
    ("alarms", PATIENT_ALARM),
    ("devices", DEVICE),
    ("exports", EXPORT_JOB),
    ("", JOB),
    ("", EXPORT_LIMIT),
    ("", RETIRED),
    ("", OAUTH_REFRESH_TOKEN),
    ("", OAUTH_CODE),
    ("health_sessions", SESSION),
    ("syncs", SYNC),
    ("", EVENT),
    ("profiles", PATIENT),
];
