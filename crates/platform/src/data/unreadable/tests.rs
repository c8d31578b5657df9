//! Tests of `unreadable.rs`.

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
