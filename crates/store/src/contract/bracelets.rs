//! Bracelets: who may act on them, and who wears them.

use super::example_rows::{account, bracelet, message, patient, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::ids::{AttachmentId, PatientId, RecordId, SerialNumber};
use crate::{
    AccountId, ApiKey, ApiKeyId, Attachment, Bracelet, BraceletId, Completion, DeviceReport, GroupCode, HealthChange,
    HealthMessage, Profile, StoreError, Sync,
};

on_both_engines! {
    an_idle_bracelet_is_shared_and_a_worn_one_belongs_with_its_patient
    a_bracelet_has_one_wearer
    serial_numbers_that_are_registered_are_found
    only_bracelets_that_a_sync_has_named_were_seen
}

fn device(id: &str, patient: &str) -> HealthMessage {
    let change = HealthChange::RemoveDevice {
        uuid: PatientId::new(format!("uuid-{patient}")),
        serial_number: SerialNumber::new(String::new()),
    };
    HealthMessage { change, ..message(id, 0) }
}

async fn attach(stores: &Stores, name: &str, patient: &str, id: &str) -> crate::Result<Attachment> {
    let (bracelet, patient_uuid) = (format!("id-{name}"), format!("uuid-{patient}"));
    stores
        .users
        .attach_bracelet(
            &AttachmentId::new(id),
            &BraceletId::new(bracelet.as_str()),
            &PatientId::new(patient_uuid.as_str()),
            7,
            device(id, patient),
        )
        .await
}

/// Ada is in A and B, Bob in B, Eve in none; Grace is a patient of A.
async fn with_people(stores: &Stores) {
    with_ada_in(stores, &["AAAAA", "BBBBB"]).await;
    for name in ["bob", "eve"] {
        stores.users.add_account(account(name)).await.expect("an account");
    }
    stores.users.add_member(&AccountId::new("uuid-bob"), &GroupCode::new("BBBBB"), 1).await.expect("a member");
    stores
        .users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("g", 0), no_settings())
        .await
        .expect("a patient");
    let scoped = ApiKey {
        id: ApiKeyId::new("scoped"),
        key_hash: vec![1],
        prefix: String::new(),
        account: AccountId::new("uuid-bob"),
        is_scoped: true,
        name: None,
        created_ms: 0,
        expires_ms: None,
        revoked_ms: None,
        last_used_ms: None,
    };
    stores.users.add_api_key(scoped, vec![GroupCode::new("AAAAA")]).await.expect("a key");
    stores.users.add_bracelet(bracelet("s1", "ada"), audit(Vec::new(), 0)).await.expect("a bracelet");
}

async fn an_idle_bracelet_is_shared_and_a_worn_one_belongs_with_its_patient(stores: Stores) {
    with_people(&stores).await;
    let taken = stores.users.add_bracelet(bracelet("s1", "bob"), audit(Vec::new(), 0)).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))));
    let may = async |account: &str, key: &str| {
        let (_, allowed) = stores
            .users
            .bracelet(&SerialNumber::new("s1"), &AccountId::new(account), Some(&ApiKeyId::new(key)))
            .await
            .expect("an answer")
            .expect("a bracelet");
        let listed = stores.users.bracelets(&AccountId::new(account), Some(&ApiKeyId::new(key))).await.expect("a list");
        assert_eq!(listed.len(), usize::from(allowed), "{account}");
        allowed
    };
    let all = async || {
        [
            may("uuid-ada", "").await,
            may("uuid-bob", "").await,
            may("uuid-bob", "scoped").await,
            may("uuid-eve", "").await,
        ]
    };
    assert_eq!(all().await, [true, true, false, false]);
    assert_eq!(attach(&stores, "s1", "grace", "a1").await.expect("an answer"), Attachment::Attached);
    assert_eq!(all().await, [true, false, false, false]);
    assert_eq!(
        stores.users.bracelet(&SerialNumber::new("s2"), &AccountId::new("uuid-ada"), None).await.expect("an answer"),
        None
    );
}

async fn a_bracelet_has_one_wearer(stores: Stores) {
    with_people(&stores).await;
    stores
        .users
        .add_patient(patient("hedy"), &GroupCode::new("AAAAA"), message("h", 0), no_settings())
        .await
        .expect("a patient");
    assert_eq!(attach(&stores, "s1", "grace", "a1").await.expect("an answer"), Attachment::Attached);
    assert_eq!(attach(&stores, "s1", "grace", "a2").await.expect("an answer"), Attachment::WornAlready);
    assert_eq!(attach(&stores, "s1", "hedy", "a3").await.expect("an answer"), Attachment::WornByAnother);
    assert!(matches!(attach(&stores, "s2", "hedy", "a4").await, Err(StoreError::Gone("bracelet"))));
    assert!(!stores.users.remove_bracelet(&BraceletId::new("id-s1"), audit(Vec::new(), 0)).await.expect("an answer"));

    // A change that was thought of while nobody wore it is refused, and done when the wearer is known.
    let idle = Bracelet { firmware_version: Some("2".to_owned()), ..bracelet("s1", "ada") };
    let here = Completion::Here(audit(Vec::new(), 0));
    assert!(!stores.users.change_bracelet(idle.clone(), here).await.expect("an answer"));
    let worn = Bracelet { worn_by: Some(PatientId::new("uuid-grace")), ..idle };
    let enqueued = Completion::Enqueued(Box::new(device("c1", "grace")));
    assert!(stores.users.change_bracelet(worn.clone(), enqueued).await.expect("an answer"));
    assert_eq!(
        stores.users.bracelet(&SerialNumber::new("s1"), &AccountId::new("uuid-ada"), None).await.expect("an answer"),
        Some((worn, true))
    );

    let detach = async |patient: &str| {
        let (uuid, message) = (format!("uuid-{patient}"), device(&format!("d-{patient}"), patient));
        stores
            .users
            .detach_bracelet(&BraceletId::new("id-s1"), &PatientId::new(uuid.as_str()), 9, message)
            .await
            .expect("an answer")
    };
    assert_eq!((detach("hedy").await, detach("grace").await, detach("grace").await), (false, true, false));
    assert_eq!(attach(&stores, "s1", "hedy", "a5").await.expect("an answer"), Attachment::Attached);
    assert!(detach("hedy").await);
    assert!(stores.users.remove_bracelet(&BraceletId::new("id-s1"), audit(Vec::new(), 0)).await.expect("an answer"));
    let again = stores.users.remove_bracelet(&BraceletId::new("id-s1"), audit(Vec::new(), 0)).await;
    assert!(matches!(again, Err(StoreError::Gone("bracelet"))));
}

async fn serial_numbers_that_are_registered_are_found(stores: Stores) {
    with_people(&stores).await;
    let asked = |names: &[&str]| names.iter().map(|name| SerialNumber::new(*name)).collect::<Vec<_>>();
    let found = stores.users.registered(asked(&["s0", "s1", "s2"])).await.expect("a set");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), asked(&["s1"]));
    assert!(stores.users.registered(Vec::new()).await.expect("a set").is_empty());
}

/// What the inventory of a study says of a bracelet is no sign of life, and does not change when it gave one.
async fn only_bracelets_that_a_sync_has_named_were_seen(stores: Stores) {
    let (grace, health) = (PatientId::new("grace"), &stores.health);
    let enrolled = HealthChange::PutPatient {
        uuid: grace.clone(),
        record_id: RecordId::new("grace"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    health.apply(enrolled).await.expect("a patient");
    let put = |serial: &str, at_ms| HealthChange::PutDevice {
        uuid: grace.clone(),
        serial_number: SerialNumber::new(serial),
        device_type: "wrist".to_owned(),
        firmware_version: None,
        at_ms,
    };
    let report = |serial: &str, received_ms| Sync {
        patient: grace.clone(),
        received_ms,
        id: None,
        device: Some(DeviceReport::new(SerialNumber::new(serial))),
        blocks: Vec::new(),
    };
    let seen = async || {
        let found = health.devices_of_patients(vec![grace.clone()]).await.expect("bracelets");
        found.into_iter().map(|(_, device)| (device.serial_number.to_string(), device.updated_ms)).collect::<Vec<_>>()
    };
    health.apply(put("attached", 2)).await.expect("stored");
    assert_eq!(seen().await, []);
    health.store_sync(report("unknown", 3)).await.expect("stored");
    health.store_sync(report("attached", 4)).await.expect("stored");
    health.apply(put("unknown", 5)).await.expect("stored");
    let expected = |serial: &str, ms| (serial.to_owned(), ms);
    assert_eq!(seen().await, [expected("unknown", 3), expected("attached", 4)]);
    // The list of a patient's bracelets goes by the last change, as before.
    assert_eq!(health.devices(&grace).await.expect("bracelets")[0].serial_number.as_str(), "unknown");
}
