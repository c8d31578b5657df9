//! Alarms: thresholds on vital signs and on the NEWS score, for each patient. They are kept; reporting is not built
//! yet.

use boxed_futures::boxed_futures;
use serde_json::json;
use store::{Alarm, HealthChange, HealthMessage, PatientId};

use crate::core::access::Researcher;
use crate::core::audit::{Action, hcp_admin_entity, patient_entity};
use crate::core::checks::{alternatives, note, refuse};
use crate::core::error::{FieldFaults, Result};
use crate::people::People;

/// What alarms watch: the names of latest values.
pub const ALARM_VITALS: [&str; 7] =
    ["heart_rate", "respiration_rate", "temperature", "spo2", "nibp_systolic", "nibp_diastolic", "news_score"];

const MOST_ALARMS: usize = 50;
/// No vital sign comes near it, in any unit.
const LARGEST_THRESHOLD: f64 = 1_000.0;
const LONGEST_FOR_S: i64 = 24 * 3600;

#[boxed_futures]
impl People {
    /// Returns the alarms of a patient, in the order in which they were set.
    pub async fn alarms(&self, researcher: &Researcher, patient: &PatientId) -> Result<Vec<Alarm>> {
        let patient = self.core.readable_patient(researcher, patient).await?;
        Ok(self.core.health().alarms(patient.uuid()).await?)
    }

    /// Puts alarms in the place of those that a patient has; answers them. A practitioner may do this too.
    pub async fn set_alarms(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        alarms: Vec<Alarm>,
    ) -> Result<Vec<Alarm>> {
        let readable = self.core.readable_patient(researcher, patient).await?;
        refuse(alarm_faults(&alarms, &FieldFaults::new()))?;
        let secondary = Some(hcp_admin_entity(&researcher.account));
        let mut entry = self.core.entry(Action::PatientAlarmChange, researcher, patient_entity(patient), secondary);
        entry.details = Some(json!({ "alarms": alarms }).to_string());
        let change = HealthChange::SetAlarms { uuid: patient.clone(), alarms };
        let message = HealthMessage {
            id: self.core.new_message_id(),
            change,
            entries: vec![entry],
            created_ms: self.core.now_ms(),
        };
        // The wish is durable before the health database is touched, so its audit entry cannot be lost (refinement 17).
        self.core.users().enqueue(message).await?;
        self.core.deliver_changes_of(patient).await?;
        // As stored: another caller's alarms can have been delivered after these.
        Ok(self.core.health().alarms(readable.uuid()).await?)
    }
}

/// Returns everything that is wrong of alarms, as of the field `alarms`. A threshold that could not be read is there all the
/// same.
pub fn alarm_faults(alarms: &[Alarm], unreadable: &FieldFaults) -> FieldFaults {
    let mut errors = FieldFaults::new();
    if alarms.len() > MOST_ALARMS {
        note(&mut errors, "alarms", "must be at most 50");
    }
    for (at, alarm) in alarms.iter().enumerate().take(MOST_ALARMS) {
        let mut wrong = |field: &str, message: &str| note(&mut errors, &format!("alarms.{at}.{field}"), message);
        if !ALARM_VITALS.contains(&alarm.vital.as_str()) {
            wrong("vital", &format!("must be {}", alternatives(ALARM_VITALS)));
        }
        for (field, threshold) in [("below", alarm.below), ("above", alarm.above)] {
            if threshold.is_some_and(|threshold| !(0.0..=LARGEST_THRESHOLD).contains(&threshold)) {
                wrong(field, "must be 0 to 1000");
            }
        }
        match (alarm.below, alarm.above) {
            // An unreadable `below` has its own fault in the place of this one.
            (None, None) if !unreadable.contains_key(&format!("alarms.{at}.above")) => {
                wrong("below", "or above is required");
            }
            (Some(below), Some(above)) if below >= above => wrong("below", "must be less than above"),
            _ => {}
        }
        if !(0..=LONGEST_FOR_S).contains(&alarm.for_s) {
            wrong("for_s", "must be 0 to 86400 seconds");
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(vital: &str, below: Option<f64>, above: Option<f64>, for_s: i64) -> Alarm {
        Alarm { vital: vital.to_owned(), below, above, for_s }
    }

    #[test]
    fn thresholds_have_an_order_and_a_sign_that_is_known() {
        let good = [
            alarm("heart_rate", Some(40.0), Some(130.0), 300),
            alarm("news_score", None, Some(4.0), 0),
            alarm("spo2", Some(92.0), None, 86_400),
        ];
        let faults = |alarms: &[Alarm]| alarm_faults(alarms, &FieldFaults::new());
        assert!(faults(&good).is_empty());
        assert!(faults(&[]).is_empty());
        let cases = [
            (alarm("mood", Some(1.0), None, 0), "alarms.0.vital"),
            (alarm("spo2", None, None, 0), "alarms.0.below"),
            (alarm("spo2", Some(92.0), Some(92.0), 0), "alarms.0.below"),
            (alarm("spo2", Some(-1.0), None, 0), "alarms.0.below"),
            (alarm("spo2", None, Some(f64::NAN), 0), "alarms.0.above"),
            (alarm("spo2", Some(92.0), None, -1), "alarms.0.for_s"),
        ];
        for (alarm, field) in cases {
            let found = faults(std::slice::from_ref(&alarm));
            assert_eq!(found.into_keys().collect::<Vec<_>>(), [field], "{alarm:?}");
        }
        assert!(!faults(&vec![alarm("spo2", Some(92.0), None, 0); 51]).is_empty());
    }
}
