//! Where stored bytes are not what was written.

use std::fmt;

use vitals::zone::timestamp_of;

/// What is damaged: rows of a type, or what was derived from them, in a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRows {
    /// Name of the data type, or of what is derived.
    pub what: String,
    /// First time that may be damaged, µs.
    pub first_us: i64,
    /// Last time that may be damaged, µs.
    pub last_us: i64,
    /// What was found, for the log.
    pub reason: String,
}

impl DamagedRows {
    /// Returns what a client may be shown: type and period, and nothing of how they are stored.
    pub fn sentence(&self) -> String {
        let (first, last) = (timestamp_of(self.first_us), timestamp_of(self.last_us));
        format!("stored {} from {first} to {last} are damaged and are not shown", self.what)
    }
}

impl fmt::Display for DamagedRows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.sentence(), self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_names_type_and_period_and_not_how_they_are_stored() {
        let (what, reason) = ("activity".to_owned(), "payload of 7 bytes".to_owned());
        let rows = DamagedRows { what, first_us: 0, last_us: 1_000_000, reason };
        let sentence =
            "stored activity from 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z are damaged and are not shown";
        assert_eq!(rows.sentence(), sentence);
        assert!(rows.to_string().ends_with("payload of 7 bytes"), "{rows}");
    }
}
