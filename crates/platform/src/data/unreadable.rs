//! Reads of many patients where one cannot be read: the others are answered, and that one is marked.
//!
//! Many are read together, which costs a handful of queries. Only where that fails is each of them read alone.

#[cfg(test)]
mod tests;

use store::PatientId;

use crate::core::access::Readable;
use crate::core::error::{PlatformError, Result};
use crate::data::Data;

/// A read of many patients that can be made of each of them alone.
pub(super) trait ReadOfMany: Sync {
    /// What is read of a patient.
    type Row: Send;

    /// What it is, for the log.
    const NAME: &'static str;

    /// Rows of patients, in their order; fails when one of them cannot be read.
    fn rows(&self, patients: &Readable<Vec<PatientId>>) -> impl Future<Output = Result<Vec<Self::Row>>> + Send;

    /// What can be said of a patient who cannot be read; nothing of one who has been removed meanwhile.
    fn marked(&self, patient: &Readable<Vec<PatientId>>) -> impl Future<Output = Result<Vec<Self::Row>>> + Send;
}

impl Data {
    /// Rows of patients, in their order, with a marked one for each who cannot be read.
    ///
    /// # Errors
    /// That of the store when it is away. Any other error but damage only when it is everybody's: then it is one of the
    /// program.
    pub(super) async fn read_each<Read: ReadOfMany>(
        &self,
        patients: Readable<Vec<PatientId>>,
        read: &Read,
    ) -> Result<Vec<Read::Row>> {
        match read.rows(&patients).await {
            Err(error) if !error.is_unavailable() => {}
            rows => return rows,
        }
        let (mut rows, mut is_any_sound) = (Vec::new(), false);
        let mut of_everybody = None;
        for patient in patients.into_parts(1) {
            match read.rows(&patient).await {
                Ok(found) => {
                    is_any_sound = true;
                    rows.extend(found);
                }
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) => {
                    for uuid in patient.uuids() {
                        self.log_unreadable(uuid, Read::NAME, &error);
                    }
                    rows.extend(read.marked(&patient).await?);
                    of_everybody = Some(error).filter(|error| !error.is_damage()).or(of_everybody);
                }
            }
        }
        match of_everybody {
            Some(error) if !is_any_sound => Err(error),
            _ => Ok(rows),
        }
    }

    /// Names a patient in the log whose stored data cannot be read, at most once an hour.
    pub(super) fn log_unreadable(&self, patient: &PatientId, read: &'static str, error: &PlatformError) {
        if self.unreadable.is_due(patient, self.core.now_ms()) {
            tracing::warn!(%patient, read, %error, "a patient cannot be read; the others are answered");
        }
    }
}

/// What is sound of a column of a patient who cannot be read as a whole; the default where it is this one that cannot.
pub(super) fn if_sound<T: Default>(read: Result<T>) -> Result<T> {
    match read {
        Err(error) if !error.is_unavailable() => Ok(T::default()),
        read => read,
    }
}
