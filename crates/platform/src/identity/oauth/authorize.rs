//! A person logs in and decides what a client may do: from the first page to the code.

use boxed_futures::boxed_futures;
use store::{AuthorizationCode, Consent, ConsentId, StoreError};

use super::common::{hash_of, refused};
use super::request::AuthorizationRequest;
use super::tickets::{Approver, CLOSED};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::login::{Credentials, Found};

/// Time for which a code can be redeemed.
const CODE_MS: i64 = 60_000;

/// Where a login on the authorization page leads.
pub enum LoginStep {
    /// To the consent page, whose form carries this ticket.
    Consent(String),
    /// Back to the login page, to choose a new password as well: staff chose the present one.
    ChangePassword,
    /// Nowhere: an account has no data on the Health Cloud.
    NotAPatient,
}

/// What a patient has decided on the consent page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The client may.
    Allow,
    /// It may not.
    Deny,
}

#[boxed_futures]
impl Identity {
    /// Returns the ticket of a login page for a request.
    pub fn begin_authorization(&self, request: AuthorizationRequest, browser: &str) -> Result<String> {
        self.seal_ticket(request, None, browser)
    }

    /// Returns what a page was made for. Forbidden when its form is not this browser's or too old.
    pub fn authorization_of(&self, ticket: &str, browser: &str) -> Result<AuthorizationRequest> {
        Ok(self.open_ticket(ticket, browser)?.request)
    }

    /// Returns whether somebody has logged in on the page that a form came from.
    pub fn is_logged_in(&self, ticket: &str, browser: &str) -> Result<bool> {
        Ok(self.open_ticket(ticket, browser)?.approver.is_some())
    }

    /// Returns a patient logs in on the login page. Slowed, refused and audited like every login.
    pub async fn authorization_login(
        &self,
        ticket: &str,
        browser: &str,
        credentials: Credentials,
        new_password: Option<&str>,
        address: &str,
    ) -> Result<LoginStep> {
        let request = self.open_ticket(ticket, browser)?.request;
        let mut found = self.check_password(&credentials, address).await?;
        // After the password: before it, the page would show anyone which addresses are accounts.
        if matches!(found, Found::Account(_)) {
            return Ok(LoginStep::NotAPatient);
        }
        if found.must_change_password() {
            let Some(new_password) = new_password else { return Ok(LoginStep::ChangePassword) };
            found = self.choose_password(found, &credentials.password, new_password).await?;
        }
        let Found::Patient(patient) = &found else { return Ok(LoginStep::NotAPatient) };
        let hash = found.password_hash().unwrap_or_default();
        let login = self.audit_login(&found, address, "oauth");
        if !self.core.users().note_login(&found.user(), hash, login).await? {
            return Err(PlatformError::Unauthenticated("the credentials are not valid"));
        }
        let approver = Approver { patient: patient.uuid.clone(), password: hash_of(hash) };
        Ok(LoginStep::Consent(self.seal_ticket(request, Some(approver), browser)?))
    }

    /// The patient has decided on the consent page, once. Answers the address to send them to, which informs the
    /// client.
    pub async fn authorization_decision(&self, ticket: &str, browser: &str, decision: Decision) -> Result<String> {
        let ticket = self.open_ticket(ticket, browser)?;
        let approver = ticket.approver.clone().ok_or(PlatformError::Forbidden("nobody has logged in"))?;
        // Before the code is issued: a double click must not make two consents.
        if !self.use_ticket(&ticket) {
            return Err(CLOSED);
        }
        let request = ticket.request;
        let outcome = match decision {
            Decision::Allow => self.issue_code(&request, &approver, &ticket.id).await,
            Decision::Deny => Err(refused("access_denied", "the patient did not allow it")),
        };
        let state = request.state.as_deref();
        match outcome {
            Ok(code) => Ok(self.answer(&request.redirect_uri, &[("code", &code)], state)),
            Err(PlatformError::Oauth { code, message }) => {
                Ok(self.answer(&request.redirect_uri, &[("error", code), ("error_description", message)], state))
            }
            Err(error) => Err(error),
        }
    }

    async fn issue_code(&self, request: &AuthorizationRequest, approver: &Approver, id: &ConsentId) -> Result<String> {
        let gone = || refused("access_denied", "the login on this page has ended");
        let patient = self.core.users().patient(&approver.patient).await?.ok_or_else(gone)?;
        // A password that was changed while the page was open ends what was decided on it.
        let password_hash = patient.password_hash.filter(|hash| hash_of(hash) == approver.password).ok_or_else(gone)?;
        let now_ms = self.core.now_ms();
        let consent = Consent {
            id: id.clone(),
            patient: patient.uuid.clone(),
            client: request.client.clone(),
            scope: request.scope.clone(),
            given_ms: now_ms,
        };
        match self.core.users().add_consent(consent.clone(), &password_hash).await {
            Ok(true) => {}
            Ok(false) => return Err(gone()),
            // The same page was decided on at another node.
            Err(StoreError::Conflict(_)) => return Err(CLOSED),
            Err(error) => return Err(error.into()),
        }
        let code = self.new_secret("");
        let code_hash = hash_of(&code);
        let row = AuthorizationCode {
            code_hash: code_hash.clone(),
            client: request.client.clone(),
            consent: consent.id.clone(),
            patient: patient.uuid,
            redirect_uri: request.redirect_uri.clone(),
            scope: request.scope.clone(),
            challenge: request.challenge.clone(),
            expires_ms: now_ms + CODE_MS,
            family: None,
        };
        match self.core.health().add_code(row).await {
            Err(StoreError::Gone(_)) => return Err(gone()),
            added => added?,
        }
        // A withdrawal between the two writes could not end a code that was not there yet.
        if !self.core.users().consent_is_in_force(&consent.id).await? {
            self.core.health().drop_code(&code_hash).await?;
            return Err(gone());
        }
        Ok(code)
    }
}
