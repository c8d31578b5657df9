//! A study with a researcher and a patient, for stories that ask its integration API.

#![allow(dead_code, reason = "each story uses a part of it")]

use serde_json::{Value, json};
use store::Role;

use super::{Answer, Enrolled, Story, text};

/// A study of one researcher, with one confirmed patient.
pub struct Study {
    /// The service.
    pub story: Story,
    /// API key of the researcher.
    pub key: String,
    /// Code of the study.
    pub group: String,
    /// The patient, who has given no attribute but a time zone.
    pub grace: Enrolled,
}

impl Study {
    /// Makes a study whose patient lives in Zurich.
    pub async fn begin() -> Self {
        Self::begin_with(json!({"time_zone": "Europe/Zurich"})).await
    }

    /// Makes a study whose patient activates with these attributes.
    pub async fn begin_with(profile: Value) -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, profile).await;
        Study { story, key, group, grace }
    }

    /// Returns any request to the integration API with the key of the researcher.
    pub async fn ask(&self, method: &str, path: &str, body: Value) -> Answer {
        self.ask_as(&self.key, method, path, body).await
    }

    /// Returns any request to the integration API with a key.
    pub async fn ask_as(&self, key: &str, method: &str, path: &str, body: Value) -> Answer {
        self.story.ask(method, &format!("/integration{path}"), key, body).await
    }

    /// Sends a GET of the integration API that has to succeed.
    pub async fn read(&self, path: &str) -> Value {
        self.ask("GET", path, Value::Null).await.ok()
    }

    /// Path below the patient, such as `/profile`.
    pub fn of_grace(&self, what: &str) -> String {
        format!("/v1/patients/{}{what}", self.grace.uuid)
    }

    /// Path below the study, such as `/settings`.
    pub fn of_group(&self, what: &str) -> String {
        format!("/v1/groups/{}{what}", self.group)
    }

    /// Returns the row of the patient in the list of the study.
    pub async fn row(&self) -> Value {
        let rows = self.read(&self.of_group("/patients")).await;
        let rows = rows.as_array().expect("a list");
        rows.iter().find(|row| row["uuid"] == self.grace.uuid.as_str()).expect("the patient is listed").clone()
    }

    /// Returns a voucher code that nobody has used.
    pub async fn voucher(&self) -> String {
        text(&self.ask("POST", &self.of_group("/patients"), Value::Null).await.ok()["code"])
    }

    /// API key of a practitioner who is a member of the study.
    pub async fn practitioner(&self, email: &str) -> String {
        let key = self.story.key_of(email, Role::Hcp).await;
        self.ask("POST", &self.of_group("/hcps"), json!({ "email": email })).await.ok();
        key
    }

    /// Uuid of a member of the study.
    pub async fn member(&self, email: &str) -> String {
        let members = self.read(&self.of_group("/hcps")).await;
        let members = members.as_array().expect("a list");
        text(&members.iter().find(|member| member["email"] == email).expect("a member")["uuid"])
    }

    /// Entries of the audit log in which the owner of a key appears, oldest first.
    pub async fn log_as(&self, key: &str) -> Vec<Value> {
        let path = "/v1/patients/audit/logs?from=0&to=9999999999999";
        self.ask_as(key, "GET", path, Value::Null).await.ok().as_array().expect("a list").clone()
    }

    /// Returns the newest entry of the log of the researcher.
    pub async fn last_entry(&self) -> Value {
        self.log_as(&self.key).await.pop().expect("an entry")
    }
}

/// Names of the fields that an answer calls wrong, in alphabetical order.
pub fn wrong_fields(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.error(), (422, "invalid"));
    answer.body["errors"].as_object().expect("fields").keys().cloned().collect()
}
