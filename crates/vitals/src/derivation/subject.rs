//! What formulas ask about a patient: the body, and settings over time.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::heart::MaxHeartRateRule;
use crate::news_timeline::{Assumed, SettingsAt};
use crate::news2::{Consciousness, Settings, Spo2Scale};
use crate::summary::{Profile, SummarySettings, max_bpm_on};
use crate::zone::{LocalClock, LocalDay};

/// Name of the setting of NEWS: `{"spo2_scale": 1, "oxygen": false, "consciousness": "A"}`. A field that is absent
/// keeps what was set before; null takes it away.
pub const NEWS_SETTING: &str = "news";
/// Name of the setting of the day's goal: a number of steps.
pub const GOAL_SETTING: &str = "activity_goal_steps";
/// Name of the setting of the highest heart rate: `"fox"` or `"tanaka"`.
pub const RULE_SETTING: &str = "max_heart_rate_rule";

/// Name of the setting of the weight: kilograms.
pub const WEIGHT_SETTING: &str = "weight";

/// A value of a setting, and from when on it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the setting.
    pub name: String,
    /// Valid from this time on, ms since 1970.
    pub valid_from_ms: i64,
    /// JSON.
    pub body: String,
}

/// A patient as formulas see them.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The body as it is known now.
    profile: Profile,
    clock: LocalClock,
    settings: Vec<Setting>,
}

impl Subject {
    /// Returns the patient with a body, a time zone and all values of the settings.
    pub fn new(profile: Profile, time_zone: &str, mut settings: Vec<Setting>) -> Self {
        settings.sort_by_key(|setting| setting.valid_from_ms);
        Subject { profile, clock: LocalClock::new(time_zone), settings }
    }

    /// Returns the value of a setting at a time; `None` when it was not set yet or cannot be read.
    fn setting_at<'rows, T: Deserialize<'rows>>(&'rows self, name: &str, time_ms: i64) -> Option<T> {
        let valid = |setting: &&Setting| setting.name == name && setting.valid_from_ms <= time_ms;
        let newest = self.settings.iter().rfind(valid)?;
        serde_json::from_str(&newest.body).ok()
    }

    /// Returns what NEWS takes from settings at a time: each field as it was last set until then.
    pub fn news_settings(&self, time_ms: i64) -> SettingsAt {
        let mut set = NewsSetting::default();
        for setting in &self.settings {
            if setting.name == NEWS_SETTING && setting.valid_from_ms <= time_ms {
                let change: Map<String, Value> = serde_json::from_str(&setting.body).unwrap_or_default();
                take_over(&mut set.spo2_scale, &change, "spo2_scale");
                take_over(&mut set.oxygen, &change, "oxygen");
                take_over(&mut set.consciousness, &change, "consciousness");
            }
        }
        let spo2_scale = set.spo2_scale.and_then(Spo2Scale::from_number);
        let consciousness = set.consciousness.as_deref().and_then(Consciousness::from_letter);
        SettingsAt {
            settings: Settings {
                spo2_scale: spo2_scale.unwrap_or_default(),
                oxygen: set.oxygen.unwrap_or_default(),
                consciousness: consciousness.unwrap_or_default(),
            },
            assumed: Assumed {
                spo2_scale: spo2_scale.is_none(),
                oxygen: set.oxygen.is_none(),
                consciousness: consciousness.is_none(),
            },
        }
    }

    /// Returns the time of the newest change of what NEWS takes from settings, ms.
    pub fn newest_news_setting_ms(&self) -> Option<i64> {
        let newest = self.settings.iter().rfind(|setting| setting.name == NEWS_SETTING);
        newest.map(|setting| setting.valid_from_ms)
    }

    /// Returns the times between two times (both included, ms) at which what NEWS takes from settings changed, in order.
    pub fn news_settings_changes(&self, from_ms: i64, to_ms: i64) -> Vec<i64> {
        let of_news = self.settings.iter().filter(|setting| setting.name == NEWS_SETTING);
        let mut times: Vec<i64> = of_news.map(|setting| setting.valid_from_ms).collect();
        times.dedup();
        times.retain(|time_ms| {
            (from_ms..=to_ms).contains(time_ms) && self.news_settings(*time_ms) != self.news_settings(time_ms - 1)
        });
        times
    }

    /// Returns the body on a day: the weight is the one that was known when the day ended, before the first one that
    /// one; the rest of a body does not change.
    pub fn profile_on(&self, day: LocalDay) -> Profile {
        let end_ms = day.span_us(&self.clock).1 / 1000 - 1;
        let is_weight = |setting: &&Setting| setting.name == WEIGHT_SETTING;
        let known = self.settings.iter().rfind(|setting| is_weight(setting) && setting.valid_from_ms <= end_ms);
        let Some(kept) = known.or_else(|| self.settings.iter().find(is_weight)) else { return self.profile };
        // A weight that was taken away is kept as null.
        Profile { weight_kg: kept.body.parse().ok(), ..self.profile }
    }

    /// Goal and rule of a day: those valid when it ends.
    pub fn summary_settings(&self, day: LocalDay) -> SummarySettings {
        let end_ms = day.span_us(&self.clock).1 / 1000 - 1;
        let defaults = SummarySettings::default();
        let rule: Option<String> = self.setting_at(RULE_SETTING, end_ms);
        SummarySettings {
            activity_goal_steps: self.setting_at(GOAL_SETTING, end_ms).unwrap_or(defaults.activity_goal_steps),
            max_heart_rate_rule: rule.and_then(|name| MaxHeartRateRule::from_name(&name)).unwrap_or_default(),
        }
    }

    /// Highest heart rate on a day, /min; `None` without a birthday.
    pub fn max_bpm(&self, day: LocalDay) -> Option<f64> {
        max_bpm_on(day, &self.profile, &self.summary_settings(day))
    }

    /// Five-minute slots of a day in the patient's zone.
    pub fn slot_count(&self, day: LocalDay) -> u32 {
        day.slot_count(&self.clock)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NewsSetting {
    spo2_scale: Option<u8>,
    oxygen: Option<bool>,
    consciousness: Option<String>,
}

/// Takes a field of a change over: null takes it away, and one that is absent or cannot be read leaves it.
fn take_over<T: DeserializeOwned>(known: &mut Option<T>, change: &Map<String, Value>, field: &str) {
    if let Some(Ok(value)) = change.get(field).map(|value| serde_json::from_value(value.clone())) {
        *known = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, valid_from_ms: i64, body: &str) -> Setting {
        Setting { name: name.to_owned(), valid_from_ms, body: body.to_owned() }
    }

    #[test]
    fn settings_hold_from_their_time_on_and_what_nobody_set_is_assumed() {
        let settings = vec![
            setting(NEWS_SETTING, 200, r#"{"spo2_scale": 2, "consciousness": "C"}"#),
            setting(NEWS_SETTING, 100, r#"{"oxygen": true}"#),
        ];
        let subject = Subject::new(Profile::default(), "UTC", settings);
        assert_eq!(subject.news_settings(99).assumed, Assumed { spo2_scale: true, oxygen: true, consciousness: true });
        let first = subject.news_settings(100);
        assert!(first.settings.oxygen && !first.assumed.oxygen && first.assumed.spo2_scale);
        let second = subject.news_settings(200);
        assert_eq!((second.settings.spo2_scale, second.assumed), (Spo2Scale::Two, Assumed::default()));
        assert_eq!((second.settings.consciousness, second.settings.oxygen), (Consciousness::Confusion, true));
    }

    #[test]
    fn null_takes_a_setting_away_from_its_time_on() {
        let settings = vec![
            setting(NEWS_SETTING, 100, r#"{"oxygen": true, "spo2_scale": 2, "consciousness": "C"}"#),
            setting(NEWS_SETTING, 200, r#"{"oxygen": null, "spo2_scale": null, "consciousness": null}"#),
            setting(WEIGHT_SETTING, 0, "80.0"),
            setting(WEIGHT_SETTING, 86_400_000, "null"),
            setting(WEIGHT_SETTING, 2 * 86_400_000, "77.5"),
        ];
        let profile = Profile { weight_kg: Some(77.5), ..Profile::default() };
        let subject = Subject::new(profile, "UTC", settings);
        assert_eq!(subject.news_settings(199).assumed, Assumed::default());
        assert_eq!(subject.news_settings(200), subject.news_settings(0), "as if nobody had set anything");
        let weights = [0, 1, 2].map(|day| subject.profile_on(LocalDay(day)).weight_kg);
        assert_eq!(weights, [Some(80.0), None, Some(77.5)]);
    }

    #[test]
    fn a_weight_holds_from_its_time_on_and_the_first_one_before_it() {
        let day = LocalDay::parse("2025-11-20").unwrap();
        let noon_ms = i64::from(day.0) * 86_400_000 + 43_200_000;
        let reported = Profile { weight_kg: Some(77.5), ..Profile::default() };
        let weight_on = |settings: &[Setting], day: i32| {
            Subject::new(reported, "UTC", settings.to_vec()).profile_on(LocalDay(day)).weight_kg
        };
        let settings = [setting(WEIGHT_SETTING, 0, "80.0"), setting(WEIGHT_SETTING, noon_ms, "77.5")];
        assert_eq!([weight_on(&settings, day.0 - 1), weight_on(&settings, day.0)], [Some(80.0), Some(77.5)]);
        assert_eq!([weight_on(&settings[1..], 0), weight_on(&[], 0)], [Some(77.5); 2]);
    }

    #[test]
    fn a_day_takes_the_goal_that_is_valid_when_it_ends() {
        let day = LocalDay::parse("2025-11-20").unwrap();
        let noon_ms = i64::from(day.0) * 86_400_000 + 43_200_000;
        let settings = vec![setting(GOAL_SETTING, noon_ms, "8000"), setting(RULE_SETTING, noon_ms, "\"tanaka\"")];
        let subject = Subject::new(Profile::default(), "UTC", settings);
        assert_eq!(subject.summary_settings(day).activity_goal_steps, 8000);
        assert_eq!(subject.summary_settings(day).max_heart_rate_rule, MaxHeartRateRule::Tanaka);
        assert_eq!(subject.summary_settings(LocalDay(day.0 - 1)), SummarySettings::default());
    }
}
