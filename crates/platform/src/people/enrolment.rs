//! How people come into a study: a group, an anonymous patient with a voucher, and the patient who uses it.

use boxed_futures::boxed_futures;
use store::{
    Activation, Group, GroupCode, HcpCode, HealthChange, HealthMessage, Patient, PatientId, PatientState, Profile,
    RecordId, StoreError, User, VoucherCode,
};

use crate::core::access::Researcher;
use crate::core::audit::{Action, Actor, group_entity, patient_entity, user_entity};
use crate::core::checks::{clean_email, is_all_blank, named, note, refuse};
use crate::core::error::{FieldFaults, PlatformError, Result};
use crate::core::person::Person;
use crate::identity::accounts::email_taken;
use crate::identity::login::{Activated, clean_voucher, words_of_person};
use crate::identity::new_password::check_new_password;
use crate::identity::security::FailedVoucher;
use crate::people::People;
use crate::people::profile::{check_profile, spelled};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Number of times that codes are drawn again when one is taken.
const TRIES: usize = 5;
const LONGEST_NAME: usize = 200;
const LONGEST_DESCRIPTION: usize = 10_000;

/// An anonymous patient as created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolled {
    /// The patient.
    pub uuid: PatientId,
    /// Record identifier.
    pub record_id: RecordId,
    /// What the patient activates with.
    pub voucher_code: VoucherCode,
    /// `pre_created`.
    pub state: PatientState,
}

/// What is known of a voucher code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoucherCheck {
    /// The patient's state.
    pub state: PatientState,
    /// Time at which it was made, ms.
    pub created_ms: i64,
}

/// What a patient sends to use their voucher.
#[derive(Clone)]
pub struct NewActivation {
    /// Voucher code.
    pub code: VoucherCode,
    /// The password that they choose.
    pub password: String,
    /// Address to log in with.
    pub email: Option<String>,
    /// Their names and so on.
    pub person: Person,
    /// Their body.
    pub profile: Profile,
    /// Fields that could not be read; they are refused together with those whose values are not valid.
    pub unreadable: FieldFaults,
}

#[boxed_futures]
impl People {
    /// Returns the groups that the caller may act on, oldest first.
    pub async fn groups(&self, researcher: &Researcher) -> Result<Vec<Group>> {
        self.core.groups(researcher).await
    }

    /// Creates a group with the caller as its first member.
    pub async fn create_group(&self, researcher: &Researcher, name: &str, description: &str) -> Result<Group> {
        researcher.require_manager()?;
        if researcher.key_scoped {
            return Err(PlatformError::Forbidden("a key for named groups cannot create groups"));
        }
        refuse(group_faults(name, description))?;
        for _ in 0..TRIES {
            let code = self.core.new_group_code();
            let group = Group {
                id: self.core.new_group_id(),
                hcp_code: HcpCode::new(format!("HCP-{code}-{}", self.core.new_hcp_suffix())),
                code,
                name: name.to_owned(),
                description: description.to_owned(),
                created_ms: self.core.now_ms(),
            };
            let entry = self.core.entry(Action::GroupCreate, researcher, group_entity(&group.id), None);
            match self.core.users().add_group(group.clone(), &researcher.account, self.core.audit(vec![entry])).await {
                // The code is taken. Five capitals are enough for many studies and few enough to collide at times.
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => return Ok(group),
            }
        }
        Err(PlatformError::Internal("no free group code was found".to_owned()))
    }

    /// Adds an anonymous patient to a group.
    pub async fn enrol_patient(&self, researcher: &Researcher, group_code: &GroupCode) -> Result<Enrolled> {
        let group = self.core.managed_group(researcher, group_code).await?;
        for _ in 0..TRIES {
            let (patient, message) = self.new_patient(researcher, &group)?;
            let effective = self.effective_settings();
            match self.core.users().add_patient(patient.clone(), &group.code, message.clone(), effective).await {
                Err(StoreError::Conflict(_)) => continue,
                Err(error) => return Err(error.into()),
                // One who is refused would enrol somebody else, and nobody would know of the first.
                Ok(()) => self.core.deliver_or_leave(message).await?,
            }
            return Ok(Enrolled {
                uuid: patient.uuid,
                record_id: patient.record_id,
                voucher_code: patient.voucher_code,
                state: patient.state,
            });
        }
        Err(PlatformError::Internal("no free voucher code was found".to_owned()))
    }

    fn new_patient(&self, researcher: &Researcher, group: &Group) -> Result<(Patient, HealthMessage)> {
        let now_ms = self.core.now_ms();
        let person = Person { customer_tag: Some(group.code.to_string()), ..Person::default() };
        let patient = Patient {
            uuid: self.core.new_patient_id(),
            record_id: RecordId::new(self.core.new_record_id()),
            state: PatientState::PreCreated,
            voucher_code: self.core.new_voucher_code(),
            voucher_expires_ms: now_ms + self.core.settings().voucher_days * DAY_MS,
            email: None,
            password_hash: None,
            must_change_password: false,
            person: person.to_json()?,
            created_ms: now_ms,
            updated_ms: now_ms,
        };
        let entity = patient_entity(&patient.uuid);
        let entries = vec![
            self.core.entry(Action::PatientCreate, researcher, entity.clone(), None),
            self.core.entry(Action::PatientAttachGroup, researcher, entity, Some(group_entity(&group.id))),
        ];
        let change = HealthChange::PutPatient {
            uuid: patient.uuid.clone(),
            record_id: patient.record_id.clone(),
            customer_code: Some(group.code.clone()),
            profile: Profile::default(),
            at_ms: now_ms,
        };
        let message = HealthMessage { id: self.core.new_message_id(), change, entries, created_ms: now_ms };
        Ok((patient, message))
    }

    /// Returns what is known of a voucher code; `None` when there is none such, or the caller's key is for named groups
    /// and none of them holds its patient.
    pub async fn check_voucher(
        &self,
        researcher: &Researcher,
        voucher_code: &VoucherCode,
    ) -> Result<Option<VoucherCheck>> {
        let mut patient =
            self.core.users().patient_by_voucher(&VoucherCode::new(clean_voucher(voucher_code.as_str()))).await?;
        // A key for named groups must not find out which codes there are elsewhere.
        if researcher.key_scoped
            && let Some(found) = &patient
        {
            let access =
                self.core.users().patient_access(&found.uuid, &researcher.account, researcher.key_id.as_ref()).await?;
            patient = patient.filter(|_| access.is_some_and(|access| access.allowed));
        }
        Ok(patient.map(|patient| VoucherCheck { state: patient.state, created_ms: patient.created_ms }))
    }

    /// Makes the patient of a voucher a confirmed one. Returns the right to log in once without the password that was just
    /// chosen. `address` is where the call comes from, for the brake on guessing codes.
    pub async fn activate(&self, new: NewActivation, address: &str) -> Result<Activated> {
        let code = clean_voucher(new.code.as_str());
        // A voucher is short enough to be guessed, and opens an account.
        self.identity.check_backoff(&code, address)?;
        let email = self.check_activation(&new)?;
        let Some(mut patient) = self.core.users().patient_by_voucher(&VoucherCode::new(code.as_str())).await? else {
            self.identity.note_failed_guess(&code, address);
            self.identity.note_failed_activation(FailedVoucher::Unknown(&code), address).await;
            return Err(PlatformError::NotFound("voucher"));
        };
        for _ in 0..TRIES {
            self.check_usable(&patient, address).await?;
            let (activation, message) = self.activation_of(&new, email.clone(), &patient).await?;
            match self.core.users().activate_patient(activation, message.clone()).await {
                Ok(true) => {
                    // The voucher is used up: one who is refused could not try again.
                    self.core.deliver_or_leave(message).await?;
                    let confirmed = self.core.users().patient(&patient.uuid).await?;
                    return confirmed.map(Activated::by_voucher).ok_or(PlatformError::NotFound("patient"));
                }
                // Another activation of the voucher was first, or staff has filed the patient otherwise: what they wrote
                // stays where the patient says nothing.
                Ok(false) => {}
                Err(StoreError::Conflict(_)) => return Err(email_taken()),
                Err(error) => return Err(error.into()),
            }
            patient = self.core.users().patient(&patient.uuid).await?.ok_or(PlatformError::NotFound("voucher"))?;
        }
        Err(PlatformError::Internal("a patient changes faster than they can be activated".to_owned()))
    }

    /// A conflict when a voucher is used or has expired.
    async fn check_usable(&self, patient: &Patient, address: &str) -> Result<()> {
        // Used before expired: the one who has used it should hear that, and not that it was too late.
        if patient.state != PatientState::PreCreated {
            return Err(self.voucher_used(&patient.uuid, address).await);
        }
        if self.core.now_ms() >= patient.voucher_expires_ms {
            let failed = FailedVoucher::Of { patient: &patient.uuid, reason: "expired" };
            self.identity.note_failed_activation(failed, address).await;
            return Err(PlatformError::Conflict { code: "voucher_expired", message: "the voucher has expired" });
        }
        Ok(())
    }

    /// Returns what makes a patient a confirmed one, and what the health database is to learn of it.
    async fn activation_of(
        &self,
        new: &NewActivation,
        email: Option<String>,
        patient: &Patient,
    ) -> Result<(Activation, HealthMessage)> {
        let now_ms = self.core.now_ms();
        // What staff has entered before stays where the patient says nothing: an app sends fields that were left blank.
        let said = |text: &Option<String>| text.clone().and_then(named);
        let known = Person::from_json(&patient.person)?;
        let person = Person {
            first_name: said(&new.person.first_name).or(known.first_name),
            last_name: said(&new.person.last_name).or(known.last_name),
            country: said(&new.person.country).or(known.country),
            external_patient_id: known.external_patient_id,
            customer_tag: known.customer_tag,
            agreement_to_terms_of_use: new.person.agreement_to_terms_of_use,
        };
        // With what staff has entered, which the check of what was sent did not know.
        let own = words_of_person(&person, email.as_deref().or(patient.email.as_deref()), &patient.voucher_code);
        let activation = Activation {
            uuid: patient.uuid.clone(),
            email,
            password_hash: self.identity.hash_new_password("password", &new.password, &own).await?,
            known: patient.person.clone(),
            person: person.to_json()?,
            now_ms,
        };
        let change = HealthChange::PutPatient {
            uuid: patient.uuid.clone(),
            record_id: patient.record_id.clone(),
            customer_code: None,
            profile: spelled(new.profile.clone()),
            at_ms: now_ms,
        };
        let user = User::Patient(patient.uuid.clone());
        let entity = user_entity(&user.id());
        let registered = self.core.entry_by(Action::UserRegistered, Actor::user(&user), entity, None);
        let id = self.core.new_message_id();
        Ok((activation, HealthMessage { id, change, entries: vec![registered], created_ms: now_ms }))
    }

    /// Notes that a voucher was used before, and returns the error of it.
    async fn voucher_used(&self, patient: &PatientId, address: &str) -> PlatformError {
        self.identity.note_failed_activation(FailedVoucher::Of { patient, reason: "used" }, address).await;
        PlatformError::Conflict { code: "voucher_used", message: "the voucher has been used" }
    }

    /// Returns the e-mail of a valid activation, as it is stored. Invalid with everything that is wrong at once.
    fn check_activation(&self, new: &NewActivation) -> Result<Option<String>> {
        let mut errors = FieldFaults::new();
        new.person.check(&mut errors);
        check_profile(&new.profile, self.today(), &mut errors);
        let email = new.email.as_deref().map(clean_email).transpose();
        let own = words_of_person(&new.person, new.email.as_deref(), &new.code);
        for error in [email.as_ref().err(), check_new_password("password", &new.password, &own).as_ref().err()]
            .into_iter()
            .flatten()
        {
            if let PlatformError::Invalid(found) = error {
                errors.extend(found.clone());
            }
        }
        // Last, so that a password that is missing or no text is not called too short.
        errors.extend(new.unreadable.clone());
        if !errors.is_empty() {
            return Err(PlatformError::Invalid(errors));
        }
        email
    }
}

/// Returns everything that is wrong of the texts of a group.
pub fn group_faults(name: &str, description: &str) -> FieldFaults {
    let mut errors = FieldFaults::new();
    if is_all_blank(name) {
        note(&mut errors, "name", "must not be empty");
    }
    if name.chars().count() > LONGEST_NAME {
        note(&mut errors, "name", "must have at most 200 characters");
    }
    if description.chars().count() > LONGEST_DESCRIPTION {
        note(&mut errors, "description", "must have at most 10000 characters");
    }
    errors
}
