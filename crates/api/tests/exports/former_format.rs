//! Periods that were sealed in a former format: what is read and exported of them is what today's files give.

use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::json;
use store::segment::{Publication, SealedPeriod, SegmentReader, UnsealedPeriod, WrittenSegment};
use store::{PatientId, Sync};
use vitals::block::Block;
use vitals::registry::DataType;

use crate::common::{PASSWORD, text};
use crate::{DAY_MS, Study, entries};

const TYPES: [DataType; 4] = [DataType::Ppg2, DataType::Ecg, DataType::Activity, DataType::Tests];
/// Begin of the kept rows, 2026-11-20T00:00Z, ms.
const KEPT_MS: i64 = 1_795_132_800_000;

/// A file of format 1 that `store` keeps.
struct Kept {
    data_type: DataType,
    object: WrittenSegment,
}

impl Kept {
    /// Places the kept file of a type among the objects of a study.
    async fn place(study: &Study, data_type: DataType) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures");
        let bytes = std::fs::read(folder.join(format!("segment-1-{}.parquet", data_type.name()))).expect("a file");
        let path = format!("former/{}.parquet", data_type.name());
        let mut upload = study.story.platform.core.objects().upload(&path).expect("an upload");
        upload.put(bytes.clone().into()).await.expect("put");
        upload.finish().await.expect("written");
        let object = WrittenSegment {
            path,
            bytes: bytes.len() as u64,
            rows: 0,
            sha256: platform::hex(digest(&SHA256, &bytes).as_ref()),
            first_us: i64::MIN,
            last_us: i64::MAX,
            tail: None,
        };
        Kept { data_type, object }
    }

    /// Returns its rows, and notes how many they are and when they begin and end.
    async fn rows(&mut self, study: &Study) -> Vec<Block> {
        let reader = SegmentReader::open(study.story.platform.core.objects(), &self.object, self.data_type).await;
        let reader = reader.expect("a file");
        assert!(!reader.is_of_present_format());
        let mut pieces = reader.read(i64::MIN..=i64::MAX, None).expect("pieces");
        let mut blocks = Vec::new();
        while let Some(piece) = pieces.next().await.expect("rows") {
            blocks.extend(piece);
        }
        self.object.rows = blocks.iter().map(|block| block.rows() as u64).sum();
        self.object.first_us = blocks.iter().filter_map(Block::first_us).min().expect("rows");
        self.object.last_us = blocks.iter().filter_map(Block::last_us).max().expect("rows");
        blocks
    }

    fn period(&self, study: &Study) -> UnsealedPeriod {
        let period = SealedPeriod::of(self.data_type, KEPT_MS * 1000);
        UnsealedPeriod { patient: patient(study), data_type: self.data_type, period }
    }

    /// Makes it the file of its period, in the place of today's.
    async fn publish(&self, study: &Study) {
        let UnsealedPeriod { patient, data_type, period } = self.period(study);
        let publication = Publication {
            patient,
            data_type,
            period,
            expected_generation: 1,
            object: self.object.clone(),
            chunks: Vec::new(),
            sealed_ms: study.story.now_ms(),
        };
        study.story.platform.core.health().publish_segment(publication).await.expect("published");
    }
}

fn patient(study: &Study) -> PatientId {
    PatientId::new(study.patient.uuid.clone())
}

/// Seals the period of a kept file as it would be today; returns whether the file is of the present format.
async fn seal(study: &Study, kept: &Kept, random: u64) -> bool {
    let core = &study.story.platform.core;
    let unsealed = kept.period(study);
    core.health().seal_period(&unsealed, study.story.now_ms(), random).await.expect("sealed");
    let UnsealedPeriod { patient, data_type, period } = unsealed;
    let content = core.health().period_content(&patient, data_type, period).await.expect("a period");
    assert!(content.chunks.is_empty());
    let segment = content.segment.expect("a file");
    SegmentReader::open(core.objects(), &segment.object, data_type).await.expect("a file").is_of_present_format()
}

/// Returns all that can be read: the answers of raw metrics as JSON, and the data files of an archive of each format.
async fn read(study: &Study) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for data_type in TYPES {
        let path = format!(
            "/health/v2/raw-metrics/{}?from_date=2026-11-20T00:00:00Z&to_date=2026-11-20T00:29:00Z",
            data_type.name()
        );
        let (status, bytes) = study.story.bytes_of(&path, &token(study).await, "application/json").await;
        assert_eq!(status, 200, "{path}");
        all.push((path, bytes.to_vec()));
    }
    for format in ["csv", "parquet"] {
        let body = json!({"client_date_from": "2026-11-01T00:00:00.000", "client_date_to": "2026-12-02T00:00:00.000",
            "types": TYPES.map(DataType::name), "format": format});
        all.extend(entries(&study.archive(body).await));
    }
    all
}

async fn token(study: &Study) -> String {
    let path = format!("/integration/v1/patients/{}/health-token", study.patient.uuid);
    text(&study.story.get_as(&path, &study.key).await.ok()["token"])
}

fn is_of(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

fn names(read: &[(String, Vec<u8>)]) -> Vec<&str> {
    read.iter().map(|(name, _)| name.as_str()).collect()
}

/// The whole of a period lies in a file of format 1: answers, CSV and the Parquet that is encoded for an archive are those of
/// the same rows in a file of today, and a late row seals the period into such a file.
#[tokio::test]
async fn period_of_the_first_format_is_answered_exported_and_sealed_as_one_of_the_present() {
    let study = Study::begin().await;
    study.story.pass_ms(370 * DAY_MS);
    let health = study.story.platform.core.health();
    let mut all = Vec::new();
    for data_type in TYPES {
        let mut kept = Kept::place(&study, data_type).await;
        let blocks = kept.rows(&study).await;
        let received_ms = study.story.now_ms();
        let sync = Sync { patient: patient(&study), received_ms, id: None, device: None, blocks };
        health.store_sync(sync).await.expect("stored");
        assert!(seal(&study, &kept, 1).await);
        all.push(kept);
    }
    let today = read(&study).await;
    assert_eq!(today.iter().filter(|(name, _)| is_of(name, "parquet")).count(), TYPES.len(), "{:?}", names(&today));
    assert_eq!(today.iter().filter(|(name, bytes)| is_of(name, "csv") && bytes.len() > 3_000).count(), 7);

    for kept in &all {
        kept.publish(&study).await;
    }
    let former = read(&study).await;
    assert_eq!(names(&former), names(&today));
    for ((name, former), (_, today)) in former.iter().zip(&today) {
        assert!(former == today, "{name}: {} bytes, {} from today's file", former.len(), today.len());
    }

    let late = json!({"activity": {"timestamp": [KEPT_MS + 3_600_000], "bpm": [61]}});
    study.story.post_as("/health/v1/sync", &token_to_sync(&study).await, json!({ "data": late })).await.ok();
    let activity = all.iter().find(|kept| kept.data_type == DataType::Activity).expect("one");
    assert!(seal(&study, activity, 2).await, "a late row makes a file of the present format of all");
    for ((name, late), (_, former)) in read(&study).await.iter().zip(&former) {
        if name == "activity.csv" {
            let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
            let (before, mut after) = (lines(former), lines(late));
            assert!(after.pop().expect("a line").starts_with("1795136400000,2026-11-20T02:00:00.000+01:00,61,"));
            assert_eq!(before, after);
        } else if name != "activity/2026-11.parquet" && name != "manifest.json" {
            assert!(late == former, "{name}");
        }
    }
}

/// A token of the patient, who has to log in again after a year.
async fn token_to_sync(study: &Study) -> String {
    let code = json!({"code": study.patient.code, "password": PASSWORD});
    let users_token = text(&study.story.post("/users/login", code).await.ok()["token"]);
    text(&study.story.post("/health/login", json!({"user_api_token": users_token})).await.ok()["token"])
}
