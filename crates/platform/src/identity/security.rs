//! The log of what bears on security: what is written to it, and who reads it.
//!
//! A good login is written in its transaction. What an operation has already done is written right after it, and what
//! failed or was refused before its answer: neither can undo the other, so a store that is away is reported in the log
//! of the process.

use std::time::Duration;

use aws_lc_rs::hmac;
use boxed_futures::boxed_futures;
use store::{
    ActorRole, ClientId, EntityId, LogEpoch, NameHashes, NewSecurityEvent, OauthClient, PatientId, Role, SecurityEvent,
    SecurityEventType, SecurityQuery, User, UserId,
};

use crate::core::access::Researcher;
use crate::core::error::{PlatformError, Result};
use crate::core::ids::hex;
use crate::identity::Identity;
use crate::identity::repeats::WINDOW_MS;

/// Events of a page at most.
pub const LARGEST_SECURITY_PAGE: i64 = 1000;
/// Bytes of a name's hash that are kept: two names of a log have the same by chance in none that fits on a disk.
const NAME_HASH_BYTES: usize = 16;
/// Detail of a failed login where only the present password was asked for again.
const PRESENT_PASSWORD: &str = "present_password";
const NAMES: &[u8] = b"pulseward names of failed logins 1";

/// Who does what an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityActor {
    /// Uuid of a patient or an account, or `system`.
    pub id: UserId,
    /// In which role, where it is known.
    pub role: Option<ActorRole>,
}

impl SecurityActor {
    /// Makes a user, in the role that they logged in with.
    pub fn user(user: &User) -> Self {
        SecurityActor { id: user.id(), role: Some(ActorRole::User(user.role())) }
    }

    /// Makes the account of a caller of the integration API.
    pub fn researcher(researcher: &Researcher) -> Self {
        SecurityActor::user(&User::Account(researcher.account.clone(), researcher.role))
    }
}

/// A voucher that activates nobody.
#[derive(Clone, Copy)]
pub(crate) enum FailedVoucher<'voucher> {
    /// The code, which is kept as a keyed hash.
    Unknown(&'voucher str),
    /// The voucher of a patient.
    Of {
        /// Whose it is.
        patient: &'voucher PatientId,
        /// `used` or `expired`.
        reason: &'static str,
    },
}

/// What is asked of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityLogQuery {
    /// Cursor that an earlier answer gave.
    pub after: Option<String>,
    /// From this time, ms.
    pub from_ms: Option<i64>,
    /// To this time, included, ms.
    pub to_ms: Option<i64>,
    /// Of this type alone.
    pub event_type: Option<SecurityEventType>,
    /// At most so many, up to [`LARGEST_SECURITY_PAGE`].
    pub limit: i64,
}

/// Events of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityLogPage {
    /// The events, oldest first, each with the cursor behind it.
    pub events: Vec<(SecurityEvent, String)>,
    /// Cursor from which reading goes on, now or later.
    pub next: String,
    /// Whether there is more now.
    pub more: bool,
}

#[boxed_futures]
impl Identity {
    /// Reads the log for an administrator. Forbidden for everybody else, and for a key for named groups: the log is of no
    /// group.
    pub async fn security_events(&self, researcher: &Researcher, query: SecurityLogQuery) -> Result<SecurityLogPage> {
        if researcher.role != Role::Admin {
            return Err(PlatformError::Forbidden("only an administrator reads the security log"));
        }
        if researcher.key_scoped {
            return Err(PlatformError::Forbidden("a key for named groups does not read the security log"));
        }
        self.security_log(query).await
    }

    /// Reads the log for an operator.
    pub async fn security_log(&self, query: SecurityLogQuery) -> Result<SecurityLogPage> {
        let asked = query.after.as_deref().map(read_cursor).transpose()?;
        let limit = query.limit.clamp(1, LARGEST_SECURITY_PAGE);
        let stored = SecurityQuery {
            after: asked.as_ref().map_or(0, |(_, number)| *number),
            from_ms: query.from_ms,
            to_ms: query.to_ms,
            event_type: query.event_type.map(|kind| kind.name().to_owned()),
            // One more shows whether there is more.
            limit: limit + 1,
        };
        let last_read = stored.after;
        let page = self.core.users().security_events(stored).await?;
        // The numbers of another life of the store are of other events.
        if asked.is_some_and(|(epoch, _)| epoch != page.epoch) {
            return Err(PlatformError::invalid("after", "is of another store, or of this one before it was restored"));
        }
        let (mut events, epoch) = (page.events, page.epoch);
        let more = usize::try_from(limit).is_ok_and(|limit| events.len() > limit);
        if more {
            events.pop();
        }
        let next = write_cursor(&epoch, events.last().map_or(last_read, |event| event.number));
        let with_cursor = |event: SecurityEvent| {
            let cursor = write_cursor(&epoch, event.number);
            (event, cursor)
        };
        Ok(SecurityLogPage { events: events.into_iter().map(with_cursor).collect(), next, more })
    }

    /// Notes that a valid credential had no right to what was asked: of `actor`, from `address`, of a route.
    pub async fn note_denied(&self, actor: SecurityActor, address: String, route: String) {
        let event = of_actor(SecurityEventType::AccessDenied, &actor);
        self.note_in_numbers(NewSecurityEvent { address: Some(address), detail: Some(route), ..event }).await;
    }

    /// Notes a login that failed, of somebody or of a name that nobody has.
    pub(crate) async fn note_failed_login(&self, known: Option<&User>, name: &str, address: &str) {
        let event = NewSecurityEvent {
            subject: known.map(|user| EntityId::from(&user.id())),
            name_hash: known.is_none().then(|| self.hash_of_name(name)),
            address: Some(address.to_owned()),
            ..NewSecurityEvent::new(SecurityEventType::LoginFailed)
        };
        self.note_in_numbers(event).await;
    }

    /// Notes a voucher that activated nobody: of a patient and why, or one that nobody has.
    pub(crate) async fn note_failed_activation(&self, voucher: FailedVoucher<'_>, address: &str) {
        let new = NewSecurityEvent::new(SecurityEventType::ActivationFailed);
        let event = match voucher {
            FailedVoucher::Unknown(code) => NewSecurityEvent { name_hash: Some(self.hash_of_name(code)), ..new },
            FailedVoucher::Of { patient, reason } => {
                let subject = Some(EntityId::from(patient));
                NewSecurityEvent { subject, detail: Some(reason.to_owned()), ..new }
            }
        };
        self.note_in_numbers(NewSecurityEvent { address: Some(address.to_owned()), ..event }).await;
    }

    /// Notes that an OAuth client did not show what it is known by, or is not known.
    pub(crate) async fn note_failed_client(&self, id: &ClientId, known: Option<&OauthClient>, address: &str) {
        let event = NewSecurityEvent {
            subject: known.map(|client| EntityId::new(client.id.as_str())),
            name_hash: known.is_none().then(|| self.hash_of_name(id.as_str())),
            address: Some(address.to_owned()),
            ..NewSecurityEvent::new(SecurityEventType::ClientAuthenticationFailed)
        };
        self.note_in_numbers(event).await;
    }

    /// Notes that somebody who is logged in as a user does not know the present password.
    pub(crate) async fn note_failed_confirmation(&self, user: &UserId, address: &str) {
        let detail = Some(PRESENT_PASSWORD.to_owned());
        let event = NewSecurityEvent { detail, ..NewSecurityEvent::new(SecurityEventType::LoginFailed) };
        self.note_failure_of(user, address, event).await;
    }

    /// Notes that a password was right and the second factor wrong.
    pub(crate) async fn note_failed_factor(&self, user: &User, address: &str) {
        let event = NewSecurityEvent::new(SecurityEventType::SecondFactorFailed);
        self.note_failure_of(&user.id(), address, event).await;
    }

    /// Notes that a password was right and a second factor asked for. Pages ask so in every login; where a password was stolen
    /// it is the only trace.
    pub(crate) async fn note_asked_factor(&self, user: &User, address: &str) {
        let event = NewSecurityEvent::new(SecurityEventType::SecondFactorAsked);
        self.note_failure_of(&user.id(), address, event).await;
    }

    async fn note_failure_of(&self, user: &UserId, address: &str, event: NewSecurityEvent) {
        let (subject, address) = (Some(EntityId::from(user)), Some(address.to_owned()));
        self.note_in_numbers(NewSecurityEvent { subject, address, ..event }).await;
    }

    /// Notes what somebody did to their own account, or to something of it.
    pub(crate) async fn note_by(&self, event_type: SecurityEventType, actor: &SecurityActor, subject: EntityId) {
        self.note_security(of_own(event_type, actor, subject)).await;
    }

    /// Notes something that an operator has done to an account, or to what belongs to it.
    pub(crate) async fn note_by_operator(
        &self,
        event_type: SecurityEventType,
        subject: EntityId,
        detail: Option<&str>,
    ) {
        let operator = SecurityActor { id: UserId::new("system"), role: Some(ActorRole::Operator) };
        let detail = detail.map(str::to_owned);
        self.note_security(NewSecurityEvent { subject: Some(subject), detail, ..of_actor(event_type, &operator) })
            .await;
    }

    /// Returns the hashes that the log knows names of somebody by who is to be erased, and forgets what is counted under
    /// them: it would be written after the erasure.
    pub fn forget_names(&self, names: impl IntoIterator<Item = String>) -> NameHashes {
        let hashes: Vec<String> = names.into_iter().map(|name| self.hash_of_name(&name)).collect();
        self.memory.repeats.forget(&hashes);
        NameHashes(hashes)
    }

    /// Writes what has been counted and not been written yet, before the node ends.
    pub async fn write_counted_events(&self) {
        let counted = self.memory.repeats.take(self.core.now_ms());
        self.write_security(counted).await;
    }

    /// Notes something that has been done.
    pub(crate) async fn note_security(&self, event: NewSecurityEvent) {
        self.write_security(vec![event]).await;
    }

    /// Notes something that may come in numbers.
    pub(crate) async fn note_in_numbers(&self, event: NewSecurityEvent) {
        let noted = self.memory.repeats.note(event, self.core.now_ms());
        if noted.needs_timer {
            let identity = self.clone();
            runtime::spawn("write repeated security events", async move {
                runtime::sleep(Duration::from_millis(WINDOW_MS.unsigned_abs())).await;
                let counted = identity.memory.repeats.take(identity.core.now_ms());
                identity.write_security(counted).await;
            });
        }
        self.write_security(noted.write).await;
    }

    async fn write_security(&self, events: Vec<NewSecurityEvent>) {
        if events.is_empty() {
            return;
        }
        // What they are about has been answered or is done; failing it now would say otherwise.
        if let Err(error) = self.core.users().add_security_events(events, self.core.now_ms()).await {
            tracing::error!(%error, "security events could not be written");
        }
    }

    /// Returns a name as the log holds it: the same for the same name, and of no use to anyone without the master key.
    fn hash_of_name(&self, name: &str) -> String {
        let master = hmac::Key::new(hmac::HMAC_SHA256, &self.core.master_key()[..]);
        let key = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&master, NAMES).as_ref());
        let tag = hmac::sign(&key, name.as_bytes());
        hex(&tag.as_ref()[..NAME_HASH_BYTES])
    }
}

/// Returns the event of a good login.
pub(crate) fn good_login(user: &User, address: &str, entrance: &str) -> NewSecurityEvent {
    NewSecurityEvent {
        address: Some(address.to_owned()),
        detail: Some(entrance.to_owned()),
        ..of_actor(SecurityEventType::LoginSucceeded, &SecurityActor::user(user))
    }
}

/// Returns an event of what somebody did.
pub(crate) fn of_actor(event_type: SecurityEventType, actor: &SecurityActor) -> NewSecurityEvent {
    NewSecurityEvent { actor: Some(actor.id.clone()), actor_role: actor.role, ..NewSecurityEvent::new(event_type) }
}

/// Returns an event of what somebody did to themselves or to something of theirs.
pub(crate) fn of_own(event_type: SecurityEventType, actor: &SecurityActor, subject: EntityId) -> NewSecurityEvent {
    NewSecurityEvent { subject: Some(subject), ..of_actor(event_type, actor) }
}

fn write_cursor(epoch: &LogEpoch, number: i64) -> String {
    format!("{epoch}.{number}")
}

fn read_cursor(text: &str) -> Result<(LogEpoch, i64)> {
    let not_ours = || PlatformError::invalid("after", "is no cursor of this log: give `next` of an earlier answer");
    let (epoch, number) = text.rsplit_once('.').ok_or_else(not_ours)?;
    let number: i64 = number.parse().map_err(|_| not_ours())?;
    if number < 0 { Err(not_ours()) } else { Ok((LogEpoch::new(epoch), number)) }
}
