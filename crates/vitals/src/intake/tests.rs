use super::*;

const NOW_US: i64 = 1_763_600_000_000_000;

fn batch(data_type: DataType, times_us: &[i64], columns: &[(&str, Cells)]) -> Batch {
    let mut all = vec![Cells::Constant(NULL); data_type.columns().len()];
    for (name, cells) in columns {
        all[data_type.column_index(name).unwrap()] = cells.clone();
    }
    Batch { times_us: times_us.to_vec(), columns: all, faults: Vec::new(), zones: None }
}

fn utc() -> ZoneName {
    "UTC".into()
}

#[test]
fn bad_rows_are_named_and_good_ones_kept() {
    let mut intake = Intake::new(DataType::Activity, NOW_US);
    let times = [NOW_US, 5, NOW_US + 2 * DAY_US, NOW_US + 1, NOW_US + 2];
    let mut rows = batch(DataType::Activity, &times, &[("bpm", Cells::Values(vec![60, 61, 62, NULL, 64]))]);
    rows.faults.push(Fault { row: 3, column: "bpm", error: CellError::OutOfRange });
    intake.push(rows, &utc());
    intake.push(batch(DataType::Activity, &[7], &[]), &utc());
    let accepted = intake.finish();
    assert_eq!(accepted.blocks[0].times_us, [NOW_US, NOW_US + 2]);
    assert_eq!(accepted.blocks[0].column("bpm"), &Cells::Values(vec![60, 64]));
    assert_eq!(accepted.rejected, 4);
    let named: Vec<(u64, &str)> = accepted.rejections.iter().map(|one| (one.index, one.column)).collect();
    assert_eq!(named, [(1, "timestamp"), (2, "timestamp"), (3, "bpm"), (5, "timestamp")]);
}

#[test]
fn colours_and_positions_are_channels_of_their_own() {
    let mut intake = Intake::new(DataType::Ppg2, NOW_US);
    let rows = batch(
        DataType::Ppg2,
        &[NOW_US, NOW_US, NOW_US + 1],
        &[
            ("metric_id", Cells::Values(vec![0x7e, 0x7c, 0x7e])),
            ("led_pd_pos", Cells::Constant(6)),
            ("value", Cells::Values(vec![1, 2, 3])),
        ],
    );
    intake.push(rows, &utc());
    let accepted = intake.finish();
    assert_eq!(accepted.blocks.len(), 2);
    let green = accepted.blocks.iter().find(|block| block.channel == Channel::of_ppg2(0x7e, 6)).unwrap();
    assert_eq!(green.column("value"), &Cells::Values(vec![1, 3]));
    assert_eq!(green.column("metric_id"), &Cells::Constant(0x7e));
}

#[test]
fn fahrenheit_is_never_taken_for_celsius() {
    let temperature = TestKind::code("temperature").unwrap();
    let text = |unit: &str| Some(Arc::from(unit));
    let mut intake = Intake::new(DataType::Tests, NOW_US);
    let rows = batch(
        DataType::Tests,
        &[NOW_US, NOW_US + 1, NOW_US + 2, NOW_US + 3],
        &[
            ("test_type", Cells::Constant(temperature)),
            ("value", Cells::Values(vec![37_200, 98_600, 98_600, NULL])),
            ("unit", Cells::Text(vec![None, text("°F"), text("°C"), None])),
        ],
    );
    intake.push(rows, &utc());
    let accepted = intake.finish();
    assert_eq!(accepted.blocks[0].rows(), 1);
    assert_eq!(accepted.blocks[0].column("unit").text(0).map(AsRef::as_ref), Some("°C"));
    let columns: Vec<&str> = accepted.rejections.iter().map(|one| one.column).collect();
    assert_eq!(columns, ["unit", "value", "value"]);
}

#[test]
fn many_small_batches_of_many_channels_are_joined_on_the_way() {
    let mut intake = Intake::new(DataType::Ppg2, NOW_US);
    intake.most_parts = 1000;
    for number in 0..100 {
        let times: Vec<i64> = (0..256).map(|row| NOW_US - i64::from(row) - 1000 * number).collect();
        let positions = Cells::Values((0..256).collect());
        intake.push(batch(DataType::Ppg2, &times, &[("led_pd_pos", positions)]), &utc());
    }
    assert!(intake.part_count < 100 * 256, "{} were never joined", intake.part_count);
    let accepted = intake.finish();
    assert_eq!(accepted.blocks.len(), 256);
    for (position, block) in accepted.blocks.iter().enumerate() {
        let times: Vec<i64> = (0..100).map(|number| NOW_US - position as i64 - 1000 * number).collect();
        assert_eq!(block.times_us, times);
        assert_eq!(block.column("led_pd_pos"), &Cells::Constant(position as i32));
    }
}

#[test]
fn only_the_first_hundred_rejections_are_named() {
    let mut intake = Intake::new(DataType::Sleep, NOW_US);
    intake.push(batch(DataType::Sleep, &[0; 250], &[]), &utc());
    let accepted = intake.finish();
    assert_eq!((accepted.rejected, accepted.rejections.len(), accepted.blocks.len()), (250, 100, 0));
}
