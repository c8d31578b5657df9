//! Sessions on the Health Cloud: a patient's own, and those by which someone reads on the patient's behalf.
//!
//! What allows a session is in the users database, and no transaction spans both. So a session is written first and
//! what allows it is looked up again after that: a withdrawal meanwhile either is seen here, or comes later and
//! ends the session that it then finds.

use boxed_futures::boxed_futures;
use store::{
    AccountId, ClientId, EntityId, FamilyId, HealthPatient, HealthSession, IntakeFacts, PatientId, Refreshed,
    SecurityEventType, SessionId, StoreError, User, UserId,
};

use crate::core::access::{READ_SCOPE, Readable, Researcher, require_scope};
use crate::core::error::{PlatformError, Result};
use crate::core::settings::RETENTION_SETTING;
use crate::identity::Identity;
use crate::identity::cloud::Cloud;
use crate::identity::security::{SecurityActor, of_own};
use crate::identity::tokens::{Issued, MINUTE_MS, NOT_VALID, Unsigned};
use crate::identity::users_sessions::{REFRESH_GRACE_MS, replaced_long_ago};

/// What a patient's own token allows.
const OWN_SCOPE: &str = "patient.read patient.sync";
/// Who calls the Health Cloud, and whose data the token opens. Only the gate makes it, so that patient and scope are those
/// of a session:
///
/// ```
/// use platform::HealthCaller;
///
/// fn named(caller: HealthCaller, other: HealthCaller) -> bool {
///     caller.patient() == other.patient()
/// }
/// ```
///
/// ```compile_fail
/// use platform::HealthCaller;
///
/// fn change(mut caller: HealthCaller, other: HealthCaller) {
///     caller.patient = other.patient;
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCaller {
    patient: PatientId,
    /// What the token allows, words with blanks between.
    scope: String,
    /// The account that reads on the patient's behalf.
    pub(crate) actor: Option<AccountId>,
    /// The OAuth client that the token was issued to.
    pub(crate) client: Option<ClientId>,
    /// The session behind the token.
    pub(crate) session_id: SessionId,
    /// The first session of the token's family.
    pub(crate) family: FamilyId,
    /// What decides how rows of the patient are taken in.
    pub(crate) intake: IntakeFacts,
}

impl HealthCaller {
    /// Whose data the token opens.
    pub fn patient(&self) -> &PatientId {
        &self.patient
    }

    /// The account that reads on the patient's behalf.
    pub fn actor(&self) -> Option<&AccountId> {
        self.actor.as_ref()
    }

    /// The IANA name of the patient's time zone, where it is known.
    pub fn time_zone(&self) -> Option<&str> {
        self.intake.time_zone.as_deref()
    }

    /// Returns the caller as the security log names them: the account that reads on the patient's behalf, or the patient.
    pub fn security_actor(&self) -> SecurityActor {
        match &self.actor {
            // The token says which account it is and not in which role.
            Some(account) => SecurityActor { id: UserId::from(account), role: None },
            None => SecurityActor::user(&User::Patient(self.patient.clone())),
        }
    }

    /// Returns the right to read the patient's data. Forbidden unless the token allows it.
    pub fn readable(&self) -> Result<Readable<PatientId>> {
        Readable::by_scope(&self.patient, &self.scope)
    }

    /// Forbidden unless the token allows this.
    pub fn require(&self, scope: &str) -> Result<()> {
        require_scope(&self.scope, scope)
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

#[boxed_futures]
impl Identity {
    /// Exchanges a token of the Users Cloud for one of the Health Cloud. Only a patient has data there. Password change
    /// required for a token of a password that staff chose.
    pub async fn health_login(&self, users_token: &str) -> Result<HealthLogin> {
        let caller = self.users_caller(users_token).await?;
        caller.require_own_password()?;
        let User::Patient(owner) = &caller.user else {
            return Err(PlatformError::Forbidden("only a patient has data on the Health Cloud"));
        };
        let patient = self.core.health().patient(owner).await?.ok_or(NOT_VALID)?;
        let now_ms = self.core.now_ms();
        let refresh_minutes = self.core.settings().token_refresh_minutes;
        let session = HealthSession {
            login: Some(caller.login.clone()),
            refresh_until_ms: now_ms + refresh_minutes * MINUTE_MS,
            ..self.new_health_session(owner, OWN_SCOPE, now_ms)
        };
        let family = session.family.clone();
        let issued = self.start_health_session(session).await?;
        // A logout between the first look and the new session could not end what was not there yet.
        if self.core.users().session(&caller.session_id).await?.is_none_or(|session| session.ended_ms.is_some()) {
            self.core.health().end_family(&family, self.core.now_ms()).await?;
            return Err(NOT_VALID);
        }
        Ok(HealthLogin { issued, patient })
    }

    /// Returns a token by which a researcher reads a patient's data on the patient's behalf. It ends with the key that
    /// it was asked for with, and cannot be refreshed.
    pub async fn health_token(&self, researcher: &Researcher, patient: &PatientId) -> Result<Issued> {
        self.core.patient_access(researcher, patient).await?;
        let now_ms = self.core.now_ms();
        let session = self.new_health_session(patient, READ_SCOPE, now_ms);
        let key_end_ms = researcher.key_expires_ms.unwrap_or(i64::MAX);
        let session = HealthSession {
            actor: Some(researcher.account.clone()),
            api_key: researcher.key_id.clone(),
            expires_ms: session.expires_ms.min(key_end_ms),
            ..session
        };
        let family = session.family.clone();
        let issued = self.start_health_session(session).await?;
        // Looked at again after the session is stored: a revocation in between has missed it.
        if let Err(error) = self.still_reads(researcher, patient).await {
            self.core.health().end_family(&family, self.core.now_ms()).await?;
            return Err(error);
        }
        let actor = SecurityActor::researcher(researcher);
        self.note_security(of_own(SecurityEventType::HealthTokenIssued, &actor, EntityId::from(patient))).await;
        Ok(issued)
    }

    /// Returns who calls the Health Cloud with this token.
    pub async fn health_caller(&self, token: &str) -> Result<HealthCaller> {
        let claims = self.read_token(Cloud::Health, token).await?;
        let found = self.core.health().calling_session(&claims.jti, RETENTION_SETTING, self.core.now_ms()).await?;
        let (session, intake) = found.ok_or(NOT_VALID)?;
        if claims.user.patient() != Some(&session.patient)
            || session.ended_ms.is_some()
            || session.replaced_ms.is_some()
        {
            return Err(NOT_VALID);
        }
        if self.core.now_ms() >= session.expires_ms {
            return Err(PlatformError::Unauthenticated("the token has expired"));
        }
        Ok(HealthCaller {
            patient: session.patient,
            scope: session.scope,
            actor: session.actor,
            client: session.client,
            session_id: session.id,
            family: session.family,
            intake,
        })
    }

    /// Returns a new token for an old one, expired or not. The old one ends, but can be refreshed again for a minute;
    /// reuse after that ends them all. Forbidden for tokens of those who read on a patient's behalf, and for OAuth's,
    /// which have refresh tokens. `address` is where the call comes from.
    pub async fn health_refresh(&self, token: &str, address: &str) -> Result<Issued> {
        let claims = self.claims_to_refresh(Cloud::Health, token, address).await?;
        let session = self.core.health().session(&claims.jti).await?;
        let Some(session) =
            session.filter(|session| claims.user.patient() == Some(&session.patient) && session.ended_ms.is_none())
        else {
            return Err(self.refresh_refused(&claims.user, address));
        };
        if session.actor.is_some() || session.client.is_some() {
            return Err(PlatformError::Forbidden("only a token that the patient has logged in for is refreshed here"));
        }
        let refreshed = match self.core.health().refresh_session(&session.id, self.successor(), REFRESH_GRACE_MS).await
        {
            Err(StoreError::Gone(_)) => Refreshed::Ended,
            refreshed => refreshed?,
        };
        match refreshed {
            Refreshed::Done(session) => {
                let token = self.sign_health_token(&session).await?;
                Ok(self.issued(token, session.first_issued_ms, session.refresh_until_ms))
            }
            Refreshed::Reused => {
                tracing::warn!("a token was refreshed twice, and its family has been ended");
                Err(self.refresh_refused(&claims.user, address))
            }
            Refreshed::Ended | Refreshed::Late => Err(self.refresh_refused(&claims.user, address)),
        }
    }

    /// Ends a token, with those that it was refreshed from. One that has expired is good for this as long as it could
    /// be refreshed.
    pub async fn health_logout(&self, token: &str) -> Result<()> {
        let claims = self.read_token(Cloud::Health, token).await?;
        let session = self.core.health().session(&claims.jti).await?.ok_or(NOT_VALID)?;
        let now_ms = self.core.now_ms();
        // OAuth's tokens and those of researchers cannot be refreshed here, so that their end is the token's own.
        let is_refreshed_here = session.actor.is_none() && session.client.is_none();
        let is_in_force = now_ms < session.expires_ms || is_refreshed_here && now_ms < session.refresh_until_ms;
        let ended = session.ended_ms.is_some() || replaced_long_ago(session.replaced_ms, now_ms);
        if claims.user.patient() != Some(&session.patient) || ended || !is_in_force {
            return Err(NOT_VALID);
        }
        self.core.health().end_family(&session.family, now_ms).await?;
        Ok(())
    }

    /// Returns the first session of a family, which cannot be refreshed.
    pub(crate) fn new_health_session(&self, patient: &PatientId, scope: &str, now_ms: i64) -> HealthSession {
        let id = self.core.new_session_id();
        HealthSession {
            family: id.begins(),
            id,
            patient: patient.clone(),
            actor: None,
            api_key: None,
            login: None,
            client: None,
            consent: None,
            scope: scope.to_owned(),
            first_issued_ms: now_ms,
            issued_ms: now_ms,
            expires_ms: self.token_end_ms(now_ms),
            refresh_until_ms: now_ms,
            replaced_ms: None,
            ended_ms: None,
        }
    }

    /// Signs the token of a session.
    pub(crate) async fn sign_health_token(&self, session: &HealthSession) -> Result<String> {
        let patient = User::Patient(session.patient.clone());
        let unsigned = Unsigned {
            session_id: &session.id,
            issued_ms: session.issued_ms,
            expires_ms: session.expires_ms,
            user: &patient,
            scope: Some(&session.scope),
            actor: session.actor.as_ref(),
            client: session.client.as_ref(),
        };
        self.sign(Cloud::Health, unsigned).await
    }

    async fn start_health_session(&self, session: HealthSession) -> Result<Issued> {
        let token = self.sign_health_token(&session).await?;
        let issued = self.issued(token, session.first_issued_ms, session.refresh_until_ms);
        match self.core.health().add_session(session).await {
            Ok(()) => Ok(issued),
            Err(StoreError::Gone(_)) => Err(NOT_VALID),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether key, account, membership and attachment still hold.
    async fn still_reads(&self, researcher: &Researcher, patient: &PatientId) -> Result<()> {
        let key_is_in_force = match &researcher.key_id {
            Some(key_id) => self.core.users().api_key(key_id).await?.is_some_and(|key| key.revoked_ms.is_none()),
            // From a page of the portal: the account is what such a token rests on.
            None => true,
        };
        let account = self.core.users().account(&researcher.account).await?;
        let is_in_force = key_is_in_force && account.is_some_and(|account| account.disabled_ms.is_none());
        if !is_in_force {
            return Err(PlatformError::Unauthenticated("the API key is not valid"));
        }
        self.core.patient_access(researcher, patient).await.map(drop)
    }
}
