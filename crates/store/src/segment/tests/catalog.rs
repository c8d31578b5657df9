//! The catalog's functions, on any engine: each test is a function of a database.

use vitals::registry::{Channel, DataType};

use super::objects;
use crate::engine::Address;
use crate::error::StoreError;
use crate::health::HealthDb;
use crate::ids::PatientId;
use crate::random_blocks::DAY_START_US;
use crate::segment::{ChunkKey, Publication, SealedPeriod, TEXTS, Tail, UnsealedPeriod, WrittenSegment};

const DAY_US: i64 = 86_400_000_000;
const INSERT_CHUNK: &str = "INSERT INTO chunk
    (patient, data_type, channel, first_us, arrival, last_us, row_count, payload)
    VALUES ($1, $2, $3, $4, $5, $4, 1, $6)";
const COUNT_CHUNKS: &str = "SELECT count(*) FROM chunk WHERE patient = $1";

fn patient_of(number: u64) -> PatientId {
    PatientId::new(format!("00000000-0000-0000-0000-{number:012x}"))
}

async fn add_chunk(health: &HealthDb, patient: &PatientId, data_type: DataType, key: ChunkKey) {
    let patient = patient.clone();
    let insert = async move |tx: &crate::engine::Tx<'_>| {
        let payload: Vec<u8> = vec![1, 0];
        tx.execute(
            INSERT_CHUNK,
            &[&patient, &data_type.number(), &key.channel.0, &key.first_us, &key.arrival, &payload],
        )
        .await
    };
    assert_eq!(health.db.write(insert).await.unwrap(), 1);
}

async fn chunks(health: &HealthDb, patient: &PatientId) -> i64 {
    let patient = patient.clone();
    let count = health.db.read(async move |tx| tx.query_opt(COUNT_CHUNKS, &[&patient], |row| row.get(0)).await).await;
    count.unwrap().unwrap()
}

fn key(first_us: i64, arrival: i64) -> ChunkKey {
    ChunkKey { channel: Channel(3), first_us, last_us: first_us, arrival }
}

fn object(path: &str, first_us: i64, last_us: i64) -> WrittenSegment {
    let (path, sha256, tail) = (path.to_owned(), "ab".to_owned(), Some(Tail { bytes: 300, sum: 7 }));
    WrittenSegment { path, bytes: 1000, rows: 10, sha256, first_us, last_us, tail }
}

fn publication(patient: &PatientId, expected_generation: i64, path: &str, chunks: Vec<ChunkKey>) -> Publication {
    Publication {
        patient: patient.clone(),
        data_type: DataType::Ppg2,
        period: SealedPeriod::of(DataType::Ppg2, DAY_START_US),
        expected_generation,
        object: object(path, DAY_START_US + 10, DAY_START_US + 90),
        chunks,
        sealed_ms: 1000 + expected_generation,
    }
}

async fn publishing_replaces_and_deletes_what_was_merged(health: HealthDb) {
    let patient = patient_of(1);
    for arrival in [1, 2, 3] {
        add_chunk(&health, &patient, DataType::Ppg2, key(DAY_START_US, arrival)).await;
    }
    let period = SealedPeriod::of(DataType::Ppg2, DAY_START_US);
    assert_eq!(health.segment_of(&patient, DataType::Ppg2, period).await.unwrap(), None);

    health.publish_segment(publication(&patient, 0, "a", vec![key(DAY_START_US, 1)])).await.unwrap();
    assert_eq!(chunks(&health, &patient).await, 2);
    let row = health.segment_of(&patient, DataType::Ppg2, period).await.unwrap().unwrap();
    assert_eq!((row.generation, row.object), (1, object("a", DAY_START_US + 10, DAY_START_US + 90)));
    assert!(health.dead_objects(i64::MAX, 10).await.unwrap().is_empty());

    health.publish_segment(publication(&patient, 1, "b", vec![key(DAY_START_US, 2)])).await.unwrap();
    assert_eq!(chunks(&health, &patient).await, 1);
    let row = health.segment_of(&patient, DataType::Ppg2, period).await.unwrap().unwrap();
    assert_eq!((row.generation, row.object.path.as_str()), (2, "b"));
    assert_eq!(health.dead_objects(i64::MAX, 10).await.unwrap(), ["a"]);
}

async fn a_late_publisher_changes_nothing(health: HealthDb) {
    let patient = patient_of(2);
    add_chunk(&health, &patient, DataType::Ppg2, key(DAY_START_US, 1)).await;
    health.publish_segment(publication(&patient, 0, "a2", vec![])).await.unwrap();
    for (expected, merged) in [(0, vec![]), (2, vec![]), (1, vec![key(DAY_START_US, 1), key(DAY_START_US, 9)])] {
        let late = health.publish_segment(publication(&patient, expected, "b2", merged)).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)));
    }
    let period = SealedPeriod::of(DataType::Ppg2, DAY_START_US);
    let row = health.segment_of(&patient, DataType::Ppg2, period).await.unwrap().unwrap();
    assert_eq!((row.generation, row.object.path.as_str()), (1, "a2"));
    assert_eq!(chunks(&health, &patient).await, 1);
    assert!(!health.dead_objects(i64::MAX, 10).await.unwrap().contains(&"a2".to_owned()));
}

async fn of_two_publishers_at_once_one_wins(health: HealthDb) {
    let patient = patient_of(3);
    let one = health.publish_segment(publication(&patient, 0, "a3", vec![]));
    let other = health.publish_segment(publication(&patient, 0, "b3", vec![]));
    let (one, other) = futures::join!(one, other);
    assert_eq!(u8::from(one.is_ok()) + u8::from(other.is_ok()), 1);
    let lost = one.err().or(other.err());
    assert!(matches!(lost, Some(StoreError::LeaseLost)));
}

async fn segments_are_found_by_their_samples_times(health: HealthDb) {
    let patient = patient_of(4);
    for (day, path) in [(0, "day0"), (1, "day1"), (3, "day3")] {
        let start_us = DAY_START_US + day * DAY_US;
        let mut day = publication(&patient, 0, path, vec![]);
        day.period = SealedPeriod::of(DataType::Ppg2, start_us);
        day.object = object(path, start_us + 10, start_us + 90);
        health.publish_segment(day).await.unwrap();
    }
    let paths = async |data_type, from_us, to_us| -> Vec<String> {
        let found = health.segments_between(&patient, data_type, from_us, to_us).await.unwrap();
        found.into_iter().map(|segment| segment.object.path).collect()
    };
    assert_eq!(paths(DataType::Ppg2, i64::MIN, i64::MAX).await, ["day0", "day1", "day3"]);
    assert_eq!(paths(DataType::Ppg2, DAY_START_US + 90, DAY_START_US + DAY_US + 10).await, ["day0", "day1"]);
    assert_eq!(paths(DataType::Ppg2, DAY_START_US + 91, DAY_START_US + DAY_US + 9).await, [""; 0]);
    assert_eq!(paths(DataType::Acc, i64::MIN, i64::MAX).await, [""; 0]);
}

async fn dead_objects_wait_and_are_forgotten(health: HealthDb) {
    let patient = patient_of(5);
    for (expected, path) in [(0, "a5"), (1, "b5"), (2, "c5")] {
        health.publish_segment(publication(&patient, expected, path, vec![])).await.unwrap();
    }
    // They died at 1001 and 1002 ms.
    assert_eq!(health.dead_objects(1001, 10).await.unwrap(), [""; 0]);
    assert_eq!(health.dead_objects(1002, 10).await.unwrap(), ["a5"]);
    assert_eq!(health.dead_objects(1003, 10).await.unwrap(), ["a5", "b5"]);
    assert_eq!(health.dead_objects(1003, 1).await.unwrap(), ["a5"]);
    health.forget_dead_object("a5").await.unwrap();
    health.forget_dead_object("a5").await.unwrap();
    assert_eq!(health.dead_objects(1003, 10).await.unwrap(), ["b5"]);
}

async fn periods_that_have_ended_are_found_oldest_first(health: HealthDb) {
    let (one, other) = (patient_of(6), patient_of(7));
    // Ended by noon of 1 December: the days of November, and November.
    let noon_us = DAY_START_US + 11 * DAY_US + DAY_US / 2;
    let today_us = DAY_START_US + 11 * DAY_US;
    add_chunk(&health, &one, DataType::Ppg2, key(DAY_START_US + DAY_US, 1)).await;
    add_chunk(&health, &one, DataType::Ppg2, key(DAY_START_US + 2 * DAY_US, 2)).await;
    add_chunk(&health, &one, DataType::Sleep, key(today_us - 1, 3)).await;
    add_chunk(&health, &one, DataType::Tests, key(today_us, 4)).await;
    add_chunk(&health, &other, DataType::Ecg, key(today_us, 5)).await;
    add_chunk(&health, &other, DataType::Acc, key(today_us - 1, 6)).await;
    let unsealed = |patient: &PatientId, data_type, time_us| UnsealedPeriod {
        patient: patient.clone(),
        data_type,
        period: SealedPeriod::of(data_type, time_us),
    };
    let wanted = [
        unsealed(&one, DataType::Ppg2, DAY_START_US + DAY_US),
        unsealed(&one, DataType::Sleep, today_us - 1),
        unsealed(&other, DataType::Acc, today_us - 1),
    ];
    assert_eq!(health.unsealed_periods(noon_us, 10).await.unwrap(), wanted);
    assert_eq!(health.unsealed_periods(noon_us, 1).await.unwrap(), wanted[..1]);
    assert_eq!(health.unsealed_periods(today_us - 1, 10).await.unwrap(), wanted[..1]);
}

async fn every_text_is_understood(health: HealthDb) {
    for text in TEXTS {
        health.db.prepare(text).await.unwrap();
    }
}

/// Makes of each function above a test on SQLite and one on PostgreSQL, each on a database of its own.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                super::$name(super::open(crate::Address::File(folder.path().join("health.db"))).await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                // The test kit says loudly where there is no PostgreSQL.
                if let Some(database) = testkit::Postgres::start() {
                    super::$name(super::open(crate::Address::Postgres(database.url.clone())).await).await;
                }
            })*
        }
    };
}

async fn open(address: Address) -> HealthDb {
    HealthDb::open(address, objects()).await.unwrap()
}

on_both_engines! {
    publishing_replaces_and_deletes_what_was_merged
    a_late_publisher_changes_nothing
    of_two_publishers_at_once_one_wins
    segments_are_found_by_their_samples_times
    dead_objects_wait_and_are_forgotten
    periods_that_have_ended_are_found_oldest_first
    every_text_is_understood
}

/// The query for unsealed periods distinguishes days from months by the bits of one number.
#[test]
fn bits_say_which_types_are_sealed_by_the_day() {
    let daily = crate::segment::catalog::types_sealed_by_the_day();
    for data_type in DataType::ALL {
        let is_daily = data_type.period() == vitals::registry::Period::Day;
        assert_eq!(daily >> data_type.number() & 1 == 1, is_daily, "{}", data_type.name());
    }
}
