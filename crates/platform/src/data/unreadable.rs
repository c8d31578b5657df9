//! Reads of many patients where one cannot be read: the others are answered, and that one is marked.
//!
//! Many are read together, which costs a handful of queries. Only where that fails is each of them read alone.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_service::Service;
    use store::StoreError;

    /// Names of patients, where some cannot be read.
    struct Names(fn(&str) -> Option<PlatformError>);

    impl ReadOfMany for Names {
        type Row = String;

        const NAME: &'static str = "names";

        async fn rows(&self, patients: &Readable<Vec<PatientId>>) -> Result<Vec<String>> {
            patients.uuids().iter().map(|uuid| (self.0)(uuid.as_str()).map_or(Ok(uuid.to_string()), Err)).collect()
        }

        async fn marked(&self, patient: &Readable<Vec<PatientId>>) -> Result<Vec<String>> {
            Ok(patient.uuids().iter().map(|uuid| format!("not {uuid}")).collect())
        }
    }

    fn damage() -> PlatformError {
        StoreError::Damaged("a row".to_owned()).into()
    }

    async fn names_of(uuids: &[&str], fault: fn(&str) -> Option<PlatformError>) -> Result<Vec<String>> {
        let uuids: Vec<PatientId> = uuids.iter().map(|uuid| PatientId::new(*uuid)).collect();
        let service = Service::start().await;
        service.platform.data.read_each(Readable::for_test(&uuids), &Names(fault)).await
    }

    #[tokio::test]
    async fn patient_who_cannot_be_read_is_marked_in_their_place() {
        let of_bob = |uuid: &str| (uuid == "bob").then(damage);
        assert_eq!(names_of(&["ada", "bob", "eve"], of_bob).await.expect("names"), ["ada", "not bob", "eve"]);
        assert_eq!(names_of(&["bob"], of_bob).await.expect("names"), ["not bob"]);
        // Damage is nobody's fault but the disk's, also where all have it.
        assert_eq!(names_of(&["ada", "bob"], |_| Some(damage())).await.expect("names"), ["not ada", "not bob"]);
    }

    #[tokio::test]
    async fn error_of_the_program_is_one_patients_or_everybodys() {
        const PANIC: fn() -> PlatformError = || PlatformError::Internal("a panic".to_owned());
        let of_bob = |uuid: &str| (uuid == "bob").then(PANIC);
        assert_eq!(names_of(&["ada", "bob"], of_bob).await.expect("names"), ["ada", "not bob"]);
        let of_everybody = names_of(&["ada", "bob"], |_| Some(PANIC())).await;
        assert_eq!(of_everybody.expect_err("no names").to_string(), PANIC().to_string());
    }

    #[tokio::test]
    async fn store_that_is_away_is_nobodys_damage() {
        let of_bob = |uuid: &str| (uuid == "bob").then(|| StoreError::Unavailable("gone".to_owned()).into());
        assert!(names_of(&["ada", "bob"], of_bob).await.is_err_and(|error| error.is_unavailable()));
    }
}
