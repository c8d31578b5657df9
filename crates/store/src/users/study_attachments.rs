//! Which studies held a patient at which time. A study reads the events of the time at which it held the patient.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use crate::error::Result;
use crate::ids::{GroupCode, PatientId};
use crate::texts::{in_lists, list_of_64, record, sql};

/// A time during which a study held a patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyAttachment {
    /// The patient.
    pub patient: PatientId,
    /// The study.
    pub group_code: GroupCode,
    /// Begin, ms since 1970.
    pub attached_ms: i64,
    /// End, ms since 1970; none while it lasts.
    pub detached_ms: Option<i64>,
}

impl StudyAttachment {
    /// Returns whether the study held the patient at a time; both ends belong to it.
    pub fn covers(&self, time_ms: i64) -> bool {
        self.attached_ms <= time_ms && self.detached_ms.is_none_or(|detached_ms| time_ms <= detached_ms)
    }
}

record! {
    attachment_columns!(""), read_attachment(row) -> StudyAttachment { patient, group_code, attached_ms, detached_ms }
}

sql! {
    OF_PATIENTS = concat!("SELECT ", attachment_columns!(), " FROM past_attachment WHERE patient IN (", list_of_64!(), ")
        UNION ALL SELECT patient, group_code, attached_ms, CAST(NULL AS BIGINT) FROM group_patient
        WHERE patient IN (", list_of_64!(), ")");
}

#[boxed_futures]
impl UsersDb {
    /// Returns every time during which a study held one of some patients, in no order. Of one who was erased there is none.
    pub async fn study_attachments(&self, patients: Vec<PatientId>) -> Result<Vec<StudyAttachment>> {
        self.db
            .read(async move |tx| {
                let mut found = Vec::new();
                in_lists(&patients, async |list| {
                    found.extend(tx.query(OF_PATIENTS, list, read_attachment).await?);
                    Ok(())
                })
                .await?;
                Ok(found)
            })
            .await
    }
}
