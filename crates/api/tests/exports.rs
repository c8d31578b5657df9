//! Exports: asked for, written, fetched, and who may do so.

#[path = "exports/access.rs"]
mod access;
mod common;
#[path = "exports/contents.rs"]
mod contents;
#[path = "exports/former_format.rs"]
mod former_format;
#[path = "exports/lake.rs"]
mod lake;
#[path = "exports/links.rs"]
mod links;
#[path = "exports/listed.rs"]
mod listed;
#[path = "exports/turns.rs"]
mod turns;

use std::io::{Cursor, Read};

use common::{Answer, Enrolled, START_MS, Story, text};
use platform::seal::Until;
use serde_json::{Value, json};
use store::{JobKind, NodeId, PatientId, Role};

const DAY_MS: i64 = 86_400_000;
/// 2025-11-19T00:00Z, the day before the stories begin.
const MIDNIGHT_MS: i64 = START_MS - START_MS % DAY_MS - DAY_MS;

struct Study {
    story: Story,
    key: String,
    group: String,
    patient: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, key, group, patient }
    }

    async fn create(&self, of_type: &str, body: Value) -> Answer {
        let path = format!("/integration/v1/create-export/{}{of_type}?token={}", self.patient.uuid, self.key);
        self.story.post(&path, body).await
    }

    async fn status(&self, id: &str) -> Value {
        self.story.get(&format!("/integration/v1/export/{id}?token={}", self.key)).await.ok()
    }

    async fn work(&self) -> usize {
        self.story.jobs(&["export"]).await
    }

    /// Returns the archive of a request, after five minutes.
    async fn archive(&self, body: Value) -> Vec<u8> {
        self.story.pass_ms(300_000);
        let created = self.create("", body).await.ok();
        assert_eq!(created["status"], "in_progress");
        assert_eq!(self.work().await, 1);
        let done = self.status(&text(&created["id"])).await;
        assert_eq!(done["status"], "done", "{done}");
        self.fetch(&text(&done["downloadUrl"])).await
    }

    async fn fetch(&self, url: &str) -> Vec<u8> {
        let (status, bytes) = self.story.bytes_of(path_of(url), "", "*/*").await;
        assert_eq!(status, 200);
        bytes.to_vec()
    }

    async fn send(&self, data: Value) {
        self.story.sync(&self.patient, data).await;
    }

    async fn seal(&self) {
        self.story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    }
}

fn path_of(url: &str) -> &str {
    url.strip_prefix("http://127.0.0.1:8080").expect("the public address")
}

fn day(types: &[&str]) -> Value {
    json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": "2025-11-19T23:59:59.999", "types": types})
}

/// Returns the entries of an archive, by name, in their order.
fn entries(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).expect("an archive");
    let names: Vec<String> = zip.file_names().map(|name| name.expect("a name").into_owned()).collect();
    let read = |name: String| {
        let mut bytes = Vec::new();
        zip.by_name(&name).expect("an entry").read_to_end(&mut bytes).expect("read");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

fn entry(archive: &[u8], name: &str) -> Vec<u8> {
    let found = entries(archive).into_iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name} in {:?}", entries(archive).iter().map(|e| &e.0).collect::<Vec<_>>())).1
}

fn ppg2(start_ms: i64, rows: usize, metric_id: &str, position: i32) -> Value {
    let value: Vec<usize> = (0..rows).map(|row| 30_000 + row % 700).collect();
    json!({"start": start_ms, "rate_hz": 64, "metric_id": metric_id, "led_pd_pos": position, "value": value})
}

#[tokio::test]
async fn an_archive_has_a_file_for_each_type_and_colour() {
    let study = Study::begin().await;
    study
        .send(json!({
            "activity": {"timestamp": [MIDNIGHT_MS + 60_000, MIDNIGHT_MS], "bpm": [62, 61], "core_temp": [37.25, null]},
            "ppg2": [ppg2(MIDNIGHT_MS, 3, "0x7e", 6), ppg2(MIDNIGHT_MS, 2, "0x7b", 22)],
            "tests": {"timestamp": [MIDNIGHT_MS + 5, MIDNIGHT_MS + 5, MIDNIGHT_MS], "test_type": ["heart_rate", "spo2", "spo2"],
                "value": [61, 97, 96]},
        }))
        .await;
    let archive = study.archive(day(&["tests", "activity", "ppg2", "ecg"])).await;
    let names: Vec<String> = entries(&archive).into_iter().map(|entry| entry.0).collect();
    let expected = [
        "activity.csv",
        "ppg2_infra_red_22.csv",
        "ppg2_green_6.csv",
        "tests.csv",
        "data_dictionary.csv",
        "manifest.json",
    ];
    assert_eq!(names, expected);
    let green = String::from_utf8(entry(&archive, "ppg2_green_6.csv")).expect("text");
    assert_eq!(
        green,
        "timestamp,date,metric_id,chunk_index,quality,body_pose,led_pd_pos,offset,exp,led,gain,value\n\
         1763510400000,2025-11-19T01:00:00.000+01:00,0x7e,,,,6,,,,,30000\n\
         1763510400015,2025-11-19T01:00:00.015+01:00,0x7e,,,,6,,,,,30001\n\
         1763510400031,2025-11-19T01:00:00.031+01:00,0x7e,,,,6,,,,,30002\n"
    );
    let tests = String::from_utf8(entry(&archive, "tests.csv")).expect("text");
    let lines: Vec<&str> = tests.lines().skip(1).map(|line| line.split_once("+01:00,").expect("a date").1).collect();
    assert_eq!(lines, ["spo2,96,%,,", "heart_rate,61,/min,,", "spo2,97,%,,"]);

    let manifest: Value = serde_json::from_slice(&entry(&archive, "manifest.json")).expect("JSON");
    assert_eq!(manifest["time_zones"], json!(["Europe/Zurich"]));
    assert_eq!(manifest["software"]["time_zone_tables"], json!(vitals::zone::tables_version()));
    assert_eq!(manifest["request"]["types"], json!(["activity", "ppg2", "ecg", "tests"]));
    assert_eq!(manifest["request"]["client_date_from"], "2025-11-19T00:00:00.000");
    assert_eq!(manifest["request"]["patient"], study.patient.uuid.as_str());
    let file = &manifest["files"][2];
    assert_eq!((&file["name"], &file["rows"]), (&json!("ppg2_green_6.csv"), &json!(3)));
    assert_eq!(file["bytes"], green.len());
    assert_eq!((&file["first_timestamp"], &file["last_timestamp"]), (&json!(MIDNIGHT_MS), &json!(MIDNIGHT_MS + 31)));
    let dictionary = String::from_utf8(entry(&archive, "data_dictionary.csv")).expect("text");
    assert!(dictionary.starts_with("type,column,unit,meaning,no_value\nactivity,timestamp,ms,"), "{dictionary}");
    assert!(dictionary.contains("\necg,ecg,mV,"), "{dictionary}");
}

#[tokio::test]
async fn the_same_data_give_the_same_bytes_whatever_was_sealed_when() {
    let requests = |format: &str, compression: &str| {
        let mut whole = day(&["ppg2", "rr-interval"]);
        whole["client_date_to"] = json!("2025-11-21T00:00:00");
        let mut part = whole.clone();
        part["client_date_from"] = json!("2025-11-19T01:00:00.500");
        part["client_date_to"] = json!("2025-11-19T01:05:00");
        [whole, part].map(|mut body| {
            body["format"] = json!(format);
            body["compression"] = json!(compression);
            body
        })
    };
    for (format, compression) in [("csv", "deflate"), ("csv", "store"), ("parquet", "deflate")] {
        let study = Study::begin().await;
        study.send(json!({"ppg2": [ppg2(MIDNIGHT_MS + 700, 9_000, "0x7c", 6)]})).await;
        study
            .send(json!({"ppg2": [ppg2(MIDNIGHT_MS, 40_000, "0x7e", 6)],
            "rr-interval": {"timestamp": [MIDNIGHT_MS + 812, MIDNIGHT_MS], "rr": [803.5, 812]}}))
            .await;
        let mut archives = Vec::new();
        for body in requests(format, compression) {
            archives.push((body.clone(), study.archive(body).await));
        }
        assert_ne!(archives[0].1, archives[1].1);
        study.seal().await;
        for (body, before) in &archives {
            assert!(study.archive(body.clone()).await == *before, "sealed: {body}");
        }
        // The same again, and something that is taken back: chunks lie over the segment.
        study.send(json!({"ppg2": [ppg2(MIDNIGHT_MS + 700, 9_000, "0x7c", 6)]})).await;
        study.send(json!({"rr-interval": {"timestamp": [MIDNIGHT_MS], "rr": [700]}})).await;
        study.send(json!({"rr-interval": {"timestamp": [MIDNIGHT_MS], "rr": [812]}})).await;
        for (body, before) in &archives {
            assert!(study.archive(body.clone()).await == *before, "over a segment: {body}");
        }
    }
}

/// Other programs know the names of zones in the spelling of the tables alone.
#[tokio::test]
async fn zones_are_kept_as_the_tables_spell_them() {
    let study = Study::begin().await;
    let body = json!({"time_zone": "america/new_york", "data": {"sleep": {"timestamp": [MIDNIGHT_MS + 43_200_000], "sleep_state": [3]}}});
    study.story.post_as("/health/v1/sync", &study.patient.health_token, body).await.ok();
    let unknown = json!({"time_zone": "Etc/Unknown", "data": {}});
    let refused = study.story.post_as("/health/v1/sync", &study.patient.health_token, unknown).await;
    assert_eq!(refused.error(), (422, "invalid"));
    let archive = study.archive(day(&["sleep"])).await;
    let manifest: Value = serde_json::from_slice(&entry(&archive, "manifest.json")).expect("JSON");
    assert_eq!(manifest["time_zones"], json!(["America/New_York"]));
}

#[tokio::test]
async fn a_range_is_of_each_samples_own_clock() {
    let study = Study::begin().await;
    // 23:59:59.999 and 00:00 of Zurich, then 23:30 of New York on the same day.
    let times = [MIDNIGHT_MS - 3_600_000 - 1, MIDNIGHT_MS - 3_600_000];
    study.send(json!({"sleep": {"timestamp": times, "sleep_state": [1, 2]}})).await;
    let body = json!({"time_zone": "America/New_York",
        "data": {"sleep": {"timestamp": [MIDNIGHT_MS + 28 * 3_600_000 + 1_800_000], "sleep_state": [3]}}});
    study.story.post_as("/health/v1/sync", &study.patient.health_token, body).await.ok();
    let archive = study.archive(day(&["sleep"])).await;
    let sleep = String::from_utf8(entry(&archive, "sleep.csv")).expect("text");
    assert_eq!(
        sleep,
        "timestamp,date,sleep_state,quality\n\
         1763506800000,2025-11-19T00:00:00.000+01:00,2,\n\
         1763613000000,2025-11-19T23:30:00.000-05:00,3,\n"
    );
    let manifest: Value = serde_json::from_slice(&entry(&archive, "manifest.json")).expect("JSON");
    assert_eq!(manifest["time_zones"], json!(["America/New_York", "Europe/Zurich"]));
    study.story.pass_ms(300_000);
    // As programs write "no end".
    let open = json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": "9999-12-31T23:59:59.999",
        "types": ["sleep"]});
    let archive = study.archive(open).await;
    assert_eq!(String::from_utf8(entry(&archive, "sleep.csv")).expect("text"), sleep);
}

#[tokio::test]
async fn an_export_a_patient_and_five_minutes() {
    let study = Study::begin().await;
    let first = study.create("/ppg2", day(&["acc"])).await.ok();
    assert_eq!(first["status"], "in_progress");
    assert_eq!(study.status(&text(&first["id"])).await, json!({"id": first["id"], "status": "in_progress"}));
    study.story.pass_ms(60_000);
    let refused = study.create("/acc", day(&[])).await;
    assert_eq!(refused.error(), (429, "too_many_requests"));
    assert_eq!(refused.header("retry-after"), "240");
    study.story.pass_ms(240_000);
    assert_eq!(study.create("", day(&["ecg"])).await.status, 200);
    study
        .story
        .platform
        .data
        .set_export_interval(Some(&PatientId::new(study.patient.uuid.as_str())), 0)
        .await
        .expect("set");
    assert_eq!(study.create("", day(&["ecg"])).await.status, 200);
    assert_eq!(study.work().await, 3);

    let manifest =
        |archive: &[u8]| -> Value { serde_json::from_slice(&entry(archive, "manifest.json")).expect("JSON") };
    let done = study.status(&text(&first["id"])).await;
    let archive = study.fetch(&text(&done["downloadUrl"])).await;
    assert_eq!(manifest(&archive)["request"]["types"], json!(["ppg2", "acc"]), "the union of path and body");
    assert_eq!(manifest(&archive)["files"], json!([]));

    let log = format!(
        "/integration/v1/patients/audit/logs?token={}&from={START_MS}&to={}&action_type=PATIENT_API_EXPORT",
        study.key,
        study.story.now_ms()
    );
    let log = study.story.get(&log).await.ok();
    let log = log.as_array().expect("a list");
    assert_eq!(log.len(), 3);
    assert_eq!(log[0]["primary_entity_id"], study.patient.uuid.as_str());
    assert_eq!(
        (&log[0]["primary_entity_type"], &log[0]["secondary_entity_type"]),
        (&json!("patient.id"), &json!("hcp_admin.id"))
    );
    assert_eq!(log[0]["secondary_entity_id"], log[0]["user_id"]);
}

#[tokio::test]
async fn what_a_killed_worker_left_is_finished_once() {
    let study = Study::begin().await;
    study.send(json!({"sleep": {"timestamp": [MIDNIGHT_MS], "sleep_state": [1]}})).await;
    let created = study.create("/sleep", day(&[])).await.ok();
    let health = study.story.platform.core.health();
    // A worker that claimed it, wrote something and died.
    let now_ms = study.story.now_ms();
    let lease = health
        .claim_jobs(JobKind::new("export"), &NodeId::new("killed"), now_ms, now_ms + 60_000, 1)
        .await
        .expect("claimed")
        .remove(0);
    assert!(health.try_export(&lease, now_ms).await.expect("an answer").is_some());
    let left = format!("exports/patient={}/left.zip", study.patient.uuid);
    assert!(health.place_export(&lease, &left).await.expect("an answer"));
    let mut upload = study.story.platform.core.objects().upload(&left).expect("an upload");
    upload.put("half".into()).await.expect("sent");
    upload.finish().await.expect("written");
    assert_eq!(study.work().await, 0);
    study.story.pass_ms(60_000);
    assert_eq!(study.work().await, 1);
    assert_eq!(study.work().await, 0);
    assert_eq!(study.status(&text(&created["id"])).await["status"], "done");
    study.story.pass_ms(2 * 3_600_000);
    study.story.platform.upkeep.sweep_dead_objects().await.expect("swept");
    let folder = format!("exports/patient={}", study.patient.uuid);
    assert_eq!(study.story.platform.core.objects().listed(&folder).await.expect("a list").len(), 1);
}

/// A bit that flips in a sealed file may read as another value: such an export fails and says so.
#[tokio::test]
async fn a_damaged_segment_never_becomes_an_archive() {
    for (format, compression) in [("csv", "deflate"), ("parquet", "deflate")] {
        let study = Study::begin().await;
        study.send(json!({"ppg2": [ppg2(MIDNIGHT_MS, 4_000, "0x7e", 6), ppg2(MIDNIGHT_MS, 900, "0x7b", 22)]})).await;
        study.seal().await;
        let objects = study.story.platform.core.objects();
        let sealed = objects.listed("v1").await.expect("a list").remove(0).path;
        let file = objects.as_folder().expect("a folder").join(&sealed);
        let whole = std::fs::read(&file).expect("read");
        // Of the first page of values, in the middle, and in the footer.
        for position in [40, whole.len() / 3, whole.len() / 2, whole.len() - 60] {
            let mut bytes = whole.clone();
            bytes[position] ^= 1;
            std::fs::write(&file, bytes).expect("written");
            for last in ["23:59:59.999", "00:00:05.000"] {
                study.story.pass_ms(300_000);
                let mut body = day(&["ppg2"]);
                body["client_date_from"] = json!("2025-11-18T00:00:00");
                body["client_date_to"] = json!(format!("2025-11-20T{last}"));
                body["format"] = json!(format);
                body["compression"] = json!(compression);
                let created = study.create("", body).await.ok();
                assert_eq!(study.work().await, 1);
                let ended = study.status(&text(&created["id"])).await;
                assert_eq!(ended["status"], "failed", "{format}, {position}: {ended}");
                assert_eq!(ended["error"], "stored data could not be read; the operator has been notified");
            }
        }
        let left = objects.listed(&format!("exports/patient={}", study.patient.uuid)).await.expect("a list");
        assert!(left.is_empty(), "{left:?}");
        // The job is done, since there is nothing more to do; the export is not.
        let counted = api::metrics_text(&study.story.state).await;
        for line in ["pulseward_exports_total{outcome=\"failed\"} 8", "pulseward_exports_total{outcome=\"done\"} 0"] {
            assert!(counted.lines().any(|found| found == line), "{line}\n{counted}");
        }
        std::fs::write(&file, whole).expect("written");
        let mut body = day(&["ppg2"]);
        body["format"] = json!(format);
        assert!(study.archive(body).await.len() > 1_000);
    }
}
