//! Patients, devices and sessions of the health database.

use super::{Stores, on_both_engines};
use crate::{Device, HealthChange, HealthPatient, HealthSession, Profile};

on_both_engines! {
    a_change_made_twice_is_made_once
    many_patients_are_found_at_once
    the_newest_device_is_told
    sessions_end_by_patient_key_and_actor
}

fn put(name: &str, profile: Profile, at_ms: i64) -> HealthChange {
    HealthChange::PutPatient {
        uuid: format!("uuid-{name}"),
        record_id: format!("id-{name}"),
        customer_code: (at_ms == 1).then(|| "AAAAA".to_owned()),
        profile,
        at_ms,
    }
}

async fn a_change_made_twice_is_made_once(stores: Stores) {
    let described = Profile {
        birthday: Some("1966-12-09".to_owned()),
        gender: Some("female".to_owned()),
        height: Some(165.5),
        weight: None,
        skin_color: Some(2),
        hair_density: None,
        time_zone: Some("Europe/Zurich".to_owned()),
    };
    let weighed = Profile { weight: Some(61.0), height: Some(166.0), ..Profile::default() };
    for change in [put("grace", Profile::default(), 1), put("grace", described.clone(), 2), put("grace", weighed, 3)] {
        stores.health.apply(change.clone()).await.expect("made");
        stores.health.apply(change).await.expect("made again");
    }
    let expected = HealthPatient {
        uuid: "uuid-grace".to_owned(),
        record_id: "id-grace".to_owned(),
        customer_code: Some("AAAAA".to_owned()),
        profile: Profile { weight: Some(61.0), height: Some(166.0), ..described },
        created_ms: 1,
        updated_ms: 3,
    };
    assert_eq!(stores.health.patient("uuid-grace").await.expect("an answer"), Some(expected));
    assert_eq!(stores.health.patient("uuid-hedy").await.expect("an answer"), None);
}

async fn many_patients_are_found_at_once(stores: Stores) {
    for at in 0..130 {
        stores.health.apply(put(&at.to_string(), Profile::default(), 1)).await.expect("made");
    }
    for count in [0, 1, 63, 64, 65, 128, 129] {
        let mut uuids: Vec<String> = (0..count).map(|at| format!("uuid-{at}")).collect();
        uuids.push("uuid-nobody".to_owned());
        let found = stores.health.patients(uuids.clone()).await.expect("an answer");
        uuids.pop();
        let mut names: Vec<_> = found.into_keys().collect();
        names.sort();
        uuids.sort();
        assert_eq!(names, uuids);
    }
}

async fn the_newest_device_is_told(stores: Stores) {
    const ADD: &str = "INSERT INTO device (patient, serial_number, updated_ms) VALUES ($1, $2, $3)";
    let devices = [("grace", "s1", 10_i64), ("grace", "s2", 30), ("grace", "s3", 30), ("hedy", "s4", 5)];
    for (patient, serial_number, updated_ms) in devices {
        let add = stores.health.db.write(move |tx| tx.execute(ADD, &[&patient, &serial_number, &updated_ms]));
        add.await.expect("a device");
    }
    let of_grace = stores.health.devices("grace").await.expect("a list");
    let serials: Vec<_> = of_grace.iter().map(|device| device.serial_number.as_str()).collect();
    assert_eq!(serials, ["s2", "s3", "s1"]);
    let patients = ["grace", "hedy", "nobody"].map(str::to_owned).to_vec();
    let newest = stores.health.newest_devices(patients).await.expect("an answer");
    assert_eq!(newest.len(), 2);
    assert_eq!(newest["grace"], of_grace[0]);
    let expected = Device {
        serial_number: "s4".to_owned(),
        device_type: None,
        firmware_version: None,
        battery_level: None,
        updated_ms: 5,
    };
    assert_eq!(newest["hedy"], expected);
}

async fn sessions_end_by_patient_key_and_actor(stores: Stores) {
    let session = |id: &str, patient: &str, actor: Option<&str>, key: Option<&str>| HealthSession {
        id: id.to_owned(),
        patient: patient.to_owned(),
        actor: actor.map(str::to_owned),
        api_key: key.map(str::to_owned),
        scope: "patient.read".to_owned(),
        first_issued_ms: 1,
        issued_ms: 2,
        expires_ms: 3,
        replaced_ms: None,
        ended_ms: None,
    };
    let all = [
        session("own", "grace", None, None),
        session("ada", "grace", Some("ada"), Some("k1")),
        session("ada2", "hedy", Some("ada"), Some("k2")),
        session("bob", "hedy", Some("bob"), Some("k3")),
        session("hedy", "hedy", None, None),
    ];
    for session in all.clone() {
        stores.health.add_session(session).await.expect("a session");
    }
    assert_eq!(stores.health.session("ada").await.expect("an answer"), Some(all[1].clone()));
    let standing = async || {
        let mut standing = Vec::new();
        for session in &all {
            let found = stores.health.session(&session.id).await.expect("an answer").expect("a session");
            if found.ended_ms.is_none() {
                standing.push(found.id);
            }
        }
        standing
    };
    let uuid = "grace".to_owned();
    let changes = [
        (HealthChange::EndSessionsOfKey { key_id: "k1".to_owned(), at_ms: 5 }, vec!["own", "ada2", "bob", "hedy"]),
        (HealthChange::EndSessionsOfPatient { uuid, at_ms: 5 }, vec!["ada2", "bob", "hedy"]),
        (HealthChange::EndSessionsOfActor { account: "ada".to_owned(), at_ms: 5 }, vec!["bob", "hedy"]),
    ];
    for (change, left) in changes {
        stores.health.apply(change).await.expect("made");
        assert_eq!(standing().await, left);
    }
    assert!(stores.health.end_session("bob", 5).await.expect("an answer"));
    assert!(!stores.health.end_session("bob", 6).await.expect("an answer"));
    assert_eq!(standing().await, ["hedy"]);
}
