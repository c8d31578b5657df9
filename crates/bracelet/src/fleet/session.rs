//! One patient's account and their connection to the service.

use serde_json::{Value, json};
use tokio::sync::RwLock;

use super::client::{Answer, Credential, Payload, ServiceClient};
use crate::error::BraceletError;
use crate::patient::Patient;

/// An enrolled patient.
#[derive(Debug)]
pub struct Session {
    /// Who the patient is in the simulation.
    pub patient: Patient,
    /// Who the patient is for the service.
    pub uuid: String,
    code: String,
    password: String,
    token: RwLock<String>,
}

impl Session {
    /// Enrols a patient: an anonymous patient in the group, activated by their voucher, logged in to the Health Cloud.
    pub(crate) async fn enrol(
        client: &ServiceClient,
        mut patient: Patient,
        group: &str,
        api_key: &str,
        password: &str,
    ) -> Result<Self, BraceletError> {
        let path = format!("/integration/v1/groups/{group}/patients");
        let created = client
            .post(&path, Credential::ApiKey(api_key), &Payload::json(&json!({})))
            .await?
            .accepted("create a patient")?;
        let uuid = text(&created, "uuid")?;
        // The end of a uuid differs most; its begin may be a time.
        let uuid_end = uuid.rsplit('-').next().unwrap_or(&uuid);
        patient.serial_number = format!("SIM-{uuid_end}");
        let session = Self {
            uuid,
            code: text(&created, "code")?,
            password: password.to_owned(),
            patient,
            token: RwLock::new(String::new()),
        };
        let user_token = session.activate(client).await?;
        let token = exchange(client, &user_token).await?;
        *session.token.write().await = token;
        Ok(session)
    }

    /// Uses the voucher; returns the token of the Users Cloud.
    async fn activate(&self, client: &ServiceClient) -> Result<String, BraceletError> {
        let mut body = serde_json::to_value(&self.patient.person)?;
        body["code"] = json!(self.code);
        body["password"] = json!(self.password);
        body["time_zone"] = json!(self.patient.zone_name);
        body["agreement_to_terms_of_use"] = json!(true);
        let answer = client.post("/users/activate", Credential::None, &Payload::json(&body)).await?;
        // Used already: an earlier attempt got through and only its answer was lost.
        if answer.status == reqwest::StatusCode::CONFLICT {
            return self.log_in(client).await;
        }
        text(&answer.accepted("activate a patient")?, "token")
    }

    async fn log_in(&self, client: &ServiceClient) -> Result<String, BraceletError> {
        let body = json!({"code": self.code, "password": self.password});
        let answer = client.post("/users/login", Credential::None, &Payload::json(&body)).await?;
        text(&answer.accepted("log in")?, "token")
    }

    /// Returns the patient's token for the Health Cloud, as a test may want to use it.
    pub async fn token(&self) -> String {
        self.token.read().await.clone()
    }

    /// Sends a sync; an expired token is replaced once by a new login.
    pub(crate) async fn send(&self, client: &ServiceClient, payload: &Payload) -> Result<Answer, BraceletError> {
        let token = self.token().await;
        let answer = self.send_with(client, payload, &token).await?;
        if answer.status != reqwest::StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let token = self.renew(client, &token).await?;
        self.send_with(client, payload, &token).await
    }

    async fn send_with(&self, client: &ServiceClient, payload: &Payload, token: &str) -> Result<Answer, BraceletError> {
        client.post("/health/v1/sync", Credential::Bearer(token), payload).await
    }

    /// Logs in again, unless another task has replaced the `refused` token meanwhile.
    async fn renew(&self, client: &ServiceClient, refused: &str) -> Result<String, BraceletError> {
        let mut token = self.token.write().await;
        if *token == refused {
            let user_token = self.log_in(client).await?;
            *token = exchange(client, &user_token).await?;
        }
        Ok(token.clone())
    }
}

/// Exchanges a token of the Users Cloud for one of the Health Cloud.
async fn exchange(client: &ServiceClient, user_token: &str) -> Result<String, BraceletError> {
    let body = json!({"user_api_token": user_token});
    let answer = client.post("/health/login", Credential::None, &Payload::json(&body)).await?;
    text(&answer.accepted("log in to the health cloud")?, "token")
}

/// Returns a text field of an answer.
pub(crate) fn text(answer: &Value, field: &'static str) -> Result<String, BraceletError> {
    answer[field].as_str().map(str::to_owned).ok_or(BraceletError::MissingField(field))
}
