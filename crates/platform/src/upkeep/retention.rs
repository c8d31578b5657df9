//! Retention: raw data are kept as long as the rules of a patient's groups say, and no longer.
//!
//! A rule counts in days and is carried out by whole days of UTC. Summaries, slots, scores and latest values stay; days
//! whose rows were retired are not computed again. A row that comes after its time is rejected.

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};
use store::{AuditEntryId, NewAuditEntry, PatientId, Retirement, StoreError};
use vitals::registry::DataType;

use crate::core::audit::{Action, Actor, patient_entity};
use crate::core::error::Result;
use crate::core::ids::hex;
use crate::core::settings::RETENTION_SETTING;
use crate::data::kept::kept_by_rule;
use crate::upkeep::Upkeep;

/// Number of times that a period is tried that is being sealed.
const TRIES: usize = 3;

impl Upkeep {
    /// Returns the patients and types of which something is stored that their rules no longer keep, or whose rows of
    /// that time could still come; and the first reason, where there is one, for which that is not known of everybody.
    pub(crate) async fn expired(&self) -> Result<(Vec<(PatientId, DataType)>, Option<StoreError>)> {
        let now_ms = self.core.now_ms();
        let (mut expired, mut first_error) = (Vec::new(), None);
        for (patient, rule) in self.core.health().settings_named(RETENTION_SETTING, now_ms).await? {
            let of_patient = match rule {
                Ok(rule) => self.expired_of(&patient, &rule, now_ms).await,
                Err(error) => Err(error),
            };
            match of_patient {
                Ok(types) => expired.extend(types.into_iter().map(|data_type| (patient.clone(), data_type))),
                // What is damaged of one patient keeps nobody else's rows.
                Err(error) if error.is_damage() => {
                    tracing::error!(%patient, %error, "what is no longer kept of a patient could not be found out");
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok((expired, first_error))
    }

    async fn expired_of(&self, patient: &PatientId, rule: &str, now_ms: i64) -> store::Result<Vec<DataType>> {
        let noted = self.core.health().retired(patient).await?;
        let mut expired = Vec::new();
        for (data_type, before_us) in kept_by_rule(rule, now_ms) {
            let retirement = Retirement { patient: patient.clone(), data_type, before_us };
            // Also without rows: the note is what makes a late sync of that time be rejected.
            let is_noted = noted.get(&data_type).is_some_and(|noted_us| *noted_us >= before_us);
            if !is_noted || self.core.health().rows_to_retire(&retirement).await? > 0 {
                expired.push(data_type);
            }
        }
        Ok(expired)
    }

    /// Removes what a patient's rules no longer keep of a type; returns how many rows. Before anything goes, the audit
    /// log has an entry of it, in the name of the system. Doing so again finishes what was begun.
    pub(crate) async fn enforce_retention(&self, patient: &PatientId, data_type: DataType) -> Result<u64> {
        let now_ms = self.core.now_ms();
        let rule = self.core.health().setting_at(patient, RETENTION_SETTING, now_ms).await?;
        let kept_from = rule.map(|rule| kept_by_rule(&rule, now_ms)).unwrap_or_default();
        let Some(before_us) = kept_from.get(&data_type).copied() else { return Ok(0) };
        let retirement = Retirement { patient: patient.clone(), data_type, before_us };
        let rows = self.core.health().rows_to_retire(&retirement).await?;
        // Most runs find nothing, and an entry each hour would bury the others.
        let entry = (rows > 0).then(|| self.entry_of_retirement(&retirement, rows));
        self.retire_rows(&retirement, entry).await?;
        self.core.deliver_entries_of(patient).await?;
        Ok(rows)
    }

    async fn retire_rows(&self, retirement: &Retirement, entry: Option<NewAuditEntry>) -> Result<()> {
        for _ in 0..TRIES {
            let random = u64::from_be_bytes(self.core.random_bytes());
            match self.core.health().retire(retirement, entry.clone(), self.core.now_ms(), random).await {
                Err(StoreError::LeaseLost) => {}
                Ok(()) | Err(StoreError::Gone(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        // The chunks are gone, but the file that straddles the time still holds rows of before it, and nothing that looks for
        // what has expired finds them: the job has to come again.
        Err(StoreError::LeaseLost.into())
    }

    /// Returns the entry of a retirement. Its identifier follows from what goes, so that it is written once.
    fn entry_of_retirement(&self, retirement: &Retirement, rows: u64) -> NewAuditEntry {
        let Retirement { patient, data_type, before_us } = retirement;
        let mut entry = self.core.entry_by(Action::PatientUpdate, Actor::system(), patient_entity(patient), None);
        let identity = format!("retired {patient} {} {before_us}", data_type.name());
        entry.id = AuditEntryId::new(hex(&Sha256::digest(identity)[..12]));
        let before = Timestamp::from_microsecond(*before_us).unwrap_or_default().to_string();
        let details = json!({"retired": {"type": data_type.name(), "before": before, "rows": rows}});
        entry.details = Some(details.to_string());
        entry
    }
}
