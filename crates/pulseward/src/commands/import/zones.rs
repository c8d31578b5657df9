//! The time zone of each row of an archive: of the zones that its manifest names, the one whose clock shows the row's date.

use vitals::zone::LocalClock;

/// Gives the zone of one row after the other.
pub struct ZoneOfRow {
    zones: Vec<(String, LocalClock)>,
    current: usize,
}

impl ZoneOfRow {
    /// Rows in one of these zones.
    pub fn new(zones: Vec<String>) -> Self {
        let with_clock = |zone: String| {
            let clock = LocalClock::new(&zone);
            (zone, clock)
        };
        ZoneOfRow { zones: zones.into_iter().map(with_clock).collect(), current: 0 }
    }

    /// Returns the zone of the last row; before any, that of most rows.
    pub fn current(&self) -> Option<&str> {
        self.zones.get(self.current).map(|(zone, _)| zone.as_str())
    }

    /// Goes on to a row, given its timestamp (ms) and date; whether its zone is another than that of the row before. A
    /// zone stays while its clock shows what the dates say: two zones may show the same for long.
    pub fn has_changed(&mut self, timestamp: Option<&str>, date: Option<&str>) -> bool {
        // Almost every archive has one zone; its rows need no clock.
        if self.zones.len() < 2 {
            return false;
        }
        let (Some(time_ms), Some(offset_s)) = (timestamp.and_then(whole_ms), date.and_then(offset_of)) else {
            return false;
        };
        let shows = |clock: &mut LocalClock| clock.offset_seconds(time_ms * 1000) == offset_s;
        if shows(&mut self.zones[self.current].1) {
            return false;
        }
        match self.zones.iter_mut().position(|(_, clock)| shows(clock)) {
            Some(other) => {
                self.current = other;
                true
            }
            // No zone of the manifest shows this date: the service is to judge the row.
            None => false,
        }
    }
}

fn whole_ms(text: &str) -> Option<i64> {
    text.split('.').next()?.parse().ok()
}

/// Returns the offset at the end of a date, seconds east of UTC.
fn offset_of(date: &str) -> Option<i32> {
    let offset = date.get(date.len().checked_sub(6)?..)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    match offset.as_bytes()[0] {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_follows_from_the_offset() {
        let mut zones = ZoneOfRow::new(vec!["America/New_York".to_owned(), "Europe/Zurich".to_owned()]);
        let mut zone_at = |date: &str| {
            zones.has_changed(Some("1763600000000"), Some(date));
            zones.current().unwrap().to_owned()
        };
        assert_eq!(zone_at("2025-11-19T19:53:20.000-05:00"), "America/New_York");
        assert_eq!(zone_at("2025-11-20T01:53:20.000+01:00"), "Europe/Zurich");
        assert_eq!(zone_at("2025-11-20T06:38:20.000+05:45"), "Europe/Zurich", "nobody knows better");
    }

    #[test]
    fn one_zone_is_never_left() {
        let mut zones = ZoneOfRow::new(vec!["UTC".to_owned()]);
        assert!(!zones.has_changed(Some("1"), Some("1970-01-01T01:00:00.001+01:00")));
        assert_eq!(ZoneOfRow::new(Vec::new()).current(), None);
    }
}
