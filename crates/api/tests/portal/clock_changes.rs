//! Charts and heat maps of the days on which clocks change: 23 and 25 hours, none lost and none twice.

use serde_json::{Value, json};
use store::Role;

use crate::browser::Browser;
use crate::common::{Enrolled, Story};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// A zone, a local day with its midnight, and how long it lasts.
struct ChangeDay {
    zone: &'static str,
    date: &'static str,
    midnight_ms: i64,
    minutes: i64,
}

/// All of them before the stories begin.
const DAYS: [ChangeDay; 5] = [
    ChangeDay { zone: "Europe/Zurich", date: "2025-03-30", midnight_ms: 1_743_289_200_000, minutes: 23 * 60 },
    ChangeDay { zone: "Europe/Zurich", date: "2025-10-26", midnight_ms: 1_761_429_600_000, minutes: 25 * 60 },
    ChangeDay { zone: "America/New_York", date: "2025-11-02", midnight_ms: 1_762_056_000_000, minutes: 25 * 60 },
    // Its clocks change by half an hour.
    ChangeDay {
        zone: "Australia/Lord_Howe",
        date: "2025-10-05",
        midnight_ms: 1_759_584_600_000,
        minutes: 23 * 60 + 30,
    },
    ChangeDay {
        zone: "Australia/Lord_Howe",
        date: "2025-04-06",
        midnight_ms: 1_743_858_000_000,
        minutes: 24 * 60 + 30,
    },
];

struct Study {
    story: Story,
    browser: Browser,
    group: String,
    patient: Enrolled,
}

impl Study {
    /// Makes a study whose patient lives in a zone and has a row for each minute of a day, with an hour on both sides.
    async fn with(day: &ChangeDay) -> Self {
        let story = Story::begin().await;
        let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": day.zone})).await;
        let times: Vec<i64> = (-60..day.minutes + 60).map(|minute| day.midnight_ms + minute * MINUTE_MS).collect();
        // The heart rate is the hour since midnight.
        let bpm: Vec<i64> = (-60..day.minutes + 60).map(|minute: i64| 60 + minute.div_euclid(60)).collect();
        story.sync(&patient, json!({"activity": {"timestamp": times, "bpm": bpm}})).await;
        Study { story, browser, group, patient }
    }

    async fn get(&self, path: &str) -> Value {
        self.browser.get(&self.story, path).await.ok()
    }

    async fn by_hour(&self, date: &str) -> Value {
        self.get(&format!("/portal/api/patients/{}/compliance?date={date}", self.patient.uuid)).await
    }
}

fn counts(list: &Value) -> Vec<i64> {
    list.as_array().expect("a list").iter().map(|count| count.as_i64().expect("a count")).collect()
}

#[tokio::test]
async fn hours_of_such_a_day_have_the_rows_of_their_own_hour() {
    for day in DAYS {
        let study = Study::with(&day).await;
        let map = study.by_hour(day.date).await;
        let hours = (day.minutes + 59) / 60;
        assert_eq!(map["hours"], hours, "{} {}", day.zone, day.date);
        let of_type = &map["types"][0];
        assert_eq!(of_type["type"], "activity");
        // A day that ends within an hour has a last hour of half the rows.
        let expected: Vec<i64> = (0..hours).map(|hour| (day.minutes - hour * 60).min(60)).collect();
        assert_eq!(counts(&of_type["received"]), expected, "{} {}", day.zone, day.date);
        assert_eq!(counts(&of_type["expected"]), expected, "{} {}", day.zone, day.date);
    }
}

#[tokio::test]
async fn neighbours_of_such_a_day_have_their_hour_and_no_row_is_on_two_days() {
    for day in DAYS {
        let study = Study::with(&day).await;
        let date: jiff::civil::Date = day.date.parse().expect("a date");
        let (before, after) = (date.yesterday().expect("a day"), date.tomorrow().expect("a day"));
        let mut total = 0;
        for (date, first, last) in [(before, 0, 60), (date, 60, (day.minutes - 1) % 60 + 1), (after, 60, 0)] {
            let received = counts(&study.by_hour(&date.to_string()).await["types"][0]["received"]);
            assert_eq!((received[0], received[received.len() - 1]), (first, last), "{} {date}", day.zone);
            total += received.iter().sum::<i64>();
        }
        assert_eq!(total, day.minutes + 120, "{} {}", day.zone, day.date);
    }
}

#[tokio::test]
async fn heat_map_of_a_study_expects_the_slots_that_the_day_has() {
    for day in DAYS {
        let study = Study::with(&day).await;
        let date: jiff::civil::Date = day.date.parse().expect("a date");
        let (from, to) = (date.yesterday().expect("a day"), date.tomorrow().expect("a day"));
        let map = study.get(&format!("/portal/api/groups/{}/compliance?from={from}&to={to}", study.group)).await;
        let row = &map["patients"][0];
        let slots = day.minutes / 5;
        assert_eq!(counts(&row["received"]), [12, slots, 12], "{} {}", day.zone, day.date);
        assert_eq!(counts(&row["expected"]), [288, slots, 288], "{} {}", day.zone, day.date);
        assert_eq!(row["percent"][1], 100.0, "{} {}", day.zone, day.date);
    }
}

#[tokio::test]
async fn series_run_on_through_the_change() {
    for day in DAYS {
        let study = Study::with(&day).await;
        let (from, to) = (day.midnight_ms, day.midnight_ms + day.minutes * MINUTE_MS - 1);
        let series = async |points: i64| {
            let query = format!("from={from}&to={to}&points={points}&series[]=activity.bpm");
            study.get(&format!("/portal/api/patients/{}/series?{query}", study.patient.uuid)).await
        };
        let every_row = series(10_000).await;
        let times = counts(&every_row["series"][0]["t"]);
        let expected: Vec<i64> = (0..day.minutes).map(|minute| day.midnight_ms + minute * MINUTE_MS).collect();
        assert_eq!(times, expected, "{} {}: each minute once, in order", day.zone, day.date);
        assert_eq!(every_row["gaps"], json!([]), "{} {}", day.zone, day.date);

        // A point for each hour: lowest and highest are those of the hour, so no hour lies on another.
        let by_hour = series(day.minutes / 60).await;
        let bucket_ms = by_hour["bucket_ms"].as_f64().expect("a length");
        let hours = day.minutes as f64 / (day.minutes / 60) as f64 * MINUTE_MS as f64;
        assert!((bucket_ms - hours).abs() < 1.0, "{} {}: {bucket_ms}", day.zone, day.date);
        let (low, high) = (&by_hour["series"][0]["min"], &by_hour["series"][0]["max"]);
        for (at, (low, high)) in low.as_array().expect("lows").iter().zip(high.as_array().expect("highs")).enumerate() {
            let first = 60 + (at as f64 * bucket_ms / HOUR_MS as f64).floor() as i64;
            let (low, high) = (low.as_f64().expect("a rate") as i64, high.as_f64().expect("a rate") as i64);
            assert_eq!(low, first, "{} {} {at}", day.zone, day.date);
            assert!((low..=low + 1).contains(&high), "{} {} {at}: {high}", day.zone, day.date);
        }
    }
}
