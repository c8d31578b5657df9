//! Sessions on the Users Cloud: what a login begins, a refresh prolongs and a logout ends.

use std::sync::Arc;

use boxed_futures::boxed_futures;
use store::{Audit, FamilyId, HealthChange, HealthMessage, Refreshed, Session, Successor, User};

use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::claims::Claims;
use crate::identity::cloud::Cloud;
use crate::identity::tokens::{Issued, MINUTE_MS, NOT_VALID, Unsigned};

/// Time for which a token that was refreshed can be refreshed again: the answer to the first time can have been lost.
pub(crate) const REFRESH_GRACE_MS: i64 = 60_000;

/// The name that tokens which are not ours are counted under.
const NOT_OURS: &str = "refresh";

/// Whose session begins.
pub(crate) struct NewSession<'a> {
    pub owner: User,
    /// The hash that the password was checked against.
    pub password_hash: &'a str,
    /// Whether the login can be prolonged.
    pub refreshable: bool,
}

#[boxed_futures]
impl Identity {
    /// Starts a session, with what is written of the login that it comes from. Unauthenticated when the password was changed
    /// or the account disabled while it was checked.
    pub(crate) async fn start_users_session(&self, new: NewSession<'_>, login: Audit) -> Result<Issued> {
        let now_ms = self.core.now_ms();
        let id = self.core.new_session_id();
        let refresh_minutes = if new.refreshable { self.core.settings().token_refresh_minutes } else { 0 };
        let session = Session {
            family: id.begins(),
            id,
            owner: new.owner.id(),
            first_issued_ms: now_ms,
            issued_ms: now_ms,
            expires_ms: self.token_end_ms(now_ms),
            refresh_until_ms: now_ms + refresh_minutes * MINUTE_MS,
            replaced_ms: None,
            ended_ms: None,
        };
        // Before the session is stored: where signing fails, no session and no entry of a login may stay.
        let issued = self.sign_users_token(&session, &new.owner).await?;
        if !self.core.users().add_session(session, &new.owner, new.password_hash, login).await? {
            return Err(PlatformError::Unauthenticated("the credentials are not valid"));
        }
        Ok(issued)
    }

    /// Returns a new token for an old one, expired or not. The old one ends, but can be refreshed again for a minute;
    /// reuse after that ends the whole login. Password change required for a token of a password that staff chose.
    /// `address` is where the call comes from.
    pub async fn users_refresh(&self, token: &str, address: &str) -> Result<Issued> {
        let claims = self.claims_to_refresh(Cloud::Users, token, address).await?;
        let holder = self.core.users().session_holder(&claims.jti).await?;
        let Some(holder) = holder.filter(|holder| holder.session.owner == claims.user.id()) else {
            return Err(self.refresh_refused(&claims.user, address));
        };
        let session = holder.session;
        // A token that is in force is no guess: its bearer learns what to do first.
        if holder.must_change_password && session.ended_ms.is_none() && self.core.now_ms() < session.expires_ms {
            return Err(PlatformError::PasswordChangeRequired);
        }
        let successor = self.successor();
        let reused = self.end_of_login(&session.family, successor.issued_ms);
        match self.core.users().refresh_session(&session.id, successor, REFRESH_GRACE_MS, reused.clone()).await? {
            Refreshed::Done(session) => self.sign_users_token(&session, &claims.user).await,
            Refreshed::Reused => {
                tracing::warn!("a token was refreshed twice, and its login has been ended");
                self.core.deliver(reused).await?;
                Err(self.refresh_refused(&claims.user, address))
            }
            Refreshed::Ended | Refreshed::Late => Err(self.refresh_refused(&claims.user, address)),
        }
    }

    /// Ends the login that a token comes from: its tokens of the Users Cloud, and those of the Health Cloud that they were
    /// exchanged for. A token that has expired is good for this as long as it could be refreshed: anyone who logs out
    /// late means it all the same.
    pub async fn users_logout(&self, token: &str) -> Result<()> {
        let claims = self.read_token(Cloud::Users, token).await?;
        let session = self.core.users().session(&claims.jti).await?.ok_or(NOT_VALID)?;
        let now_ms = self.core.now_ms();
        let is_in_force = now_ms < session.expires_ms.max(session.refresh_until_ms);
        let ended = session.ended_ms.is_some() || replaced_long_ago(session.replaced_ms, now_ms);
        if session.owner != claims.user.id() || ended || !is_in_force {
            return Err(NOT_VALID);
        }
        let message = self.end_of_login(&session.family, now_ms);
        if self.core.users().end_login(&session.family, now_ms, message.clone()).await? {
            self.core.deliver(message).await?;
        }
        Ok(())
    }

    async fn sign_users_token(&self, session: &Session, user: &User) -> Result<Issued> {
        let unsigned = Unsigned {
            session_id: &session.id,
            issued_ms: session.issued_ms,
            expires_ms: session.expires_ms,
            user,
            scope: None,
            actor: None,
            client: None,
        };
        let token = self.sign(Cloud::Users, unsigned).await?;
        Ok(self.issued(token, session.first_issued_ms, session.refresh_until_ms))
    }

    fn end_of_login(&self, login: &FamilyId, now_ms: i64) -> HealthMessage {
        let change = HealthChange::EndSessionsOfLogin { login: login.clone(), at_ms: now_ms };
        HealthMessage { id: self.core.new_message_id(), change, entries: Vec::new(), created_ms: now_ms }
    }

    /// Returns what a token says that is to be refreshed. Anyone who fails too often waits.
    pub(crate) async fn claims_to_refresh(&self, cloud: Cloud, token: &str, address: &str) -> Result<Arc<Claims>> {
        let claims = match self.read_token(cloud, token).await {
            Ok(claims) => claims,
            // Only here is guessing possible; a token of ours that has ended is counted for its owner alone.
            Err(PlatformError::Unauthenticated(_)) => {
                self.check_backoff(NOT_OURS, address)?;
                self.memory.backoff.failed(NOT_OURS, address, self.core.now_ms());
                return Err(NOT_VALID);
            }
            Err(error) => return Err(error),
        };
        self.check_backoff(&refresher(&claims.user), address)?;
        Ok(claims)
    }

    /// Notes that a token which was ours could not be refreshed; answers the error to give. Nothing is guessed here, so
    /// this holds up only the one whose token it was, and nobody else who comes from the same address.
    pub(crate) fn refresh_refused(&self, owner: &User, address: &str) -> PlatformError {
        self.memory.backoff.failed_again(&refresher(owner), address, self.core.now_ms());
        PlatformError::Unauthenticated("the token can no longer be refreshed")
    }

    /// Returns the token that takes the place of another, from now on.
    pub(crate) fn successor(&self) -> Successor {
        let now_ms = self.core.now_ms();
        Successor { id: self.core.new_session_id(), issued_ms: now_ms, expires_ms: self.token_end_ms(now_ms) }
    }
}

/// Returns whether a token was refreshed so long ago that it cannot be refreshed again.
pub(crate) fn replaced_long_ago(replaced_ms: Option<i64>, now_ms: i64) -> bool {
    replaced_ms.is_some_and(|replaced_ms| now_ms - replaced_ms > REFRESH_GRACE_MS)
}

/// Returns the name that failures of an owner's refreshes are counted under.
fn refresher(owner: &User) -> String {
    format!("refresh {}", owner.id())
}
