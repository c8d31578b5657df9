//! A study in which every table finds its answers: a researcher, their group, and patients with much data or none.

use serde_json::{Value, json};
use store::Role;

use crate::common::{Enrolled, Story};

/// 2025-11-19T00:00 in Zurich, ms: the begin of the day that the tables look at, which is over when they do.
pub const MIDNIGHT_MS: i64 = 1_763_506_800_000;
/// That day.
pub const DAY: &str = "2025-11-19";
pub const MINUTE_MS: i64 = 60_000;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// A study.
pub struct Scene {
    pub story: Story,
    pub key: String,
    pub group: String,
}

impl Scene {
    pub async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        Scene { story, key, group }
    }

    /// Returns a woman of 39 years, with everything that enters a formula.
    pub async fn patient(&self) -> Enrolled {
        let profile = json!({"birthday": "1985-11-20", "gender": "female", "height": 170, "weight": 65,
            "time_zone": "Europe/Zurich"});
        self.story.patient(&self.key, &self.group, profile).await
    }

    /// Returns a patient with nothing known but where they live.
    pub async fn stranger(&self) -> Enrolled {
        self.story.patient(&self.key, &self.group, json!({"time_zone": "Europe/Zurich"})).await
    }

    /// Returns an answer of the integration API, which has to be 200.
    pub async fn get(&self, path: &str) -> Value {
        let joint = if path.contains('?') { '&' } else { '?' };
        self.story.get(&format!("/integration{path}{joint}token={}", self.key)).await.ok()
    }

    /// Returns the answer to a body, which has to be 200.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.story.post(&format!("/integration{path}?token={}", self.key), body).await.ok()
    }

    /// Returns a section of the day.
    pub async fn section(&self, patient: &Enrolled, section: &str) -> Value {
        self.section_of(patient, section, "").await
    }

    /// Returns a section of the day with its slots.
    pub async fn section_with_slots(&self, patient: &Enrolled, section: &str) -> Value {
        self.section_of(patient, section, "&include_slots=1").await
    }

    async fn section_of(&self, patient: &Enrolled, section: &str, query: &str) -> Value {
        let path = format!("/v1/patients/{}/summary/{DAY}?types[]={section}{query}", patient.uuid);
        self.get(&path).await[section].clone()
    }
}

/// Times of the day, a minute apart.
pub fn minutes(from: i64, count: i64) -> Vec<i64> {
    (from..from + count).map(|minute| MIDNIGHT_MS + minute * MINUTE_MS).collect()
}

/// Beats from a time on, whose intervals take two lengths by turns.
pub fn steady_beats(start_ms: i64, count: usize, lengths_ms: [i64; 2]) -> Value {
    let intervals: Vec<i64> = lengths_ms.into_iter().cycle().take(count).collect();
    let mut time_ms = start_ms;
    let times: Vec<i64> = intervals
        .iter()
        .map(|interval| {
            time_ms += interval;
            time_ms
        })
        .collect();
    json!({"timestamp": times, "rr": intervals, "quality": 4})
}
