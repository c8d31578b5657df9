//! A store with something of every kind.

use vitals::block::{Block, Cells};
use vitals::derivation::{DerivedRow, Output, Setting, day_and, day_and_type};
use vitals::latest::{LatestValues, Timed};
use vitals::news_timeline::{NewsEntry, SettingsAt};
use vitals::registry::DataType;
use vitals::summary::Section;
use vitals::zone::{LocalDay, SECOND_US, ZoneRuns};

use crate::contract::audit;
use crate::contract::example_rows::{account, group, message, patient};
use crate::contract::no_settings;
use crate::ids::{AccountId, GroupCode, PatientId};
use crate::segment::{SealedPeriod, UnsealedPeriod};
use crate::{DerivationCommit, HealthChange, HealthDb, LatestChange, Profile, Sync, SyncOutcome, UsersDb};

/// Like the uuids of a real store.
pub(in crate::contract) const PATIENTS: [&str; 2] =
    ["2f7c1e0a-9d1b-4f52-8a35-0c54e6f1a001", "9b04d6c8-3c1e-4b7a-a2f0-77d1c2e5b002"];
/// Midnight of the first day, µs: 2025-11-20.
const FIRST_DAY_US: i64 = 1_763_596_800_000_000;
const DAY: LocalDay = LocalDay(20_412);
/// Time at which it was made, ms.
pub(super) const MADE: i64 = FIRST_DAY_US / 1000 + 3 * 86_400_000;
/// Time at which what came later is merged, ms.
pub(super) const LATER: i64 = MADE + 40 * 86_400_000;
const MINUTE_US: i64 = 60 * SECOND_US;

/// Rows with values that change from row to row, some of them absent.
fn rows(data_type: DataType, channel_cells: &[i32], (first_us, step_us): (i64, i64), count: usize) -> Block {
    let mut block = Block::empty(data_type, data_type.channel(channel_cells));
    block.times_us = (0..count as i64).map(|row| first_us + row * step_us).collect();
    for (position, column) in data_type.columns().iter().enumerate() {
        block.columns[position] = if column.is_text() {
            Cells::Text((0..count).map(|row| (row % 3 > 0).then(|| format!("text {}", row % 7).into())).collect())
        } else {
            Cells::Values((0..count).map(|row| ((row * row + 31 * position) % 97) as i32).collect()).simplified()
        };
    }
    for (position, cell) in data_type.channel_columns().iter().zip(channel_cells) {
        block.columns[*position] = Cells::Constant(*cell);
    }
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), count);
    block
}

fn sync(patient: &str, received_ms: i64, blocks: Vec<Block>) -> Sync {
    Sync { patient: PatientId::new(patient), received_ms, id: None, device: None, blocks }
}

/// Returns what is stored in a flipped store: rows that are there, rows in the place of others, and new ones.
pub(super) fn later_sync(patient: &str) -> Sync {
    let from = |first_us| (first_us, MINUTE_US);
    let blocks = vec![
        rows(DataType::Activity, &[], from(FIRST_DAY_US), 90),
        rows(DataType::Activity, &[], from(FIRST_DAY_US + 86_400 * SECOND_US + 30 * MINUTE_US), 200),
        rows(DataType::RrInterval, &[], (FIRST_DAY_US + 7, 900_000), 50),
    ];
    sync(patient, MADE, blocks)
}

/// Periods that are sealed while the store is made, and once more later.
pub(super) fn periods() -> impl Iterator<Item = UnsealedPeriod> {
    let types = [DataType::RrInterval, DataType::Ppg2, DataType::Activity];
    PATIENTS.into_iter().flat_map(move |name| {
        types.map(|data_type| {
            let period = SealedPeriod::of(data_type, FIRST_DAY_US);
            UnsealedPeriod { patient: PatientId::new(name), data_type, period }
        })
    })
}

/// Fills a store.
pub(in crate::contract) async fn make(health: &HealthDb) {
    for name in PATIENTS {
        enrol(health, name).await;
        let waveform = |colour| rows(DataType::Ppg2, &[colour, 6], (FIRST_DAY_US + i64::from(colour), 40_000), 1_500);
        let sealed =
            vec![rows(DataType::RrInterval, &[], (FIRST_DAY_US, 900_000), 1_500), waveform(0x7b), waveform(0x7e)];
        store(health, sync(name, MADE, sealed)).await;
    }
    for period in periods() {
        health.seal_period(&period, MADE, 1).await.expect("sealed");
    }
    for name in PATIENTS {
        // Hours of one chunk each, and minutes as a phone sends them.
        for hour in 0..20 {
            let first_us = FIRST_DAY_US + hour * 60 * MINUTE_US;
            store(health, sync(name, MADE, vec![rows(DataType::Activity, &[], (first_us, SECOND_US), 300)])).await;
        }
        for minute in 0..30 {
            let first_us = FIRST_DAY_US + 86_400 * SECOND_US + minute * MINUTE_US;
            store(health, sync(name, MADE, vec![rows(DataType::Activity, &[], (first_us, SECOND_US), 60)])).await;
        }
        store(health, sync(name, MADE, vec![rows(DataType::Tests, &[3], (FIRST_DAY_US, MINUTE_US), 20)])).await;
        derive(health, name).await;
    }
}

/// Persons, a study and its patients.
pub(super) const PERSONS: [&str; 3] = ["ada", "bob", "hal"];
pub(super) const STUDY: &str = "AAAAA";

/// Fills a users database.
pub(super) async fn make_users(users: &UsersDb) {
    for name in PERSONS {
        users.add_account(account(name)).await.expect("an account");
    }
    let owner = AccountId::new("uuid-ada");
    users.add_group(group(STUDY, 1), &owner, audit(Vec::new(), 0)).await.expect("a group");
    for number in 0..20 {
        let new = patient(&format!("patient-{number}"));
        let message = message(&format!("message-{number}"), number);
        users.add_patient(new, &GroupCode::new(STUDY), message, no_settings()).await.expect("a patient");
    }
}

async fn store(health: &HealthDb, sync: Sync) {
    let outcome = health.store_sync(sync).await.expect("stored");
    assert!(matches!(outcome, SyncOutcome::Stored(_)), "{outcome:?}");
}

async fn enrol(health: &HealthDb, name: &str) {
    let profile = Profile {
        birthday: Some("1970-02-03".to_owned()),
        height: Some(171.5),
        weight: Some(62.25),
        time_zone: Some("Europe/Zurich".to_owned()),
        ..Profile::default()
    };
    let (uuid, record_id) = (PatientId::new(name), crate::ids::RecordId::new("0123456789abcdef01234567"));
    let change = HealthChange::PutPatient { uuid, record_id, customer_code: None, profile, at_ms: 1 };
    health.apply(change).await.expect("enrolled");
    let body = r#"{"oxygen":true,"scale":2}"#.to_owned();
    let setting = Setting { name: "news-settings".to_owned(), valid_from_ms: 5, body };
    health.put_patient_setting(&PatientId::new(name), setting).await.expect("stored");
}

/// Commits derived values of every output.
async fn derive(health: &HealthDb, name: &str) {
    let patient = PatientId::new(name);
    let claim = health.claim_patient(&patient, None, MADE, 1_000).await.expect("an answer").expect("a claim");
    let row = |output, key, body: Vec<u8>| DerivedRow { output, key, version: 3, body: Some(body) };
    let bytes = |count: usize, salt: usize| (0..count).map(|at| (at * at / 3 + salt) as u8).collect::<Vec<u8>>();
    let mut rows = Vec::new();
    for offset in 0..3 {
        let day = LocalDay(DAY.0 + offset);
        for data_type in [DataType::Activity, DataType::RrInterval, DataType::Tests] {
            rows.push(row(Output::Slots, day_and_type(day, data_type), bytes(3_000, offset as usize)));
        }
        for section in [Section::Spo2, Section::ALL[0], Section::ALL[5]] {
            let body = format!(r#"{{"mean":{},"count":{}}}"#, 61 + offset, section.number());
            rows.push(row(Output::Section, day_and(day, section.number()), body.into_bytes()));
        }
        rows.push(row(Output::DayInputs, day_and(day, 0), bytes(200, 7)));
        rows.push(row(Output::Extra, day_and(day, 2), b"{\"night\":55.5}".to_vec()));
    }
    for hour in 0..6_i64 {
        rows.push(row(Output::AfHour, FIRST_DAY_US / 1000 + hour * 3_600_000, bytes(900, hour as usize)));
    }
    let latest = |value: f64| {
        let heart_rate = Some(Timed { value, timestamp_ms: FIRST_DAY_US / 1000 });
        LatestValues { heart_rate, ..LatestValues::default() }
    };
    for at in 0..20_i64 {
        let entry =
            NewsEntry::at(FIRST_DAY_US / 1000 + at * 300_000, &latest(60.0).into(), &SettingsAt::default(), None);
        rows.push(row(Output::News, entry.time_ms, serde_json::to_vec(&entry).expect("an entry")));
    }
    let seen = health.stored_latest(&patient).await.expect("values");
    let latest = Some(LatestChange { seen, computed: latest(61.5).into() });
    let commit = DerivationCommit { rows, latest, ..DerivationCommit::nothing(claim) };
    health.commit_derivations(vec![commit]).await.expect("committed");
}
