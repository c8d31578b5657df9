//! Retention: what is no longer kept goes, what was derived from it stays.

mod common;

use common::{START_MS, Story};
use platform::seal::Until;
use serde_json::{Value, json};
use store::{DerivationCommit, PatientId, Role};
use vitals::derivation::{DerivedRow, Output};

/// The jobs that remove what is no longer kept.
const RETENTION: [&str; 2] = ["plan_retention", "enforce_retention"];
const DAY_MS: i64 = 86_400_000;
/// 2025-11-01T00:00Z and 2025-11-19T00:00Z.
const FIRST_MS: i64 = 1_761_955_200_000;
const YESTERDAY_MS: i64 = START_MS - START_MS % DAY_MS - DAY_MS;

#[tokio::test]
async fn rows_go_when_their_time_has_come_and_summaries_stay() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    let activity = |time_ms: i64, bpm: i64| json!({"activity": {"timestamp": [time_ms], "bpm": [bpm], "bpm_q": [4]}});
    let ppg =
        |time_ms: i64| json!({"ppg2": [{"start": time_ms, "rate_hz": 32, "metric_id": "0x7e", "value": [1, 2, 3, 4]}]});
    for time_ms in [FIRST_MS, YESTERDAY_MS] {
        story.sync(&patient, activity(time_ms, 61)).await;
        story.sync(&patient, ppg(time_ms)).await;
    }
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    story.sync(&patient, activity(FIRST_MS + 60_000, 63)).await;
    let summary = format!("/integration/v1/patients/{}/summary/2025-11-01?token={key}", patient.uuid);
    let before = story.get(&summary).await.ok();
    assert_eq!(before["heart_rate"]["avg_daily_heart_rate"], 62.0, "{before}");
    let counts = async |day: &str| {
        let path = format!("/integration/v1/patients/{}/raw-data-compliance/{day}?token={key}&utc=yes", patient.uuid);
        let counts = story.get(&path).await.ok();
        let count = |name: &str| counts.get(name).and_then(Value::as_i64).unwrap_or(0);
        [count("raw_data_activity"), count("raw_data_ppg2")]
    };
    assert_eq!((counts("2025-11-01").await, counts("2025-11-19").await), ([2, 4], [1, 4]));

    let settings = format!("/integration/v1/groups/{group}/settings?token={key}");
    story.put(&settings, json!({"retention": {"activity": 10, "ppg2": 5}})).await.ok();
    assert_eq!(story.jobs(&RETENTION).await, 1 + 2, "one look, and a job for each type");
    assert_eq!(story.jobs(&RETENTION).await, 1, "nothing is left to do");
    story.derive().await;
    assert_eq!((counts("2025-11-01").await, counts("2025-11-19").await), ([0, 0], [1, 4]));
    let raw = "/health/v2/raw-metrics/activity?from_date=2025-11-01T00:00:00Z&to_date=2025-11-01T12:00:00Z";
    assert_eq!(story.get_as(raw, &patient.health_token).await.ok(), json!([]));
    assert_eq!(story.get(&summary).await.ok(), before, "what was derived is kept");

    // Late rows of retired days are rejected, and nothing is computed again from what is left.
    let data = json!({"data": activity(FIRST_MS + 120_000, 200)});
    let answer = story.post_as("/health/v1/sync", &patient.health_token, data).await.ok();
    let outcome = &answer["types"]["activity"];
    assert_eq!((&outcome["stored"], &outcome["rejected"]), (&json!(0), &json!(1)));
    assert_eq!(outcome["errors"][0]["reason"], "past_retention");
    let range = store::DueRange {
        arrival: 0,
        data_type: vitals::registry::DataType::Activity.number(),
        first_us: FIRST_MS * 1000,
        last_us: (FIRST_MS + DAY_MS) * 1000,
        ready_ms: story.now_ms(),
    };
    story.platform.core.health().mark_due(&PatientId::new(patient.uuid.as_str()), range).await.expect("marked");
    story.derive().await;
    assert_eq!(story.get(&summary).await.ok(), before);
    let recomputed = story.platform.data.recompute(Some(&PatientId::new(patient.uuid.as_str())), |_, _| {}).await;
    assert_eq!(recomputed.expect("recomputed").differences, 0);
    assert_eq!(story.get(&summary).await.ok(), before);

    story.pass_ms(2 * 3_600_000);
    story.platform.upkeep.sweep_dead_objects().await.expect("swept");
    let objects = story.platform.core.objects().listed("v1").await.expect("a list");
    let paths: Vec<&str> = objects.iter().map(|object| object.path.as_str()).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(
        paths.iter().all(|path| path.contains("period=2025-11-19") || path.contains("period=2025-11-01")),
        "{paths:?}"
    );

    let entries = story.audit_entries(&patient.uuid, None).await;
    let retired: Vec<Value> = entries
        .iter()
        .filter(|entry| entry.user_role == "system")
        .map(|entry| serde_json::from_str(entry.details.as_deref().expect("details")).expect("JSON"))
        .collect();
    let expected = |data_type: &str, before: &str, rows: i64| json!({"retired": {"type": data_type, "before": before, "rows": rows}});
    assert_eq!(retired, [expected("activity", "2025-11-10T00:00:00Z", 2), expected("ppg2", "2025-11-15T00:00:00Z", 4)]);
}

/// A temperature enters NEWS for twelve hours. When it has been retired and the heart rates of those hours have not, a
/// recomputation leaves what NEWS said as it is, and still puts right what can be made again.
#[tokio::test]
async fn recomputing_leaves_news_that_rests_on_retired_measurements() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    let begin_ms = YESTERDAY_MS - 3 * DAY_MS;
    let times: Vec<i64> = (0..4 * 48).map(|half_hour| begin_ms + half_hour * 1_800_000).collect();
    let rates: Vec<i64> = (0..4 * 48).map(|half_hour| [70, 95, 115][half_hour / 5 % 3]).collect();
    story
        .sync(&patient, json!({"activity": {"timestamp": times, "bpm": rates, "spo2": 97, "respiration_rate": 15}}))
        .await;
    let noons: Vec<i64> =
        (0..4).flat_map(|day| [8, 20].map(|hour| begin_ms + day * DAY_MS + hour * 3_600_000)).collect();
    let fever = json!({"timestamp": noons, "test_type": vec!["temperature"; 8], "value": [39.3, 36.8, 39.2, 38.7, 39.4, 39.3, 36.9, 39.3]});
    story.sync(&patient, json!({"tests": fever})).await;
    story.derive().await;
    let health = story.platform.core.health();
    let news = async || {
        health.news_between(&PatientId::new(patient.uuid.as_str()), i64::MIN, i64::MAX).await.expect("entries")
    };
    let before = news().await;
    assert!(before.len() > 30, "{}", before.len());
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");

    let settings = format!("/integration/v1/groups/{group}/settings?token={key}");
    story.put(&settings, json!({"retention": {"tests": 1}})).await.ok();
    assert_eq!(story.jobs(&RETENTION).await, 2);
    let differing = async |at: &str| {
        let now = news().await;
        let first = now.iter().zip(&before).find(|(one, other)| one != other);
        assert!(now == before, "{at}: {} entries, {} before, {first:?}", now.len(), before.len());
    };
    differing("retired").await;
    story.derive().await;
    differing("folded").await;
    let recomputed = async || story.platform.data.recompute(None, |_, _| {}).await.expect("recomputed").differences;
    assert_eq!(recomputed().await, 0);
    differing("recomputed").await;

    let claim = health
        .claim_patient(&PatientId::new(patient.uuid.as_str()), None, story.now_ms(), 1)
        .await
        .expect("an answer")
        .expect("a claim");
    let lost = before.last().expect("an entry").time_ms;
    let row = DerivedRow { output: Output::News, key: lost, version: 1, body: None };
    let damage = DerivationCommit { rows: vec![row], ..DerivationCommit::nothing(claim) };
    health.commit_derivations(vec![damage]).await.expect("damaged");
    assert!(recomputed().await >= 1);
    differing("recomputed").await;
}

/// The profile changes, so every day is computed again, and retention comes while this is under way.
#[tokio::test]
async fn retention_that_meets_a_derivation_leaves_what_was_derived() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({"time_zone": "UTC", "weight": 60})).await;
    let times: Vec<i64> = (0..24).map(|hour| FIRST_MS + hour * 3_600_000).collect();
    let rates: Vec<i64> = (0..24).map(|hour| 60 + 3 * hour).collect();
    let activity = json!({"timestamp": times, "bpm": rates, "bpm_q": 4, "spo2": 97, "respiration_rate": 15});
    story.sync(&patient, json!({"activity": activity})).await;
    let summary = format!("/integration/v1/patients/{}/summary/2025-11-01?token={key}", patient.uuid);
    let before = story.get(&summary).await.ok();
    assert_eq!(before["heart_rate"]["max_daily_heart_rate"], 129, "{before}");
    let uuid = PatientId::new(patient.uuid.as_str());
    let health = story.platform.core.health().clone();
    let news = async || health.news_between(&uuid, i64::MIN, i64::MAX).await.expect("entries");
    let entries = news().await;
    assert!(entries.len() > 2, "{entries:?}");

    let settings = format!("/integration/v1/groups/{group}/settings?token={key}");
    story.put(&settings, json!({"retention": {"activity": 10}})).await.ok();
    let profile = format!("/integration/v1/patients/{}/profile?token={key}", patient.uuid);
    story.put(&profile, json!({"weight": 77})).await.ok();
    let upkeep = story.platform.upkeep.clone();
    let retention = async move {
        platform::jobs::drain(&upkeep, &RETENTION).await.expect("worked");
    };
    health.plan_meanwhile("inputs.derivation_inputs", Box::pin(retention));
    story.derive().await;
    assert_eq!(health.failures_to_come(), Vec::<String>::new(), "retention came between");
    story.derive().await;
    assert_eq!(health.retired(&uuid).await.expect("an answer").len(), 1);
    assert_eq!(story.get(&summary).await.ok(), before);
    assert_eq!(news().await, entries);
}
