//! What a sync stores, counts and leaves to be read, on every engine.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod common;

use common::{on_each_engine, patient};
use proptest::prelude::*;
use store::{Counts, DerivationCommit, HealthDb, NamedSync, PatientId, Sync, SyncId, SyncOutcome};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::{DAY_US, LocalDay, ZoneRuns};

const NOON_US: i64 = 1_763_640_000_000_000; // 2025-11-20T12:00Z
const NOW_MS: i64 = NOON_US / 1000 + 86_400_000;

fn rows_of(data_type: DataType, column: &str, rows: &[(i64, i32)], zone: &str) -> Block {
    let mut block = Block::empty(data_type, Channel::default());
    block.times_us = rows.iter().map(|row| row.0).collect();
    let cells = Cells::Values(rows.iter().map(|row| row.1).collect()).simplified();
    block.columns[data_type.column_index(column).unwrap()] = cells;
    block.zones = ZoneRuns::constant(zone.into(), rows.len());
    block
}

fn bpm(rows: &[(i64, i32)]) -> Block {
    rows_of(DataType::Activity, "bpm", rows, "Europe/Zurich")
}

fn sync(blocks: Vec<Block>) -> Sync {
    Sync { patient: patient(), received_ms: NOW_MS, id: None, device: None, blocks }
}

async fn send(health: &HealthDb, block: Block) -> Counts {
    let data_type = block.data_type;
    match health.store_sync(sync(vec![block])).await.unwrap() {
        SyncOutcome::Stored(counts) => counts[&data_type],
        other => panic!("{other:?}"),
    }
}

async fn stored(health: &HealthDb, data_type: DataType) -> Vec<(i64, i32)> {
    let blocks = health.rows(&patient(), data_type, 0, i64::MAX / 4).await.unwrap();
    let rows = |block: &Block| {
        let column = block.columns.iter().find(|cells| **cells != Cells::Constant(vitals::registry::NULL)).unwrap();
        (0..block.rows()).map(|row| (block.times_us[row], column.get(row))).collect::<Vec<_>>()
    };
    blocks.iter().flat_map(rows).collect()
}

#[tokio::test]
async fn counts_are_exact_and_the_last_arrival_is_kept() {
    on_each_engine(|health| async move {
        let a = bpm(&[(NOON_US, 60), (NOON_US + 1_000_000, 61)]);
        let b = bpm(&[(NOON_US, 70)]);
        assert_eq!(send(&health, a.clone()).await, Counts { stored: 2, ..Counts::default() });
        assert_eq!(
            send(&health, a.clone()).await,
            Counts { stored: 0, duplicate: 2, replaced: 0, ..Counts::default() }
        );
        assert_eq!(send(&health, b).await, Counts { stored: 0, duplicate: 0, replaced: 1, ..Counts::default() });
        assert_eq!(stored(&health, DataType::Activity).await[0].1, 70);
        assert_eq!(
            send(&health, a.clone()).await,
            Counts { stored: 0, duplicate: 1, replaced: 1, ..Counts::default() }
        );
        assert_eq!(stored(&health, DataType::Activity).await, [(NOON_US, 60), (NOON_US + 1_000_000, 61)]);
        let counts = health.count_local_day(&patient(), LocalDay::parse("2025-11-20").unwrap()).await.unwrap();
        assert_eq!(counts, [(DataType::Activity, 2)]);
    })
    .await;
}

#[tokio::test]
async fn copies_within_a_sync_count_as_if_they_came_one_by_one() {
    on_each_engine(|health| async move {
        let counts = |stored, duplicate, replaced| Counts { stored, duplicate, replaced, ..Counts::default() };
        let copies = |values: &[i32]| bpm(&values.iter().map(|value| (NOON_US, *value)).collect::<Vec<_>>());
        assert_eq!(send(&health, copies(&[70, 71, 70])).await, counts(1, 0, 2));
        assert_eq!(send(&health, copies(&[70, 71, 70])).await, counts(0, 1, 2));
        // The first copy replaces what is stored, although the last one equals it.
        assert_eq!(send(&health, copies(&[71, 70])).await, counts(0, 0, 2));
        assert_eq!(send(&health, copies(&[71, 71, 70, 70])).await, counts(0, 2, 2));
        assert_eq!(send(&health, copies(&[72, 72])).await, counts(0, 1, 1));
        assert_eq!(stored(&health, DataType::Activity).await, [(NOON_US, 72)]);

        let ppg = |rows: &[(i64, i32)]| rows_of(DataType::Ppg1, "ppg", rows, "UTC");
        assert_eq!(send(&health, ppg(&[(NOON_US + 813, 5), (NOON_US + 8000, 6)])).await, counts(2, 0, 0));
        // At the whole millisecond it is the same sample.
        assert_eq!(send(&health, ppg(&[(NOON_US, 7), (NOON_US, 5), (NOON_US + 8000, 6)])).await, counts(0, 1, 2));
        assert_eq!(stored(&health, DataType::Ppg1).await, [(NOON_US + 813, 5), (NOON_US + 8000, 6)]);
    })
    .await;
}

#[tokio::test]
async fn rows_are_counted_on_the_local_day_of_the_zone_they_first_came_in() {
    on_each_engine(|health| async move {
        let late_us = i64::from(LocalDay::parse("2025-11-20").unwrap().0) * DAY_US + DAY_US - 1_800_000_000;
        let day = |text: &str| LocalDay::parse(text).unwrap();
        send(&health, rows_of(DataType::Sleep, "sleep_state", &[(late_us, 1)], "Europe/Zurich")).await;
        let again = send(&health, rows_of(DataType::Sleep, "sleep_state", &[(late_us, 1)], "UTC")).await;
        assert_eq!(again.duplicate, 1);
        let changed = send(&health, rows_of(DataType::Sleep, "sleep_state", &[(late_us, 2)], "UTC")).await;
        assert_eq!(changed.replaced, 1);
        assert_eq!(health.count_local_day(&patient(), day("2025-11-20")).await.unwrap(), []);
        assert_eq!(health.count_local_day(&patient(), day("2025-11-21")).await.unwrap(), [(DataType::Sleep, 1)]);
        let quarters = health
            .local_quarters(&patient(), DataType::Sleep, i64::from(day("2025-11-21").0) * DAY_US, i64::MAX / 8)
            .await
            .unwrap();
        assert_eq!(quarters.len(), 1);
        assert_eq!(quarters[0].offset_s, 3600);
    })
    .await;
}

#[tokio::test]
async fn what_was_shown_in_whole_milliseconds_is_known_when_it_comes_back() {
    on_each_engine(|health| async move {
        let rows: Vec<(i64, i32)> = (0..256).map(|row| (NOON_US + row * 1_000_000 / 128, row as i32)).collect();
        let shown: Vec<(i64, i32)> = rows.iter().map(|row| (row.0 / 1000 * 1000, row.1)).collect();
        let ppg = |rows: &[(i64, i32)]| rows_of(DataType::Ppg1, "ppg", rows, "UTC");
        assert_eq!(send(&health, ppg(&rows)).await.stored, 256);
        assert_eq!(
            send(&health, ppg(&shown)).await,
            Counts { stored: 0, duplicate: 256, replaced: 0, ..Counts::default() }
        );
        assert_eq!(stored(&health, DataType::Ppg1).await, rows);
    })
    .await;
}

#[tokio::test]
async fn a_sync_over_midnight_is_one_sync_and_rows_in_disorder_are_put_in_order() {
    on_each_engine(|health| async move {
        let midnight_us = NOON_US + DAY_US / 2;
        let rows =
            [(midnight_us + 5, 3), (midnight_us - 5, 1), (midnight_us, 2), (midnight_us + 5, 3), (midnight_us, 9)];
        assert_eq!(
            send(&health, bpm(&rows)).await,
            Counts { stored: 3, duplicate: 1, replaced: 1, ..Counts::default() }
        );
        let expected = [(midnight_us - 5, 1), (midnight_us, 9), (midnight_us + 5, 3)];
        assert_eq!(stored(&health, DataType::Activity).await, expected);
    })
    .await;
}

/// Rows at noon, each with the columns that are named.
fn rows_at_noon(rows: &[(Option<i32>, Option<i32>)]) -> Block {
    let mut block = bpm(&rows.iter().map(|_| (NOON_US, 0)).collect::<Vec<_>>());
    let (rates, saturations): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
    for (name, values) in [("bpm", rates), ("spo2", saturations)] {
        let cells = values.into_iter().map(|value| value.unwrap_or(vitals::registry::NULL)).collect();
        block.columns[DataType::Activity.column_index(name).unwrap()] = Cells::Values(cells).simplified();
    }
    block
}

#[tokio::test]
async fn columns_that_a_row_takes_away_count_as_if_rows_came_one_by_one() {
    on_each_engine(|health| async move {
        let counts = |stored, duplicate, replaced, columns_removed| Counts {
            stored,
            duplicate,
            replaced,
            columns_removed,
            unverified: 0,
        };
        let send = async |rows: &[(Option<i32>, Option<i32>)]| send(&health, rows_at_noon(rows)).await;
        assert_eq!(send(&[(Some(60), Some(97))]).await, counts(1, 0, 0, 0));
        assert_eq!(send(&[(Some(61), Some(98))]).await, counts(0, 0, 1, 0), "another value takes nothing away");
        assert_eq!(send(&[(Some(61), None)]).await, counts(0, 0, 1, 1));
        assert_eq!(send(&[(Some(61), None)]).await, counts(0, 1, 0, 0));
        assert_eq!(send(&[(None, None)]).await, counts(0, 0, 1, 1));
        // The first copy meets what is stored, the others the one before them.
        assert_eq!(send(&[(Some(60), Some(97)), (None, Some(97)), (Some(60), None)]).await, counts(0, 0, 3, 2));
        assert_eq!(send(&[(None, None), (Some(60), None)]).await, counts(0, 0, 2, 1));
    })
    .await;
}

#[tokio::test]
async fn validated_sync_is_counted_like_a_stored_one_and_leaves_nothing() {
    on_each_engine(|health| async move {
        let device = store::DeviceReport::new(store::SerialNumber::new("PB-7"));
        let with_id = |content: u8, rows: &[(Option<i32>, Option<i32>)]| Sync {
            id: Some(NamedSync { id: SyncId::new("morning"), content_hash: vec![content] }),
            device: Some(device.clone()),
            ..sync(vec![rows_at_noon(rows)])
        };
        let both = [(Some(60), Some(97))];
        let validated = health.validate_sync(with_id(1, &both)).await.unwrap();
        assert_eq!(stored(&health, DataType::Activity).await, []);
        assert_eq!(health.devices(&patient()).await.unwrap(), []);
        // Neither the id nor a number of an event was taken.
        assert_eq!(health.store_sync(with_id(2, &both)).await.unwrap(), validated);
        assert_eq!(health.validate_sync(with_id(3, &both)).await.unwrap(), SyncOutcome::IdReused);
        let events = health.events().after(&patient(), 0, 9).await.unwrap();
        assert_eq!(events.iter().filter(|event| event.body.to_string().contains("activity")).count(), 1);
        let before = (health.chunk_count(&patient()).await.unwrap(), events.len());

        let other = || sync(vec![rows_at_noon(&[(Some(61), None)])]);
        let validated = health.validate_sync(other()).await.unwrap();
        let events = health.events().after(&patient(), 0, 9).await.unwrap();
        assert_eq!((health.chunk_count(&patient()).await.unwrap(), events.len()), before);
        let periods = health.unsealed_periods(i64::MAX / 4, 10).await.unwrap();
        health.seal_period(&periods[0], NOW_MS, 1).await.unwrap();
        assert_eq!(health.validate_sync(other()).await.unwrap(), validated, "sealed rows are compared as well");
        assert_eq!(health.store_sync(other()).await.unwrap(), validated);
        let SyncOutcome::Stored(counts) = validated else { panic!("{validated:?}") };
        assert_eq!((counts[&DataType::Activity].replaced, counts[&DataType::Activity].columns_removed), (1, 1));
        let stranger = Sync { patient: PatientId::new("nobody"), ..other() };
        assert_eq!(health.validate_sync(stranger).await.unwrap(), SyncOutcome::UnknownPatient);
    })
    .await;
}

#[tokio::test]
async fn a_sync_id_means_one_content() {
    on_each_engine(|health| async move {
        let with_id = |content: u8, value| Sync {
            id: Some(NamedSync { id: SyncId::new("morning"), content_hash: vec![content] }),
            ..sync(vec![bpm(&[(NOON_US, value)])])
        };
        let stored = |counts: Counts| SyncOutcome::Stored([(DataType::Activity, counts)].into());
        let first = health.store_sync(with_id(1, 60)).await.unwrap();
        assert_eq!(first, stored(Counts { stored: 1, duplicate: 0, replaced: 0, ..Counts::default() }));
        let again = health.store_sync(with_id(1, 60)).await.unwrap();
        assert_eq!(again, stored(Counts { stored: 0, duplicate: 1, replaced: 0, ..Counts::default() }));
        assert_eq!(health.store_sync(with_id(2, 99)).await.unwrap(), SyncOutcome::IdReused);
        let stranger = Sync { patient: PatientId::new("nobody"), ..with_id(3, 1) };
        assert_eq!(health.store_sync(stranger).await.unwrap(), SyncOutcome::UnknownPatient);
    })
    .await;
}

#[tokio::test]
async fn sealing_changes_no_answer_and_later_syncs_reach_into_what_is_sealed() {
    on_each_engine(|health| async move {
        let day: Vec<(i64, i32)> = (0..600).map(|minute| (NOON_US + minute * 60_000_000, minute as i32 % 90)).collect();
        send(&health, bpm(&day[..400])).await;
        send(&health, bpm(&day[300..])).await;
        send(&health, bpm(&[(day[5].0, 200)])).await;
        let before = stored(&health, DataType::Activity).await;
        let counted = health.count_quarters(&patient(), 0, i64::MAX / 4).await.unwrap();

        let periods = health.unsealed_periods(i64::MAX / 4, 10).await.unwrap();
        assert_eq!(periods.len(), 1);
        let sealed = health.seal_period(&periods[0], NOW_MS, 1).await.unwrap();
        assert_eq!((sealed.segments, sealed.rows), (1, 600));
        assert_eq!(health.chunk_count(&patient()).await.unwrap(), 0);
        assert_eq!(stored(&health, DataType::Activity).await, before);

        let again = send(&health, bpm(&day[..10])).await;
        assert_eq!(again, Counts { stored: 0, duplicate: 9, replaced: 1, ..Counts::default() });
        let late = send(&health, bpm(&[(NOON_US + 1, 77)])).await;
        assert_eq!(late.stored, 1);
        let expected = {
            let mut rows = day.clone();
            rows.insert(1, (NOON_US + 1, 77));
            rows
        };
        assert_eq!(stored(&health, DataType::Activity).await, expected);

        let periods = health.unsealed_periods(i64::MAX / 4, 10).await.unwrap();
        let sealed = health.seal_period(&periods[0], NOW_MS, 2).await.unwrap();
        assert_eq!(sealed.rows, 601);
        assert_eq!(stored(&health, DataType::Activity).await, expected);
        assert_ne!(health.count_quarters(&patient(), 0, i64::MAX / 4).await.unwrap(), counted);
        assert_eq!(health.dead_objects(i64::MAX, 10).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn small_chunks_of_a_closed_hour_become_one_and_nothing_else_changes() {
    on_each_engine(|health| async move {
        for minute in 0..60 {
            send(&health, bpm(&[(NOON_US + minute * 60_000_000, 60 + minute as i32 % 7)])).await;
        }
        send(&health, bpm(&[(NOON_US + 60_000_000, 99)])).await;
        // A derivation takes in what the syncs have touched, and with it the hours that they have opened.
        let claim = health.claim_patient(&patient(), None, NOW_MS, 1).await.unwrap().unwrap();
        let dirty = health.dirty_of(&patient(), NOW_MS).await.unwrap();
        health.commit_derivations(vec![DerivationCommit { dirty, ..DerivationCommit::nothing(claim) }]).await.unwrap();
        assert_eq!(health.due_of(&patient(), NOW_MS).await.unwrap(), []);
        let before = stored(&health, DataType::Activity).await;
        assert_eq!(before[1].1, 99);
        assert!(health.closed_hours(NOW_MS, 10).await.unwrap().is_empty(), "not settled yet");
        let closed = health.closed_hours(NOW_MS + 3_600_000, 10).await.unwrap();
        let [(merged, data_type, hour_us)] = &closed[..] else { panic!("{closed:?}") };
        health.merge_hour(merged, *data_type, *hour_us).await.unwrap();
        assert_eq!(stored(&health, DataType::Activity).await, before);
        assert_eq!(health.chunk_count(&patient()).await.unwrap(), 1);
        assert!(health.closed_hours(NOW_MS + 3_600_000, 10).await.unwrap().is_empty());
        health.merge_hour(merged, *data_type, *hour_us).await.unwrap();
        assert_eq!(stored(&health, DataType::Activity).await, before);
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Cut, repeated and shuffled, the same day gives the same rows and counts as in one piece.
    #[test]
    fn order_cuts_and_repeats_change_nothing(
        minutes in proptest::collection::btree_map(0_i64..1440, 40_i32..180, 1..80),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8),
    ) {
        let day: Vec<(i64, i32)> =
            minutes.into_iter().map(|(minute, value)| (NOON_US + minute * 60_000_000, value)).collect();
        let ran = runtime::run(4, on_each_engine(|health| {
            let (day, cuts) = (day.clone(), cuts.clone());
            async move {
                let mut sent = 0;
                for (one, other) in cuts {
                    let (one, other) = (one.index(day.len()), other.index(day.len()));
                    sent += send(&health, bpm(&day[one.min(other)..=one.max(other)])).await.stored;
                }
                let whole = send(&health, bpm(&day)).await;
                assert_eq!(sent + whole.stored, day.len() as u64);
                assert_eq!(whole.duplicate, sent);
                assert_eq!(stored(&health, DataType::Activity).await, day);
                let counted = health.count_quarters(&patient(), 0, i64::MAX / 4).await.unwrap();
                assert_eq!(counted, [(DataType::Activity, day.len() as u64)]);
            }
        }));
        ran.unwrap();
    }
}
