//! Sessions on the Health Cloud: a patient's own, and those by which someone reads in his stead.

use store::{HealthPatient, HealthSession};

use crate::access::Researcher;
use crate::environment::Platform;
use crate::error::{PlatformError, Result};
use crate::tokens::{Cloud, Issued, Subject};

/// What a patient's own token allows.
const OWN_SCOPE: &str = "patient.read patient.sync";
/// What a token of someone who reads in the patient's stead allows.
const READ_SCOPE: &str = "patient.read";

const NOT_VALID: PlatformError = PlatformError::Unauthenticated("the token is not valid");

/// Who calls the Health Cloud, and whose data the token opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCaller {
    /// The patient.
    pub patient: String,
    /// What the token allows, words with blanks between.
    pub scope: String,
    /// The account that reads in the patient's stead.
    pub actor: Option<String>,
    /// The session behind the token.
    pub session_id: String,
}

impl HealthCaller {
    /// Forbidden unless the token allows this.
    pub fn require(&self, scope: &str) -> Result<()> {
        if self.scope.split(' ').any(|word| word == scope) {
            return Ok(());
        }
        Err(PlatformError::Forbidden("the token does not have the scope for this"))
    }
}

/// What a login on the Health Cloud answers.
#[derive(Clone)]
pub struct HealthLogin {
    /// The token.
    pub issued: Issued,
    /// The patient.
    pub patient: HealthPatient,
}

impl Platform {
    /// Exchanges a token of the Users Cloud for one of the Health Cloud. Only a patient has data there.
    pub async fn health_login(&self, users_token: &str) -> Result<HealthLogin> {
        let caller = self.users_caller(users_token).await?;
        if caller.role != "patient" {
            return Err(PlatformError::Forbidden("only a patient has data on the Health Cloud"));
        }
        let patient = self.health.patient(&caller.owner).await?.ok_or(NOT_VALID)?;
        let issued = self.start_health_session(&caller.owner, None, OWN_SCOPE).await?;
        Ok(HealthLogin { issued, patient })
    }

    /// A token by which a researcher reads a patient's data in his stead.
    pub async fn health_token(&self, researcher: &Researcher, patient: &str) -> Result<Issued> {
        self.patient_access(researcher, patient).await?;
        self.start_health_session(patient, Some(researcher), READ_SCOPE).await
    }

    /// Who calls the Health Cloud with this token.
    pub async fn health_caller(&self, token: &str) -> Result<HealthCaller> {
        let claims = self.read_token(Cloud::Health, token).await?;
        let session = self.health.session(&claims.jti).await?.ok_or(NOT_VALID)?;
        if session.patient != claims.sub || session.ended_ms.is_some() || session.replaced_ms.is_some() {
            return Err(NOT_VALID);
        }
        if self.now_ms() >= session.expires_ms {
            return Err(PlatformError::Unauthenticated("the token has expired"));
        }
        Ok(HealthCaller {
            patient: session.patient,
            scope: session.scope,
            actor: session.actor,
            session_id: session.id,
        })
    }

    /// Ends the token of a caller.
    pub async fn health_logout(&self, caller: &HealthCaller) -> Result<()> {
        self.health.end_session(&caller.session_id, self.now_ms()).await?;
        Ok(())
    }

    async fn start_health_session(&self, patient: &str, actor: Option<&Researcher>, scope: &str) -> Result<Issued> {
        let now_ms = self.now_ms();
        let account = actor.map(|researcher| researcher.account.as_str());
        let session = HealthSession {
            id: self.new_record_id(),
            patient: patient.to_owned(),
            actor: account.map(str::to_owned),
            api_key: actor.map(|researcher| researcher.key_id.clone()),
            scope: scope.to_owned(),
            first_issued_ms: now_ms,
            issued_ms: now_ms,
            expires_ms: now_ms + self.settings.token_ttl_minutes * 60_000,
            replaced_ms: None,
            ended_ms: None,
        };
        let subject = Subject { uuid: patient, role: "patient", scope: Some(scope), actor: account };
        let issued = self.sign(Cloud::Health, &session.id, now_ms, subject).await?;
        self.health.add_session(session).await?;
        Ok(issued)
    }
}
