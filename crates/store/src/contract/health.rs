//! Patients, devices and sessions of the health database.

use super::{Stores, on_both_engines};
use crate::ids::{PatientId, SerialNumber};
use crate::{Device, Gender, GroupCode, HealthChange, HealthPatient, Profile};

on_both_engines! {
    a_change_made_twice_is_made_once
    many_patients_are_found_at_once
    the_newest_device_is_returned
}

fn put(name: &str, profile: Profile, at_ms: i64) -> HealthChange {
    HealthChange::PutPatient {
        uuid: PatientId::new(format!("uuid-{name}")),
        record_id: crate::ids::RecordId::new(format!("id-{name}")),
        customer_code: (at_ms == 1).then(|| GroupCode::new("AAAAA")),
        profile,
        at_ms,
    }
}

async fn a_change_made_twice_is_made_once(stores: Stores) {
    let described = Profile {
        birthday: Some("1966-12-09".to_owned()),
        gender: Some(Gender::Female),
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
        uuid: PatientId::new("uuid-grace"),
        record_id: crate::ids::RecordId::new("id-grace"),
        customer_code: Some(GroupCode::new("AAAAA")),
        profile: Profile { weight: Some(61.0), height: Some(166.0), ..described },
        created_ms: 1,
        updated_ms: 3,
        last_sync_ms: None,
    };
    assert_eq!(stores.health.patient(&PatientId::new("uuid-grace")).await.expect("an answer"), Some(expected));
    assert_eq!(stores.health.patient(&PatientId::new("uuid-hedy")).await.expect("an answer"), None);
}

async fn many_patients_are_found_at_once(stores: Stores) {
    for at in 0..130 {
        stores.health.apply(put(&at.to_string(), Profile::default(), 1)).await.expect("made");
    }
    for count in [0, 1, 63, 64, 65, 128, 129] {
        let mut uuids: Vec<_> = (0..count).map(|at| PatientId::new(format!("uuid-{at}"))).collect();
        uuids.push(PatientId::new("uuid-nobody"));
        let found = stores.health.patients(uuids.clone()).await.expect("an answer");
        uuids.pop();
        let mut names: Vec<_> = found.into_keys().collect();
        names.sort();
        uuids.sort();
        assert_eq!(names, uuids);
    }
}

async fn the_newest_device_is_returned(stores: Stores) {
    const ADD: &str = "INSERT INTO device (patient, serial_number, updated_ms) VALUES ($1, $2, $3)";
    let devices = [("grace", "s1", 10_i64), ("grace", "s2", 30), ("grace", "s3", 30), ("hedy", "s4", 5)];
    for (patient, serial_number, updated_ms) in devices {
        let add =
            stores.health.db.write(async move |tx| tx.execute(ADD, &[&patient, &serial_number, &updated_ms]).await);
        add.await.expect("a device");
    }
    let of_grace = stores.health.devices(&PatientId::new("grace")).await.expect("a list");
    let serials: Vec<_> = of_grace.iter().map(|device| device.serial_number.as_str()).collect();
    assert_eq!(serials, ["s2", "s3", "s1"]);
    let patients = ["grace", "hedy", "nobody"].map(PatientId::new).to_vec();
    let newest = stores.health.newest_devices(patients).await.expect("an answer");
    assert_eq!(newest.len(), 2);
    assert_eq!(newest[&PatientId::new("grace")], of_grace[0]);
    let expected = Device {
        serial_number: SerialNumber::new("s4"),
        device_type: None,
        firmware_version: None,
        battery_level: None,
        updated_ms: 5,
    };
    assert_eq!(newest[&PatientId::new("hedy")], expected);
}
