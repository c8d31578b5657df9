//! Who calls from a page, and their account.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};
use store::{Account, AccountId, PortalHolder, PortalSessionId, Role, User, UserId};

use crate::core::access::{Entrance, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::owner::OwnAccount;
use crate::identity::security::SecurityActor;

/// Who calls from a page. Only a session that goes on makes it, and the right of a researcher follows from it:
///
/// ```
/// use platform::portal::PortalCaller;
///
/// fn only_reads(caller: &PortalCaller) -> bool {
///     caller.view_only()
/// }
/// ```
///
/// ```compile_fail
/// use platform::portal::PortalCaller;
/// use store::AccountId;
///
/// fn as_another(caller: PortalCaller, account: AccountId) -> PortalCaller {
///     PortalCaller { account, ..caller }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct PortalCaller {
    /// Identity of the session.
    pub(crate) session_id: PortalSessionId,
    /// The account.
    pub(crate) account: AccountId,
    /// What the account may do.
    pub(crate) role: Role,
    /// Time until which its subscription is active, ms.
    pub(crate) subscription_until_ms: Option<i64>,
    /// What a page has to send along with whatever changes something.
    pub(crate) csrf_token: String,
    /// Whether the session only reads.
    pub(crate) view_only: bool,
    /// Time at which the session ends whatever happens, ms.
    pub(crate) ends_ms: i64,
    /// Whether an operator chose the password, so that another has to be chosen first.
    pub(crate) must_change_password: bool,
    /// Whether there is a confirmed second factor.
    pub(crate) has_totp: bool,
}

impl PortalCaller {
    /// Returns the identity of the session.
    pub fn session_id(&self) -> &PortalSessionId {
        &self.session_id
    }

    /// Returns what a page has to send along with whatever changes something.
    pub fn csrf_token(&self) -> &str {
        &self.csrf_token
    }

    /// Returns whether the session only reads.
    pub fn view_only(&self) -> bool {
        self.view_only
    }

    /// Returns the time at which the session ends whatever happens, ms.
    pub fn ends_ms(&self) -> i64 {
        self.ends_ms
    }

    /// Returns whether an operator chose the password, so that another has to be chosen first.
    pub fn must_change_password(&self) -> bool {
        self.must_change_password
    }

    /// Returns whether there is a confirmed second factor.
    pub fn has_totp(&self) -> bool {
        self.has_totp
    }

    /// Returns whether a request brings what only our own pages know.
    pub fn csrf_fits(&self, token: &str) -> bool {
        verify_slices_are_equal(self.csrf_token.as_bytes(), token.as_bytes()).is_ok()
    }

    /// Forbidden until the caller has chosen a password of their own.
    pub fn require_own_password(&self) -> Result<()> {
        if self.must_change_password {
            return Err(PlatformError::PasswordChangeRequired);
        }
        Ok(())
    }

    /// Returns the caller as the security log names them.
    pub fn security_actor(&self) -> SecurityActor {
        SecurityActor::user(&User::Account(self.account.clone(), self.role))
    }

    /// Returns the caller as the integration API knows them. Forbidden until they have chosen a password of their own.
    pub fn researcher(&self) -> Result<Researcher> {
        self.require_own_password()?;
        Ok(Researcher {
            account: self.account.clone(),
            role: self.role,
            entrance: Entrance::Portal,
            key_id: None,
            key_expires_ms: None,
            key_scoped: false,
            subscription_until_ms: self.subscription_until_ms,
            view_only: self.view_only,
        })
    }

    pub(super) fn of(holder: &PortalHolder, cookie: &str) -> Self {
        PortalCaller {
            session_id: holder.session.id.clone(),
            account: holder.session.account.clone(),
            role: holder.role,
            subscription_until_ms: holder.subscription_until_ms,
            csrf_token: csrf_token(cookie),
            view_only: holder.session.view_only,
            ends_ms: holder.session.ends_ms,
            must_change_password: holder.must_change_password,
            has_totp: holder.has_totp,
        }
    }
}

#[boxed_futures]
impl Identity {
    /// Returns the account of a caller.
    pub async fn portal_account(&self, caller: &PortalCaller) -> Result<OwnAccount> {
        self.portal_account_row(caller).await.map(Into::into)
    }

    /// Returns the account of a caller with its password's hash.
    pub(crate) async fn portal_account_row(&self, caller: &PortalCaller) -> Result<Account> {
        self.core.users().account(&caller.account).await?.ok_or(PlatformError::NotFound("account"))
    }

    /// Invalid, of a field, unless the password is the caller's.
    pub(super) async fn check_own_password(
        &self,
        caller: &PortalCaller,
        field: &str,
        password: &str,
        address: &str,
    ) -> Result<()> {
        // A page left open is no proof of who sits before it, so the password is asked for again.
        let hash = self.portal_account_row(caller).await?.password_hash;
        if self.password_fits(caller.account.as_str(), address, password, Some(hash)).await? {
            return Ok(());
        }
        self.note_failed_confirmation(&UserId::from(&caller.account), address).await;
        Err(PlatformError::invalid(field, "is not the present password"))
    }
}

/// Returns what follows from a cookie and leads nowhere back.
fn csrf_token(cookie: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::new().chain_update("pulseward csrf ").chain_update(cookie).finalize())
}
