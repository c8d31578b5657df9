//! What a person sets for NEWS: the SpO2 scale, oxygen, consciousness.
//!
//! A setting holds from the moment at which it is set. What was measured since and is scored already becomes due, so
//! that no score after that moment was computed without it.

use boxed_futures::boxed_futures;
use serde_json::{Map, Value};
use store::{HealthChange, HealthMessage, PatientId};
use vitals::news_timeline::SettingsAt;
use vitals::news2::{Consciousness, Spo2Scale};

use crate::core::access::{Readable, Researcher};
use crate::core::audit::{Action, patient_entity};
use crate::core::change::Change;
use crate::core::checks::{note, refuse};
use crate::core::error::{FieldFaults, Result};
use crate::people::People;
use vitals::derivation::{NEWS_SETTING, Subject};
use vitals::summary::Profile;

/// Settings to change; those that are absent stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewsSettingsChange {
    /// 1 or 2.
    pub spo2_scale: Change<i64>,
    /// Whether the patient breathes supplemental oxygen.
    pub oxygen: Change<bool>,
    /// One of A, C, V, P, U.
    pub consciousness: Change<String>,
}

impl NewsSettingsChange {
    /// Returns everything that is wrong of what is named.
    pub fn faults(&self) -> FieldFaults {
        self.judged().1
    }

    /// Returns the fields to store. Invalid when one is, or when there is none.
    fn fields(&self) -> Result<Map<String, Value>> {
        let (fields, mut errors) = self.judged();
        if errors.is_empty() && fields.is_empty() {
            note(&mut errors, "spo2_scale", "or oxygen or consciousness is required");
        }
        refuse(errors)?;
        Ok(fields)
    }

    /// Returns what is named, and what is wrong of it.
    fn judged(&self) -> (Map<String, Value>, FieldFaults) {
        let mut errors = FieldFaults::new();
        let mut fields = Map::new();
        let named = [
            ("spo2_scale", self.spo2_scale == Change::Removed),
            ("oxygen", self.oxygen == Change::Removed),
            ("consciousness", self.consciousness == Change::Removed),
        ];
        // Nobody has set it then, and it is assumed.
        let removed = named.into_iter().filter(|(_, is_removed)| *is_removed);
        fields.extend(removed.map(|(field, _)| (field.to_owned(), Value::Null)));
        if let Change::Set(number) = self.spo2_scale {
            match u8::try_from(number).ok().and_then(Spo2Scale::from_number) {
                Some(scale) => drop(fields.insert("spo2_scale".to_owned(), scale.number().into())),
                None => note(&mut errors, "spo2_scale", "must be 1 or 2"),
            }
        }
        if let Change::Set(oxygen) = self.oxygen {
            fields.insert("oxygen".to_owned(), oxygen.into());
        }
        if let Change::Set(letter) = &self.consciousness {
            match Consciousness::from_letter(letter) {
                Some(level) => drop(fields.insert("consciousness".to_owned(), level.letter().into())),
                None => note(&mut errors, "consciousness", "must be A, C, V, P or U"),
            }
        }
        (fields, errors)
    }
}

#[boxed_futures]
impl People {
    /// Returns what is valid for a patient now.
    pub async fn news_settings(&self, researcher: &Researcher, patient: &PatientId) -> Result<SettingsAt> {
        let patient = self.core.readable_patient(researcher, patient).await?;
        self.news_settings_at(&patient, self.core.now_ms()).await
    }

    /// Changes what is valid for a patient from now on; answers what is valid then. A practitioner may do this too.
    pub async fn change_news_settings(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        change: &NewsSettingsChange,
    ) -> Result<SettingsAt> {
        let fields = change.fields()?;
        let readable = self.core.readable_patient(researcher, patient).await?;
        let now_ms = self.core.now_ms();
        let mut entry = self.core.entry(Action::PatientUpdate, researcher, patient_entity(patient), None);
        entry.details =
            Some(Value::from(Map::from_iter([("news_settings".to_owned(), fields.clone().into())])).to_string());
        let change = HealthChange::SetSetting {
            uuid: patient.clone(),
            name: NEWS_SETTING.to_owned(),
            // From now on and never backwards: scores that staff has acted on must not change under them.
            valid_from_ms: now_ms,
            fields,
            at_ms: now_ms,
        };
        let message =
            HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: now_ms };
        self.core.users().enqueue(message.clone()).await?;
        self.core.deliver(message).await?;
        self.core.wake_derivations();
        self.news_settings_at(&readable, now_ms).await
    }

    async fn news_settings_at(&self, patient: &Readable<PatientId>, time_ms: i64) -> Result<SettingsAt> {
        let settings = self.core.health().patient_settings(patient.uuid()).await?;
        Ok(Subject::new(Profile::default(), "UTC", settings).news_settings(time_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::error::PlatformError;

    fn wrong_fields(change: &NewsSettingsChange) -> Vec<String> {
        let Err(PlatformError::Invalid(errors)) = change.fields() else { panic!("{change:?} is valid") };
        errors.into_keys().collect()
    }

    #[test]
    fn only_what_is_named_is_set() {
        let change = NewsSettingsChange { oxygen: Change::Set(false), ..NewsSettingsChange::default() };
        let fields = change.fields().expect("valid");
        assert_eq!(Value::from(fields), serde_json::json!({"oxygen": false}));
    }

    #[test]
    fn every_wrong_field_is_reported() {
        assert_eq!(wrong_fields(&NewsSettingsChange::default()), ["spo2_scale"]);
        for scale in [0, 3, 257, -1] {
            let consciousness = Change::Set("a".to_owned());
            let change = NewsSettingsChange { spo2_scale: Change::Set(scale), oxygen: Change::Kept, consciousness };
            assert_eq!(wrong_fields(&change), ["consciousness", "spo2_scale"]);
        }
    }
}
