//! Logins on the Users Cloud: by e-mail or by voucher code, for patients and for accounts.
//!
//! An unknown name and a wrong password answer the same after the same work.

use boxed_futures::boxed_futures;
use store::{
    Account, Audit, EntityId, HealthChange, HealthMessage, NewPassword, NewPatientPassword, Patient, PatientId,
    PatientState, SecurityEventType, User, VoucherCode,
};

use crate::core::access::Researcher;
use crate::core::audit::{Action, Actor, user_entity};
use crate::core::error::{PlatformError, Result};
use crate::core::person::Person;
use crate::identity::Identity;
use crate::identity::new_password::{OwnWords, check_new_password};
use crate::identity::owner::{Owner, PatientOwner};
use crate::identity::security::{SecurityActor, good_login, of_own};
use crate::identity::tokens::{Issued, UsersCaller};
use crate::identity::users_sessions::NewSession;

/// What one logs in with besides the password.
#[derive(Clone)]
pub enum LoginName {
    /// The e-mail of a patient or of an account.
    Email(String),
    /// A patient's voucher code.
    Code(String),
}

/// A name and a password.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub name: LoginName,
    /// The password.
    pub password: String,
}

/// The right to log in without a password, for a patient who has just used their voucher and chosen one. It counts once, and
/// only an activation gives it:
///
/// ```
/// use platform::{Activated, Identity};
///
/// async fn log_in(identity: &Identity, activated: Activated) {
///     let _ = identity.login_activated(activated, "::1").await;
/// }
/// ```
///
/// ```compile_fail
/// use platform::Identity;
/// use store::Patient;
///
/// async fn log_in(identity: &Identity, patient: Patient) {
///     let _ = identity.login_activated(patient, "::1").await;
/// }
/// ```
///
/// ```compile_fail
/// use platform::{Activated, Identity};
///
/// async fn log_in(identity: &Identity, activated: Activated) {
///     let _ = identity.login_activated(activated.clone(), "::1").await;
/// }
/// ```
pub struct Activated(Patient);

impl Activated {
    /// The patient of a voucher that has just been used, as they are stored now.
    pub(crate) fn by_voucher(patient: Patient) -> Self {
        Activated(patient)
    }

    /// Returns the state of the enrolment.
    pub fn state(&self) -> PatientState {
        self.0.state
    }
}

/// What a login on the Users Cloud answers.
#[derive(Clone)]
pub struct UsersLogin {
    /// The token.
    pub issued: Issued,
    /// Who has logged in.
    pub owner: Owner,
}

/// Who chose a patient's password; one that staff chose has to be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChosenBy {
    Patient,
    Staff,
}

/// The patient or the account that a name belongs to.
pub(crate) enum Found {
    Patient(Patient),
    Account(Account),
}

impl Found {
    pub(crate) fn user(&self) -> User {
        match self {
            Found::Patient(patient) => User::Patient(patient.uuid.clone()),
            Found::Account(account) => User::Account(account.uuid.clone(), account.role),
        }
    }

    /// Returns the hash that the password has to fit; none for someone who cannot log in.
    pub(crate) fn password_hash(&self) -> Option<&str> {
        match self {
            Found::Patient(patient) => patient.password_hash.as_deref(),
            Found::Account(account) => account.disabled_ms.is_none().then_some(account.password_hash.as_str()),
        }
    }

    /// Returns what others know of the owner, which makes no password.
    pub(crate) fn own_words(&self) -> Result<OwnWords> {
        Ok(match self {
            Found::Patient(patient) => words_of_patient(patient)?,
            Found::Account(account) => words_of_account(account),
        })
    }

    /// Returns whether staff chose the password.
    pub(crate) fn must_change_password(&self) -> bool {
        match self {
            Found::Patient(patient) => patient.must_change_password,
            Found::Account(account) => account.must_change_password,
        }
    }
}

impl LoginName {
    /// Returns the name as it is stored, which is also what failures are counted under.
    pub(crate) fn clean(&self) -> String {
        match self {
            LoginName::Email(email) => email.trim().to_lowercase(),
            LoginName::Code(code) => clean_voucher(code),
        }
    }
}

#[boxed_futures]
impl Identity {
    /// Logs in. A password that staff chose is taken as well, but its token opens nothing but the choice of another.
    /// `address` is where the call comes from.
    pub async fn login(&self, credentials: Credentials, address: &str) -> Result<UsersLogin> {
        let found = self.check_password(&credentials, address).await?;
        self.check_second_factor(&found, address).await?;
        self.start_login(found, address).await
    }

    /// Logs in and chooses a new password at once, which ends every earlier token.
    pub async fn login_and_change_password(
        &self,
        credentials: Credentials,
        new_password: &str,
        address: &str,
    ) -> Result<UsersLogin> {
        // Before the work of the present password; what the account's own words say of it follows.
        check_new_password("new_password", new_password, &OwnWords::default())?;
        let found = self.check_password(&credentials, address).await?;
        self.check_second_factor(&found, address).await?;
        let found = self.choose_password(found, &credentials.password, new_password).await?;
        self.start_login(found, address).await
    }

    /// Chooses a new password for someone who has logged in and names the present one. Ends every token, also the one
    /// of this call, and answers a new login.
    pub async fn change_password(
        &self,
        caller: &UsersCaller,
        password: &str,
        new_password: &str,
        address: &str,
    ) -> Result<UsersLogin> {
        check_new_password("new_password", new_password, &OwnWords::default())?;
        let found = self.confirm_password(&caller.user, password, address).await?;
        self.check_second_factor(&found, address).await?;
        let found = self.choose_password(found, password, new_password).await?;
        self.start_login(found, address).await
    }

    /// Returns the patient or account behind a token that also shows the present password. Invalid with another one:
    /// a phone that lies open must not be enough. Too many when it was tried too often.
    pub(crate) async fn confirm_password(&self, user: &User, password: &str, address: &str) -> Result<Found> {
        let found = self.find(user).await?.ok_or(PlatformError::NotFound("user"))?;
        let hash = found.password_hash().map(str::to_owned);
        if !self.password_fits(user.id().as_str(), address, password, hash).await? {
            self.note_failed_confirmation(&user.id(), address).await;
            return Err(PlatformError::invalid("password", "is not the present password"));
        }
        Ok(found)
    }

    /// Whose credentials these are. Unauthenticated when nobody's, after the same work; too many when they were
    /// tried too often.
    pub(crate) async fn check_password(&self, credentials: &Credentials, address: &str) -> Result<Found> {
        let name = credentials.name.clean();
        self.check_backoff(&name, address)?;
        let found = match credentials.name {
            LoginName::Email(_) => self.find_by_email(&name).await?,
            LoginName::Code(_) => {
                self.core.users().patient_by_voucher(&VoucherCode::new(name.as_str())).await?.map(Found::Patient)
            }
        };
        let hash = found.as_ref().and_then(Found::password_hash).map(str::to_owned);
        // Also where nobody has the name: an answer that comes sooner would say so.
        let fits = self.password_fits(&name, address, &credentials.password, hash).await?;
        if !fits {
            self.note_failed_login(found.as_ref().map(Found::user).as_ref(), &name, address).await;
        }
        found.filter(|_| fits).ok_or(PlatformError::Unauthenticated("the credentials are not valid"))
    }

    /// Forbidden for an account with a second factor: the Users Cloud asks for none, and its tokens change passwords and
    /// erase accounts.
    async fn check_second_factor(&self, found: &Found, address: &str) -> Result<()> {
        let Found::Account(account) = found else { return Ok(()) };
        // One that was never confirmed may not be in any app yet, and would lock its owner out.
        match self.core.users().totp(&account.uuid).await?.filter(|totp| totp.confirmed_ms.is_some()) {
            Some(_) => {
                let actor = SecurityActor::user(&found.user());
                self.note_denied(actor, address.to_owned(), "login without the second factor".to_owned()).await;
                Err(PlatformError::Forbidden("an account with a second factor signs in on the portal only"))
            }
            None => Ok(()),
        }
    }

    /// Gives someone the password that they have chosen themselves, which ends their tokens. Returns the
    /// patient or account after the change.
    pub(crate) async fn choose_password(&self, found: Found, password: &str, new_password: &str) -> Result<Found> {
        // Otherwise a password that staff knows could go on as the one that the patient has chosen.
        if password == new_password {
            return Err(PlatformError::invalid("new_password", "must differ from the present password"));
        }
        let hash = self.hash_new_password("new_password", new_password, &found.own_words()?).await?;
        let user = found.user();
        let changed = match found {
            Found::Patient(patient) => {
                self.set_patient_password(&patient.uuid, &hash, ChosenBy::Patient).await?;
                Found::Patient(Patient { password_hash: Some(hash), must_change_password: false, ..patient })
            }
            Found::Account(account) => {
                let new = NewPassword { hash: hash.clone(), ..NewPassword::default() };
                self.core.users().set_account_password(&account.uuid, new, self.core.now_ms()).await?;
                Found::Account(Account { password_hash: hash, must_change_password: false, ..account })
            }
        };
        let subject = EntityId::from(&user.id());
        self.note_security(of_own(SecurityEventType::PasswordChanged, &SecurityActor::user(&user), subject)).await;
        Ok(changed)
    }

    /// Returns the login of a patient who has just used their voucher. `address` is where the call comes from.
    pub async fn login_activated(&self, activated: Activated, address: &str) -> Result<UsersLogin> {
        self.start_login(Found::Patient(activated.0), address).await
    }

    /// Returns who calls the Users Cloud, as a login returns it. A caller is needed, a name does not suffice:
    ///
    /// ```
    /// use platform::{Identity, UsersCaller};
    ///
    /// async fn read(identity: &Identity, caller: &UsersCaller) {
    ///     let _ = identity.owner(caller).await;
    /// }
    /// ```
    ///
    /// ```compile_fail
    /// use platform::{Identity, UsersCaller};
    ///
    /// async fn read(identity: &Identity, caller: &UsersCaller) {
    ///     let _ = identity.owner(caller.user()).await;
    /// }
    /// ```
    ///
    /// The answer holds nothing that credentials are checked against:
    ///
    /// ```
    /// fn of_patient(owner: platform::PatientOwner) -> Option<String> {
    ///     owner.email
    /// }
    /// ```
    ///
    /// ```compile_fail
    /// fn of_patient(owner: platform::PatientOwner) -> Option<String> {
    ///     owner.password_hash
    /// }
    /// ```
    pub async fn owner(&self, caller: &UsersCaller) -> Result<Owner> {
        let found = self.find(&caller.user).await?.ok_or(PlatformError::NotFound("user"))?;
        self.compose(found).await
    }

    /// Gives a confirmed patient a password that staff chose, which ends their tokens on both clouds.
    pub async fn reset_password(&self, researcher: &Researcher, patient: &PatientId, password: &str) -> Result<()> {
        // Access before role and state: who has no access must not learn whether the patient is confirmed.
        let access = self.core.patient_access(researcher, patient).await?;
        researcher.require_manager()?;
        if access.state != PatientState::Confirmed {
            return Err(not_confirmed());
        }
        let row = self.core.users().patient(patient).await?.ok_or_else(not_confirmed)?;
        let password_hash = self.hash_new_password("password", password, &words_of_patient(&row)?).await?;
        self.set_patient_password(patient, &password_hash, ChosenBy::Staff).await?;
        let actor = SecurityActor::researcher(researcher);
        self.note_security(of_own(SecurityEventType::PasswordReset, &actor, EntityId::from(patient))).await;
        Ok(())
    }

    /// Sets the password of a confirmed patient and ends their tokens on both clouds, and what they have consented to.
    async fn set_patient_password(&self, patient: &PatientId, password_hash: &str, chosen_by: ChosenBy) -> Result<()> {
        let now_ms = self.core.now_ms();
        let message = HealthMessage {
            id: self.core.new_message_id(),
            change: HealthChange::EndSessionsOfPatient { uuid: patient.clone(), at_ms: now_ms },
            entries: Vec::new(),
            created_ms: now_ms,
        };
        let new =
            NewPatientPassword { hash: password_hash.to_owned(), must_change: chosen_by == ChosenBy::Staff, now_ms };
        // Hash and message are one transaction: a crash between them would leave the old tokens good.
        if !self.core.users().set_patient_password(patient, new, message.clone()).await? {
            return Err(not_confirmed());
        }
        self.core.deliver(message).await
    }

    async fn find(&self, user: &User) -> Result<Option<Found>> {
        Ok(match user {
            User::Patient(patient) => self.core.users().patient(patient).await?.map(Found::Patient),
            User::Account(account, _) => self.core.users().account(account).await?.map(Found::Account),
        })
    }

    async fn find_by_email(&self, email: &str) -> Result<Option<Found>> {
        // An address is a patient's or an account's, never both: the database sees to that.
        if let Some(patient) = self.core.users().patient_by_email(email).await? {
            return Ok(Some(Found::Patient(patient)));
        }
        Ok(self.core.users().account_by_email(email).await?.map(Found::Account))
    }

    async fn start_login(&self, found: Found, address: &str) -> Result<UsersLogin> {
        let session = NewSession {
            owner: found.user(),
            password_hash: found.password_hash().unwrap_or_default(),
            // It opens one call, which ends it: there is nothing to refresh it for.
            refreshable: !found.must_change_password(),
        };
        let issued = self.start_users_session(session, self.audit_login(&found, address, "users")).await?;
        Ok(UsersLogin { issued, owner: self.compose(found).await? })
    }

    /// Returns the audit entry and the security event of a good login, from an address and by an entrance.
    pub(crate) fn audit_login(&self, found: &Found, address: &str, entrance: &str) -> Audit {
        let user = found.user();
        let entry = self.core.entry_by(Action::UserLogin, Actor::user(&user), user_entity(&user.id()), None);
        Audit { security: vec![good_login(&user, address, entrance)], ..self.core.audit(vec![entry]) }
    }

    async fn compose(&self, found: Found) -> Result<Owner> {
        let patient = match found {
            Found::Account(account) => return Ok(Owner::Account(Box::new(account.into()))),
            Found::Patient(patient) => patient,
        };
        let body = self.core.health().patient(&patient.uuid).await?;
        let (profile, customer_code) = body.map(|body| (body.profile, body.customer_code)).unwrap_or_default();
        Ok(Owner::Patient(Box::new(PatientOwner::of(patient, profile, customer_code)?)))
    }
}

/// Returns what others know of a patient.
fn words_of_patient(patient: &Patient) -> Result<OwnWords> {
    let person = Person::from_json(&patient.person)?;
    Ok(words_of_person(&person, patient.email.as_deref(), &patient.voucher_code))
}

/// Returns what others know of somebody with a voucher.
pub(crate) fn words_of_person(person: &Person, email: Option<&str>, voucher_code: &VoucherCode) -> OwnWords {
    OwnWords::of([email, person.first_name.as_deref(), person.last_name.as_deref(), Some(voucher_code.as_str())])
}

/// Returns what others know of an account's owner.
pub(crate) fn words_of_account(account: &Account) -> OwnWords {
    OwnWords::of([Some(account.email.as_str()), account.first_name.as_deref(), account.last_name.as_deref()])
}

fn not_confirmed() -> PlatformError {
    PlatformError::Conflict { code: "patient_not_confirmed", message: "the patient is not confirmed" }
}

/// Returns a voucher code as it is stored: people type small letters and blanks.
pub(crate) fn clean_voucher(code: &str) -> String {
    code.trim().to_uppercase()
}
