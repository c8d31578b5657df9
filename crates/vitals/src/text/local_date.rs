//! The `date` column: the local date and time of a sample with its offset, such as `2026-03-29T03:00:00.000+02:00`.

use crate::zone::{DAY_US, LocalClock, LocalDay, ZoneName};

/// Writes dates. Rows come in the order of time, so the text of the last second is kept and only changed where it
/// differs.
#[derive(Debug)]
pub struct LocalDates {
    zone: Option<ZoneName>,
    clock: LocalClock,
    second: i64,
    offset_s: i32,
    text: [u8; 29],
}

impl Default for LocalDates {
    fn default() -> Self {
        LocalDates {
            zone: None,
            clock: LocalClock::new("UTC"),
            second: i64::MIN,
            offset_s: 0,
            text: *b"0000-00-00T00:00:00.000+00:00",
        }
    }
}

impl LocalDates {
    /// Returns the date of a time in a zone, 29 characters. Valid until the next call.
    pub fn format(&mut self, time_us: i64, zone: &ZoneName) -> &[u8] {
        if self.zone.as_ref() != Some(zone) {
            self.clock = LocalClock::new(zone);
            self.zone = Some(zone.clone());
            self.second = i64::MIN;
        }
        let second = time_us.div_euclid(1_000_000);
        // A waveform has hundreds of rows in a second that differ in their milliseconds only.
        if second != self.second {
            self.second = second;
            self.write_second(time_us);
        }
        let ms = time_us.rem_euclid(1_000_000) / 1000;
        put_digits(&mut self.text[20..23], ms);
        &self.text
    }

    fn write_second(&mut self, time_us: i64) {
        self.offset_s = self.clock.offset_seconds(time_us);
        let local_us = self.clock.local_us(time_us);
        let date = LocalDay(local_us.div_euclid(DAY_US) as i32).date();
        let second_of_day = local_us.rem_euclid(DAY_US) / 1_000_000;
        put_digits(&mut self.text[0..4], i64::from(date.year()));
        put_digits(&mut self.text[5..7], i64::from(date.month()));
        put_digits(&mut self.text[8..10], i64::from(date.day()));
        put_digits(&mut self.text[11..13], second_of_day / 3600);
        put_digits(&mut self.text[14..16], second_of_day / 60 % 60);
        put_digits(&mut self.text[17..19], second_of_day % 60);
        self.text[23] = if self.offset_s < 0 { b'-' } else { b'+' };
        let offset = i64::from(self.offset_s.abs());
        put_digits(&mut self.text[24..26], offset / 3600);
        put_digits(&mut self.text[27..29], offset / 60 % 60);
    }
}

fn put_digits(text: &mut [u8], mut number: i64) {
    for place in text.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_zone_and_its_clock_changes() {
        let mut dates = LocalDates::default();
        let zurich: ZoneName = "Europe/Zurich".into();
        let new_york: ZoneName = "America/New_York".into();
        let kathmandu: ZoneName = "Asia/Kathmandu".into();
        let mut text = |time_us, zone: &ZoneName| String::from_utf8(dates.format(time_us, zone).to_vec()).unwrap();
        let change_us = 1_774_746_000_000_000; // 2026-03-29T01:00Z
        assert_eq!(text(change_us - 1, &zurich), "2026-03-29T01:59:59.999+01:00");
        assert_eq!(text(change_us, &zurich), "2026-03-29T03:00:00.000+02:00");
        assert_eq!(text(change_us + 1_999, &zurich), "2026-03-29T03:00:00.001+02:00");
        assert_eq!(text(change_us, &new_york), "2026-03-28T21:00:00.000-04:00");
        assert_eq!(text(change_us, &kathmandu), "2026-03-29T06:45:00.000+05:45");
    }
}
