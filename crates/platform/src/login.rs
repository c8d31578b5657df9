//! Logins on the Users Cloud: by e-mail or by voucher code, for patients and for accounts.
//!
//! An unknown name and a wrong password answer the same after the same work.

use store::{Account, HealthChange, Intent, Patient, Profile};

use crate::access::Researcher;
use crate::audit::{Action, user_entity};
use crate::enrolment::clean_voucher;
use crate::environment::Platform;
use crate::error::{PlatformError, Result};
use crate::profile::Person;
use crate::tokens::Issued;

/// What one logs in with beside the password.
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

/// Who has logged in.
#[derive(Clone)]
pub enum Owner {
    /// A patient.
    Patient(Box<PatientOwner>),
    /// A researcher, a practitioner or an administrator.
    Account(Box<Account>),
}

/// A patient who has logged in, composed of both databases.
#[derive(Clone)]
pub struct PatientOwner {
    /// His row.
    pub patient: Patient,
    /// His names and so on.
    pub person: Person,
    /// His body.
    pub profile: Profile,
    /// Five capitals of the group that he was enrolled in.
    pub customer_code: Option<String>,
}

/// What a login on the Users Cloud answers.
#[derive(Clone)]
pub struct UsersLogin {
    /// The token.
    pub issued: Issued,
    /// Who has logged in.
    pub owner: Owner,
}

/// Whom a name stands for.
enum Found {
    Patient(Patient),
    Account(Account),
}

impl Found {
    fn uuid(&self) -> &str {
        match self {
            Found::Patient(patient) => &patient.uuid,
            Found::Account(account) => &account.uuid,
        }
    }

    fn role(&self) -> &str {
        match self {
            Found::Patient(_) => "patient",
            Found::Account(account) => &account.role,
        }
    }

    /// The hash that the password has to fit; none for someone who cannot log in.
    fn password_hash(&self) -> Option<String> {
        match self {
            Found::Patient(patient) => patient.password_hash.clone(),
            Found::Account(account) => account.disabled_ms.is_none().then(|| account.password_hash.clone()),
        }
    }
}

impl Platform {
    /// Logs in. `address` is where the call comes from.
    pub async fn login(&self, credentials: Credentials, address: &str) -> Result<UsersLogin> {
        let name = match &credentials.name {
            LoginName::Email(email) => email.trim().to_lowercase(),
            LoginName::Code(code) => clean_voucher(code),
        };
        self.check_backoff(&name, address)?;
        let found = match credentials.name {
            LoginName::Email(_) => self.find_by_email(&name).await?,
            LoginName::Code(_) => self.users.patient_by_voucher(&name).await?.map(Found::Patient),
        };
        let hash = found.as_ref().and_then(Found::password_hash);
        let fits = self.password_fits(&credentials.password, hash).await?;
        let Some(found) = found.filter(|_| fits) else {
            self.memory.backoff.failed(&name, address, self.now_ms());
            return Err(PlatformError::Unauthenticated("the credentials are not valid"));
        };
        self.memory.backoff.succeeded(&name, address);
        self.start_login(found).await
    }

    /// The login of a patient who has just used his voucher.
    pub async fn login_activated(&self, patient: Patient) -> Result<UsersLogin> {
        self.start_login(Found::Patient(patient)).await
    }

    /// Who calls the Users Cloud, as a login tells it.
    pub async fn owner(&self, uuid: &str) -> Result<Owner> {
        if let Some(patient) = self.users.patient(uuid).await? {
            return self.compose(Found::Patient(patient)).await;
        }
        let account = self.users.account(uuid).await?.ok_or(PlatformError::NotFound("user"))?;
        self.compose(Found::Account(account)).await
    }

    /// Gives a confirmed patient a password that staff chose, which ends his tokens on both clouds.
    pub async fn reset_password(&self, researcher: &Researcher, patient: &str, password: &str) -> Result<()> {
        let access = self.patient_access(researcher, patient).await?;
        researcher.require_manager()?;
        if access.state != "confirmed" {
            return Err(not_confirmed());
        }
        let password_hash = self.hash_new_password(password).await?;
        let now_ms = self.now_ms();
        let intent = Intent {
            id: self.new_record_id(),
            change: HealthChange::EndSessionsOfPatient { uuid: patient.to_owned(), at_ms: now_ms },
            entries: Vec::new(),
            created_ms: now_ms,
        };
        if !self.users.set_patient_password(patient, &password_hash, true, now_ms, intent.clone()).await? {
            return Err(not_confirmed());
        }
        self.finish(intent).await
    }

    /// Too many when this name has been tried too often from this address.
    pub(crate) fn check_backoff(&self, name: &str, address: &str) -> Result<()> {
        match self.memory.backoff.wait_s(name, address, self.now_ms()) {
            Some(retry_after_s) => Err(PlatformError::TooMany { retry_after_s }),
            None => Ok(()),
        }
    }

    async fn find_by_email(&self, email: &str) -> Result<Option<Found>> {
        if let Some(patient) = self.users.patient_by_email(email).await? {
            return Ok(Some(Found::Patient(patient)));
        }
        Ok(self.users.account_by_email(email).await?.map(Found::Account))
    }

    async fn start_login(&self, found: Found) -> Result<UsersLogin> {
        let (uuid, role) = (found.uuid(), found.role());
        let entry = self.entry_by(Action::UserLogin, uuid, role, user_entity(uuid), None);
        let issued = self.start_users_session(uuid, role, entry).await?;
        Ok(UsersLogin { issued, owner: self.compose(found).await? })
    }

    async fn compose(&self, found: Found) -> Result<Owner> {
        let patient = match found {
            Found::Account(account) => return Ok(Owner::Account(Box::new(account))),
            Found::Patient(patient) => patient,
        };
        let body = self.health.patient(&patient.uuid).await?;
        let (profile, customer_code) = body.map(|body| (body.profile, body.customer_code)).unwrap_or_default();
        let person = Person::from_json(&patient.person)?;
        Ok(Owner::Patient(Box::new(PatientOwner { patient, person, profile, customer_code })))
    }
}

fn not_confirmed() -> PlatformError {
    PlatformError::Conflict { code: "patient_not_confirmed", message: "the patient is not confirmed" }
}
