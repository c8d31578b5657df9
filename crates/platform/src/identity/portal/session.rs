//! Sessions of the portal's pages: a cookie that scripts cannot read, and a second token that other sites cannot know.
//!
//! The second token follows from the cookie, so neither has to be kept: the database holds a hash of the cookie, and a
//! request that changes something has to show that its page has read an answer of ours.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};
use store::{Account, EntityId, NewSecurityEvent, PortalSession, PortalSessionId, SecurityEventType, UsedFactor};

use super::caller::PortalCaller;
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::login::{Credentials, Found, LoginName};
use crate::identity::security::{SecurityActor, of_own};

const MINUTE_MS: i64 = 60_000;
/// Uses within this time are noted once.
const NOTE_USE_EVERY_MS: i64 = 10_000;
/// The longest text of a browser that is kept, in characters.
const LONGEST_USER_AGENT: usize = 200;

/// A login to the portal.
#[derive(Clone)]
pub struct NewPortalLogin {
    /// The account's e-mail.
    pub email: String,
    /// Its password.
    pub password: String,
    /// A code of its second factor, or a recovery code, where it has one.
    pub totp: Option<String>,
    /// Whether the session only reads and is not locked when nobody uses it.
    pub wall_display: bool,
    /// What the browser calls itself.
    pub user_agent: String,
}

/// What a login to the portal answers.
pub enum PortalLogin {
    /// The cookie's value and the session.
    Opened(Box<OpenedPortal>),
    /// The password is right, and a code of the second factor has to come with it.
    TotpRequired,
    /// Nobody has this name and password, or the code is not right.
    Refused,
}

/// A session that has just begun.
pub struct OpenedPortal {
    /// The value of the cookie, which cannot be read again.
    pub cookie: String,
    /// Who calls from now on.
    pub caller: PortalCaller,
}

/// Whether a call shows that somebody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Somebody has done something.
    Shown,
    /// The page asks by itself.
    Unknown,
}

#[boxed_futures]
impl Identity {
    /// Logs in to the portal. Too many when it was tried too often; the count is shared with all other logins.
    /// `address` is where the call comes from.
    pub async fn open_portal(&self, login: NewPortalLogin, address: &str) -> Result<PortalLogin> {
        let credentials = Credentials { name: LoginName::Email(login.email.clone()), password: login.password.clone() };
        let found = match self.check_password(&credentials, address).await {
            Ok(found) => found,
            Err(PlatformError::Unauthenticated(_)) => return Ok(PortalLogin::Refused),
            Err(error) => return Err(error),
        };
        // A patient has no studies to look at; that the patient exists is not said here.
        let Found::Account(account) = &found else {
            self.note_failed_login(Some(&found.user()), "", address).await;
            return Ok(PortalLogin::Refused);
        };
        let factor = match self.core.users().totp(&account.uuid).await?.filter(|totp| totp.confirmed_ms.is_some()) {
            None => UsedFactor::None,
            Some(totp) => {
                // After the password: the question for a code says that the password was right, and nothing before it.
                let Some(code) = &login.totp else {
                    self.note_asked_factor(&found.user(), address).await;
                    return Ok(PortalLogin::TotpRequired);
                };
                let Some(factor) = self.check_factor(&account.uuid, &totp, code, address).await? else {
                    self.note_failed_factor(&found.user(), address).await;
                    return Ok(PortalLogin::Refused);
                };
                factor
            }
        };
        let cookie = URL_SAFE_NO_PAD.encode(self.core.random_bytes::<32>());
        let session = self.new_portal_session(account, &cookie, &login, address);
        let mut audit = self.audit_login(&found, address, "portal");
        if let UsedFactor::RecoveryCode(_) = &factor {
            let actor = SecurityActor::user(&found.user());
            let used = of_own(SecurityEventType::RecoveryCodeUsed, &actor, EntityId::from(&account.uuid));
            audit.security.push(NewSecurityEvent { address: Some(address.to_owned()), ..used });
        }
        let begun = self.core.users().add_portal_session(session, &account.password_hash, factor, audit);
        // The transaction has found another password or a used code: both changed while this login was checked.
        if !begun.await? {
            return Ok(PortalLogin::Refused);
        }
        let caller = self.portal_caller(&cookie, Presence::Shown).await?;
        let caller = caller.ok_or_else(|| PlatformError::Internal("a new session is not there".to_owned()))?;
        Ok(PortalLogin::Opened(Box::new(OpenedPortal { cookie, caller })))
    }

    /// Returns who calls with this cookie; `None` when the session has ended or there is none such. `presence`
    /// says whether the call shows that somebody is there, which keeps the session from being locked.
    pub async fn portal_caller(&self, cookie: &str, presence: Presence) -> Result<Option<PortalCaller>> {
        let Some(holder) = self.core.users().portal_holder(&hash_cookie(cookie)).await? else { return Ok(None) };
        let now_ms = self.core.now_ms();
        let session = &holder.session;
        let is_idle = !session.view_only && now_ms - session.last_seen_ms >= self.portal_idle_ms();
        if is_idle || now_ms >= session.ends_ms || holder.disabled_ms.is_some() {
            return Ok(None);
        }
        // The board asks by itself every few seconds; that must neither keep a session open nor write.
        if presence == Presence::Shown && now_ms - session.last_seen_ms >= NOTE_USE_EVERY_MS {
            self.core.users().note_portal_seen(&session.id, now_ms).await?;
        }
        Ok(Some(PortalCaller::of(&holder, cookie)))
    }

    /// Ends the caller's session.
    pub async fn close_portal(&self, caller: &PortalCaller) -> Result<()> {
        self.core.users().end_portal_session(&caller.session_id, &caller.account).await.map(drop).map_err(Into::into)
    }

    /// Returns the caller's sessions that have not ended, oldest first.
    pub async fn portal_sessions(&self, caller: &PortalCaller) -> Result<Vec<PortalSession>> {
        let now_ms = self.core.now_ms();
        Ok(self.core.users().portal_sessions(&caller.account, now_ms, now_ms - self.portal_idle_ms()).await?)
    }

    /// Ends one of the caller's sessions.
    pub async fn end_portal_session(&self, caller: &PortalCaller, id: &PortalSessionId) -> Result<()> {
        if self.core.users().end_portal_session(id, &caller.account).await? {
            return Ok(());
        }
        Err(PlatformError::NotFound("session"))
    }

    /// Removes sessions that have ended by themselves. Answers how many there were.
    pub(crate) async fn purge_portal_sessions(&self) -> Result<u64> {
        let now_ms = self.core.now_ms();
        Ok(self.core.users().purge_portal_sessions(now_ms, now_ms - self.portal_idle_ms()).await?)
    }

    /// Returns how long a session may go unused, ms.
    fn portal_idle_ms(&self) -> i64 {
        self.core.settings().portal_idle_minutes * MINUTE_MS
    }

    fn new_portal_session(
        &self,
        account: &Account,
        cookie: &str,
        login: &NewPortalLogin,
        address: &str,
    ) -> PortalSession {
        let now_ms = self.core.now_ms();
        PortalSession {
            id: PortalSessionId::new(self.core.new_record_id()),
            token_hash: hash_cookie(cookie),
            account: account.uuid.clone(),
            view_only: login.wall_display,
            address: address.to_owned(),
            user_agent: login.user_agent.chars().filter(|char| !char.is_control()).take(LONGEST_USER_AGENT).collect(),
            created_ms: now_ms,
            last_seen_ms: now_ms,
            ends_ms: now_ms + self.core.settings().portal_session_hours * 60 * MINUTE_MS,
        }
    }
}

fn hash_cookie(cookie: &str) -> Vec<u8> {
    Sha256::digest(cookie).to_vec()
}
