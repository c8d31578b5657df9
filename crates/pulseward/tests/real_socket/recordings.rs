//! Recorded signals as rows of the registry's columns.
//!
//! Each conversion gives values that the registry's columns hold exactly, so that what is read back can be compared
//! digit for digit:
//!
//! | recording | type | conversion |
//! |---|---|---|
//! | beats, samples at 128 Hz | rr-interval | a row for each beat after the first, at its time; `rr` is the distance to the beat before in whole µs (1/128 s is 7812.5 µs, halves go up); marks of noise are no beats; `quality` is 4 for a normal beat and 2 for another |
//! | ECG at 360 Hz, µV | ecg | `ecg` in mV is µV with the point moved, `value` the converter's counts of 5 µV, `chunk_index` the second |
//! | PPG at 125 Hz, 0 to 1 | ppg2 | `value` is the code of the 10-bit converter, of which the file holds 1/1023; green, position 6 |
//! | acceleration in m/s² | acc | 1/512 g, rounded once, with 9.80665 m/s² to the g |
//!
//! The times are those of the recording, from a begin that is chosen so that something happens under way: a change
//! of the clock, a midnight.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// 2025-10-25T12:00Z. At 2025-10-26T01:00Z the clocks of Zurich go back by an hour.
const NOON_US: i64 = 1_761_393_600_000_000;
const MINUTE_US: i64 = 60_000_000;
const HOUR_US: i64 = 60 * MINUTE_US;

/// Rows of one type.
pub struct Recording {
    /// The type's name.
    pub data_type: &'static str,
    /// The columns that have values.
    pub columns: &'static [&'static str],
    pub rows: Vec<Row>,
}

/// A sample and its cells, written with no more digits than needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub time_us: i64,
    pub cells: Vec<String>,
}

impl Recording {
    /// All that are sent.
    pub fn all(folder: &Path) -> Vec<Recording> {
        vec![beats(folder), electrocardiogram(folder), photoplethysmogram(folder), walk(folder)]
    }

    /// Writes the rows as CSV, packed when the name says so.
    pub fn write(&self, path: &Path) {
        let mut text = format!("timestamp,{}\n", self.columns.join(","));
        for row in &self.rows {
            let (ms, us) = (row.time_us.div_euclid(1000), row.time_us.rem_euclid(1000));
            writeln!(text, "{ms}.{us:03},{}", row.cells.join(",")).unwrap();
        }
        let file = File::create(path).unwrap();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut packed = GzEncoder::new(file, flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            packed.finish().unwrap();
            return;
        }
        { file }.write_all(text.as_bytes()).unwrap();
    }
}

fn beats(folder: &Path) -> Recording {
    let lines = lines(&folder.join("rr/nsr001_beats.csv.gz"));
    let beats: Vec<(i64, bool)> = lines
        .iter()
        .map(|line| line.split_once(',').unwrap())
        .filter(|(_, symbol)| *symbol != "~")
        .map(|(sample, symbol)| (sample.parse().unwrap(), symbol == "N"))
        .collect();
    let half_up_us = |samples: i64| (samples * 15_625 + 1) / 2;
    let begin = beats[0].0;
    let row = |pair: &[(i64, bool)]| {
        let [(before, _), (sample, normal)] = *pair else { unreachable!() };
        let quality = if normal { "4" } else { "2" };
        Row {
            time_us: NOON_US + half_up_us(sample - begin),
            cells: vec![decimal(half_up_us(sample - before)), quality.to_owned()],
        }
    };
    let rows = beats.windows(2).map(row).collect();
    Recording { data_type: "rr-interval", columns: &["rr", "quality"], rows }
}

/// Across midnight in Zurich.
fn electrocardiogram(folder: &Path) -> Recording {
    let begin_us = NOON_US + 10 * HOUR_US - 5 * MINUTE_US;
    let lines = lines(&folder.join("ecg/mitdb_100_first10min_ecg_360hz_uV.csv.gz"));
    let row = |(index, line): (usize, &String)| {
        let microvolts: i64 = line.parse().unwrap();
        Row {
            // The half makes the nearest whole microsecond.
            time_us: begin_us + (index as i64 * 2_000_000 + 360) / 720,
            cells: vec![(index / 360).to_string(), (microvolts / 5).to_string(), decimal(microvolts)],
        }
    };
    let rows = lines.iter().enumerate().map(row).collect();
    Recording { data_type: "ecg", columns: &["chunk_index", "value", "ecg"], rows }
}

/// Across the change of the clock.
fn photoplethysmogram(folder: &Path) -> Recording {
    let begin_us = NOON_US + 13 * HOUR_US - 2 * MINUTE_US;
    let lines = lines(&folder.join("ppg/bidmc01_open_125hz.csv.gz"));
    let row = |(index, line): (usize, &String)| {
        let pleth = line.split(',').nth(2).unwrap();
        let code = (pleth.parse::<f64>().unwrap() * 1023.0).round();
        assert_eq!(format!("{:.5}", code / 1023.0), pleth, "not the code of a 10-bit converter");
        Row {
            time_us: begin_us + index as i64 * 8000,
            cells: vec!["0x7e".to_owned(), "6".to_owned(), code.to_string()],
        }
    };
    let rows = lines.iter().enumerate().map(row).collect();
    Recording { data_type: "ppg2", columns: &["metric_id", "led_pd_pos", "value"], rows }
}

/// Across midnight in UTC, where one sealed period ends and the next begins.
fn walk(folder: &Path) -> Recording {
    let begin_us = NOON_US + 12 * HOUR_US - MINUTE_US;
    let lines = lines(&folder.join("acc/oxstep_user1_hand_100hz.csv.gz"));
    let row = |line: &String| {
        let fields: Vec<&str> = line.split(',').collect();
        let scaled = |field: &&str| (field.parse::<f64>().unwrap() / 9.80665 * 512.0).round() as i64;
        Row {
            time_us: begin_us + fields[0].parse::<i64>().unwrap() * 1000,
            cells: fields[1..4].iter().map(|field| scaled(field).to_string()).collect(),
        }
    };
    let rows = lines.iter().map(row).collect();
    Recording { data_type: "acc", columns: &["accX", "accY", "accZ"], rows }
}

/// The lines after the header.
fn lines(path: &PathBuf) -> Vec<String> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    BufReader::new(GzDecoder::new(file)).lines().skip(1).map(Result::unwrap).collect()
}

/// Thousandths as a decimal number.
fn decimal(thousandths: i64) -> String {
    let sign = if thousandths < 0 { "-" } else { "" };
    let magnitude = thousandths.unsigned_abs();
    trimmed(&format!("{sign}{}.{:03}", magnitude / 1000, magnitude % 1000)).to_owned()
}

/// A decimal number without the zeros at its end.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}
