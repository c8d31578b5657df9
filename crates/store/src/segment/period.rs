//! The stretch of time that one segment covers: a UTC day or a UTC month.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use vitals::registry::{DataType, Period};
use vitals::zone::timestamp_of;

/// One UTC day or month, as the type has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SealedPeriod {
    /// First instant, µs since 1970.
    pub start_us: i64,
    /// First instant of the next period, µs since 1970.
    pub end_us: i64,
}

impl SealedPeriod {
    /// Returns the period of a type in which a time lies.
    pub fn of(data_type: DataType, time_us: i64) -> Self {
        let date = utc_date(time_us);
        let (first, next) = match data_type.period() {
            Period::Day => (date, date.tomorrow()),
            Period::Month => (date.first_of_month(), date.last_of_month().tomorrow()),
        };
        SealedPeriod { start_us: midnight_us(first), end_us: midnight_us(next.unwrap_or(Date::MAX)) }
    }

    /// Returns the folder of the period in an object's path, `period=2026-11-20`. One key and a whole date for all types, the
    /// first day also of a month, so that readers of several types see one column of dates.
    pub(super) fn folder(self) -> String {
        format!("period={}", utc_date(self.start_us))
    }

    /// Returns the folder that the period had before there was one key for all types: `day=2026-11-20` or `month=2026-11`.
    pub(super) fn former_folder(self, data_type: DataType) -> String {
        let date = self.date_text(data_type);
        match data_type.period() {
            Period::Day => format!("day={date}"),
            Period::Month => format!("month={date}"),
        }
    }

    /// Returns the period in UTC: `2026-11-20` or `2026-11`.
    pub fn date_text(self, data_type: DataType) -> String {
        let date = utc_date(self.start_us);
        match data_type.period() {
            Period::Day => date.to_string(),
            Period::Month => format!("{:04}-{:02}", date.year(), date.month()),
        }
    }
}

fn utc_date(time_us: i64) -> Date {
    TimeZone::UTC.to_datetime(timestamp_of(time_us)).date()
}

fn midnight_us(date: Date) -> i64 {
    TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).map_or(i64::MAX, jiff::Timestamp::as_microsecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(text: &str) -> i64 {
        text.parse::<jiff::Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn waveforms_have_days_and_series_have_months() {
        let last = us("2028-02-29T23:59:59.999999Z");
        let day = SealedPeriod::of(DataType::Ppg2, last);
        assert_eq!(day, SealedPeriod { start_us: us("2028-02-29T00:00:00Z"), end_us: us("2028-03-01T00:00:00Z") });
        assert_eq!(SealedPeriod::of(DataType::Ppg2, last + 1).start_us, day.end_us);
        let month = SealedPeriod::of(DataType::Tests, last);
        assert_eq!(month, SealedPeriod { start_us: us("2028-02-01T00:00:00Z"), end_us: us("2028-03-01T00:00:00Z") });
        assert_eq!(SealedPeriod::of(DataType::Tests, us("2027-12-31T12:00:00Z")).end_us, us("2028-01-01T00:00:00Z"));
    }

    #[test]
    fn folders_name_the_period() {
        let time_us = us("2026-01-02T03:04:05Z");
        let folders = |data_type| {
            let period = SealedPeriod::of(data_type, time_us);
            (period.folder(), period.former_folder(data_type))
        };
        assert_eq!(folders(DataType::Acc), ("period=2026-01-02".to_owned(), "day=2026-01-02".to_owned()));
        assert_eq!(folders(DataType::Sleep), ("period=2026-01-01".to_owned(), "month=2026-01".to_owned()));
    }
}
