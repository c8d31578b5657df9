//! Ways to send the same rows: as a bracelet would, or shuffled, doubled, cut again and in other forms.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use axum::body::Body;
use axum::http::Request;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

use crate::common::Story;
use crate::wearing::{Sample, Wearing};

/// A sync.
pub enum Delivery {
    /// JSON of any types.
    Json(Value),
    /// An Arrow stream of ppg2 in a zone.
    Arrow(&'static str, Vec<u8>),
}

/// What became of the rows of a sync.
#[derive(Default)]
pub struct Counts {
    pub stored: u64,
    pub replaced: u64,
}

impl Delivery {
    /// Sends it; every row must be taken.
    pub async fn send(&self, story: &Story, token: &str) -> Counts {
        let answer = match self {
            Delivery::Json(body) => story.post_as("/health/v1/sync", token, body.clone()).await,
            Delivery::Arrow(zone, stream) => {
                let request = Request::post(format!("/health/v1/sync/ppg2?time_zone={zone}&serial_number=B-1"))
                    .header("authorization", format!("Bearer {token}"))
                    .header("content-type", "application/vnd.apache.arrow.stream");
                story.send(request.body(Body::from(stream.clone())).expect("a request")).await
            }
        };
        let mut sum = Counts::default();
        for counts in answer.ok()["types"].as_object().expect("types").values() {
            let count = |name: &str| counts[name].as_u64().expect("a count");
            assert_eq!(count("rejected"), 0, "{counts}");
            sum.stored += count("stored");
            sum.replaced += count("replaced");
        }
        sum
    }
}

/// One sync for each zone, in the order of time, each type in columns.
pub fn as_it_is(wearing: &Wearing) -> Vec<Delivery> {
    let mut by_zone: BTreeMap<&str, BTreeMap<&str, Vec<Sample>>> = BTreeMap::new();
    for sample in &wearing.samples {
        by_zone.entry(sample.zone).or_default().entry(sample.data_type).or_default().push(sample.clone());
    }
    let sync = |(zone, types): (&str, BTreeMap<&str, Vec<Sample>>)| {
        let data: Map<String, Value> =
            types.iter().map(|(data_type, samples)| ((*data_type).to_owned(), columns(samples))).collect();
        Delivery::Json(body(zone, &data))
    };
    by_zone.into_iter().map(sync).collect()
}

/// Returns the same rows in any order, some several times, cut anywhere.
pub fn disordered(wearing: &Wearing, random: &mut ChaCha8Rng) -> Vec<Delivery> {
    let mut pieces = pieces(wearing, random);
    let again: Vec<Vec<Sample>> = pieces.iter().filter(|_| random.random_bool(0.3)).cloned().collect();
    pieces.extend(again);
    pieces.shuffle(random);
    let mut deliveries = Vec::new();
    while let Some(piece) = pieces.pop() {
        if piece[0].data_type == "ppg2" && random.random_bool(0.3) {
            deliveries.push(Delivery::Arrow(piece[0].zone, stream(&piece)));
            continue;
        }
        let zone = piece[0].zone;
        let mut data = Map::from_iter([(piece[0].data_type.to_owned(), in_some_form(&piece, random))]);
        // A sync brings several types when it comes so.
        while random.random_bool(0.4) {
            let Some(next) = pieces.pop_if(|next| next[0].zone == zone && !data.contains_key(next[0].data_type)) else {
                break;
            };
            data.insert(next[0].data_type.to_owned(), in_some_form(&next, random));
        }
        deliveries.push(Delivery::Json(body(zone, &data)));
    }
    deliveries
}

/// Returns the rows of each type and zone, sorted or not, cut at random places; a piece repeats some rows of its
/// neighbour.
fn pieces(wearing: &Wearing, random: &mut ChaCha8Rng) -> Vec<Vec<Sample>> {
    let mut groups: BTreeMap<(&str, &str), Vec<Sample>> = BTreeMap::new();
    for sample in &wearing.samples {
        groups.entry((sample.data_type, sample.zone)).or_default().push(sample.clone());
    }
    let mut pieces = Vec::new();
    for (_, mut rows) in groups {
        if random.random_bool(0.5) {
            rows.shuffle(random);
        }
        let mut begin = 0;
        while begin < rows.len() {
            let end = (begin + random.random_range(1..=rows.len().div_ceil(2))).min(rows.len());
            let from = begin - random.random_range(0..=begin.min(50));
            pieces.push(rows[from..end].to_vec());
            begin = end;
        }
    }
    pieces
}

fn body(zone: &str, data: &Map<String, Value>) -> Value {
    json!({"time_zone": zone, "device": {"serial_number": "B-1", "battery_level": 71}, "data": data})
}

fn in_some_form(samples: &[Sample], random: &mut ChaCha8Rng) -> Value {
    match random.random_range(0..3) {
        0 => columns(samples),
        1 => rows(samples),
        _ => {
            let (some, rest) = samples.split_at(random.random_range(0..samples.len()));
            let parts = [some, rest].into_iter().filter(|part| !part.is_empty());
            parts.map(columns).collect()
        }
    }
}

/// `{"timestamp": [...], "bpm": [...]}`.
fn columns(samples: &[Sample]) -> Value {
    let mut columns: Map<String, Value> = Map::new();
    columns.insert("timestamp".to_owned(), samples.iter().map(time).collect());
    let mut names: Vec<&String> = samples.iter().flat_map(|sample| sample.cells.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let cells = samples.iter().map(|sample| sample.cells.get(name).cloned().unwrap_or_default());
        columns.insert(name.clone(), cells.collect());
    }
    Value::Object(columns)
}

/// `[{"timestamp": ..., "bpm": ...}, ...]`.
fn rows(samples: &[Sample]) -> Value {
    let row = |sample: &Sample| {
        let mut row = sample.cells.clone();
        row.insert("timestamp".to_owned(), time(sample));
        Value::Object(row)
    };
    samples.iter().map(row).collect()
}

/// Milliseconds, with a fraction where the time has one.
fn time(sample: &Sample) -> Value {
    if sample.time_us % 1000 == 0 { json!(sample.time_us / 1000) } else { json!(sample.time_us as f64 / 1000.0) }
}

fn stream(samples: &[Sample]) -> Vec<u8> {
    let times = TimestampMicrosecondArray::from_iter_values(samples.iter().map(|sample| sample.time_us));
    let cell = |sample: &Sample, name: &str| sample.cells[name].as_i64().map(|cell| cell as i32);
    let number = |name: &str| samples.iter().map(|sample| cell(sample, name)).collect::<Int32Array>();
    let colours: StringArray = samples.iter().map(|sample| sample.cells["metric_id"].as_str()).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("timestamp", Arc::new(times)),
        ("metric_id", Arc::new(colours)),
        ("led_pd_pos", Arc::new(number("led_pd_pos"))),
        ("quality", Arc::new(number("quality"))),
        ("value", Arc::new(number("value"))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    writer.write(&batch).expect("a batch");
    writer.into_inner().expect("a stream")
}
