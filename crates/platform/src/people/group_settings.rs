//! Settings of groups that enter a formula or say how long data are kept.
//!
//! They hold from the moment at which they are set. Of several groups, the first that a patient joined gives the goal
//! and the rule of the highest heart rate; of retentions, the longest holds, and none where one of their groups keeps
//! everything.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use serde_json::{Map, Value, json};
use store::{EffectiveSettings, GroupCode, GroupSetting, SettingsOfGroup};
use vitals::heart::MaxHeartRateRule;
use vitals::registry::DataType;
use vitals::summary::SummarySettings;

use crate::core::access::Researcher;
use crate::core::audit::{Action, group_entity};
use crate::core::change::Change;
use crate::core::checks::{alternatives, integer_of, note, refuse};
use crate::core::error::{FieldFaults, Result};
use crate::core::settings::RETENTION_SETTING;
use crate::people::People;
use vitals::derivation::{GOAL_SETTING, RULE_SETTING};

const LARGEST_GOAL_STEPS: i64 = 200_000;
const LONGEST_RETENTION_DAYS: i64 = 36_500;

/// The settings of a group, with defaults where nothing is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// The day's goal.
    pub activity_goal_steps: i64,
    /// `fox` or `tanaka`.
    pub max_heart_rate_rule: String,
    /// How many days raw data are kept, by the name of the type; types that are not named are kept for good.
    pub retention_days: BTreeMap<String, i64>,
}

/// Settings to change; those that are absent stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSettingsChange {
    /// The day's goal.
    pub activity_goal_steps: Change<i64>,
    /// `fox` or `tanaka`.
    pub max_heart_rate_rule: Change<String>,
    /// Days by the name of the type, all of them.
    pub retention: Change<Map<String, Value>>,
}

impl GroupSettingsChange {
    /// Returns everything that is wrong of what is named.
    pub fn faults(&self) -> FieldFaults {
        self.clone().judged().1
    }

    /// Returns the values to store. Invalid when one is, or when there is none.
    fn values(self) -> Result<Map<String, Value>> {
        let (values, mut errors) = self.judged();
        if values.is_empty() {
            note(&mut errors, "activity_goal_steps", "or max_heart_rate_rule or retention is required");
        }
        refuse(errors)?;
        Ok(values)
    }

    /// Returns what is named, and what is wrong of it.
    fn judged(self) -> (Map<String, Value>, FieldFaults) {
        let mut errors = FieldFaults::new();
        let mut values = Map::new();
        let named = [
            (GOAL_SETTING, self.activity_goal_steps == Change::Removed),
            (RULE_SETTING, self.max_heart_rate_rule == Change::Removed),
            (RETENTION_SETTING.name(), self.retention == Change::Removed),
        ];
        // Null is what is not set, and the default applies.
        let removed = named.into_iter().filter(|(_, is_removed)| *is_removed);
        values.extend(removed.map(|(name, _)| (name.to_owned(), Value::Null)));
        if let Change::Set(steps) = self.activity_goal_steps {
            if !(1..=LARGEST_GOAL_STEPS).contains(&steps) {
                note(&mut errors, "activity_goal_steps", "must be 1 to 200000");
            }
            values.insert(GOAL_SETTING.to_owned(), steps.into());
        }
        if let Change::Set(rule) = self.max_heart_rate_rule {
            if MaxHeartRateRule::from_name(&rule).is_none() {
                note(&mut errors, "max_heart_rate_rule", "must be fox or tanaka");
            }
            values.insert(RULE_SETTING.to_owned(), rule.into());
        }
        if let Change::Set(retention) = self.retention {
            let mut kept = Map::new();
            for (data_type, days) in retention.into_iter().filter(|(_, days)| !days.is_null()) {
                let field = format!("retention.{data_type}");
                if DataType::from_name(&data_type).is_none() {
                    let known = alternatives(DataType::names());
                    note(&mut errors, &field, &format!("is not a data type: must be {known}"));
                }
                match integer_of(&days).filter(|days| (1..=LONGEST_RETENTION_DAYS).contains(days)) {
                    Some(days) => drop(kept.insert(data_type, days.into())),
                    None => note(&mut errors, &field, "must be 1 to 36500 whole days"),
                }
            }
            values.insert(RETENTION_SETTING.name().to_owned(), kept.into());
        }
        (values, errors)
    }
}

#[boxed_futures]
impl People {
    /// Returns the settings of a group.
    pub async fn group_settings(&self, researcher: &Researcher, code: &GroupCode) -> Result<GroupSettings> {
        let group = self.core.group_access(researcher, code).await?;
        Ok(with_defaults(self.core.users().group_settings(&group.code).await?))
    }

    /// Changes settings of a group, from now on; answers all of them.
    pub async fn change_group_settings(
        &self,
        researcher: &Researcher,
        code: &GroupCode,
        change: GroupSettingsChange,
    ) -> Result<GroupSettings> {
        let group = self.core.managed_group(researcher, code).await?;
        let values = change.values()?;
        let mut entry = self.core.entry(Action::GroupSettingsChange, researcher, group_entity(&group.id), None);
        entry.details = Some(json!({ "settings": values }).to_string());
        let effective = self.effective_settings();
        let audit = self.core.audit(vec![entry]);
        let patients = self.core.users().set_group_settings(&group.code, values, effective, audit).await?;
        // Should this be cut off: the operation is done, and its messages are delivered in the background.
        self.core.deliver_changes_of_all(patients).await?;
        self.core.wake_derivations();
        Ok(with_defaults(self.core.users().group_settings(&group.code).await?))
    }

    /// Returns how settings of groups become settings of a patient, from now on.
    pub(crate) fn effective_settings(&self) -> EffectiveSettings {
        EffectiveSettings { rule: effective, at_ms: self.core.now_ms() }
    }
}

/// Returns what holds for a patient of these groups, in the order in which they joined them.
fn effective(groups: &[SettingsOfGroup]) -> Map<String, Value> {
    let of_first = |name: &str| groups.first().and_then(|group| group.settings.get(name)).cloned().unwrap_or_default();
    Map::from_iter([
        (GOAL_SETTING.to_owned(), of_first(GOAL_SETTING)),
        (RULE_SETTING.to_owned(), of_first(RULE_SETTING)),
        (RETENTION_SETTING.name().to_owned(), longest_retention(groups)),
    ])
}

/// Days by type, where every group limits them: the most; null when nothing is limited.
fn longest_retention(groups: &[SettingsOfGroup]) -> Value {
    let days_of =
        |group: &SettingsOfGroup, name: &str| group.settings.get(RETENTION_SETTING.name())?.get(name)?.as_i64();
    let longest = |data_type: DataType| {
        // One group without a limit keeps everything (refinement 13): none is the longest.
        let days: Option<Vec<i64>> = groups.iter().map(|group| days_of(group, data_type.name())).collect();
        Some((data_type.name().to_owned(), days?.into_iter().max()?.into()))
    };
    let limited: Map<String, Value> = DataType::ALL.into_iter().filter_map(longest).collect();
    if limited.is_empty() { Value::Null } else { limited.into() }
}

fn with_defaults(settings: Vec<GroupSetting>) -> GroupSettings {
    let mut values: BTreeMap<String, Value> =
        settings.into_iter().map(|setting| (setting.name, setting.value)).collect();
    let defaults = SummarySettings::default();
    let goal = values.get(GOAL_SETTING).and_then(Value::as_i64);
    let rule = values.get(RULE_SETTING).and_then(Value::as_str);
    let (goal, rule) = (goal.unwrap_or(i64::from(defaults.activity_goal_steps)), rule.unwrap_or("fox").to_owned());
    let retention = match values.remove(RETENTION_SETTING.name()) {
        Some(Value::Object(days)) => days.into_iter().filter_map(|(name, days)| Some((name, days.as_i64()?))).collect(),
        _ => BTreeMap::new(),
    };
    GroupSettings { activity_goal_steps: goal, max_heart_rate_rule: rule, retention_days: retention }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::error::PlatformError;

    fn group(settings: Value) -> SettingsOfGroup {
        let Value::Object(settings) = settings else { panic!("not an object") };
        SettingsOfGroup { group_code: GroupCode::new("AAAAA"), settings }
    }

    #[test]
    fn the_first_group_gives_goal_and_rule_and_the_longest_retention_holds() {
        let first = group(json!({"activity_goal_steps": 8000, "retention": {"ppg2": 30, "acc": 10}}));
        let second = group(json!({"max_heart_rate_rule": "tanaka", "retention": {"ppg2": 90}}));
        let both = effective(&[first.clone(), second.clone()]);
        let expected = json!({"activity_goal_steps": 8000, "max_heart_rate_rule": null, "retention": {"ppg2": 90}});
        assert_eq!(Value::from(both), expected);
        let other = json!({"activity_goal_steps": null, "max_heart_rate_rule": "tanaka", "retention": {"ppg2": 90}});
        assert_eq!(Value::from(effective(&[second, group(json!({"retention": {"ppg2": 5}}))])), other);
        assert_eq!(effective(&[first, group(json!({}))])["retention"], Value::Null);
        assert!(effective(&[]).values().all(Value::is_null));
    }

    #[test]
    fn days_are_kept_as_integers_however_they_were_written() {
        let Value::Object(retention) = json!({"ppg2": 30.0, "acc": 90}) else { return };
        let change = GroupSettingsChange { retention: Change::Set(retention), ..GroupSettingsChange::default() };
        let values = change.values().expect("valid");
        assert_eq!(Value::from(values).to_string(), r#"{"retention":{"acc":90,"ppg2":30}}"#);
    }

    #[test]
    fn every_wrong_setting_is_reported() {
        let wrong = |change: GroupSettingsChange| {
            let Err(PlatformError::Invalid(errors)) = change.values() else { panic!("it is valid") };
            errors.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(wrong(GroupSettingsChange::default()), ["activity_goal_steps"]);
        let Value::Object(retention) = json!({"ppg2": 0, "mood": 5, "acc": "7", "ecg": 1}) else { return };
        let change = GroupSettingsChange {
            activity_goal_steps: Change::Set(0),
            max_heart_rate_rule: Change::Set("Fox".to_owned()),
            retention: Change::Set(retention),
        };
        let expected =
            ["activity_goal_steps", "max_heart_rate_rule", "retention.acc", "retention.mood", "retention.ppg2"];
        assert_eq!(wrong(change), expected);
    }
}
