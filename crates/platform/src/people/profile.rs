//! What is known of a person: names for the users database, their body for the health database; and how it is changed.

use boxed_futures::boxed_futures;
use jiff::civil::Date;
use serde_json::json;
use store::{
    BodyAttribute, HealthChange, HealthMessage, NewAuditEntry, PatientId, PersonChange, Profile, StoreError, User,
};

use crate::core::access::Researcher;
use crate::core::audit::{Action, hcp_admin_entity, patient_entity};
use crate::core::change::Change;
use crate::core::checks::{clean_email, named, note};
use crate::core::error::{FieldFaults, PlatformError, Result};
use crate::core::person::Person;
use crate::identity::accounts::email_taken;
use crate::identity::owner::Owner;
use crate::identity::tokens::UsersCaller;
use crate::people::People;
use crate::people::patients::PatientRow;

/// Number of times that a change is tried again that meets another.
const TRIES: usize = 5;

/// How staff files a patient; an empty text takes away as null does.
#[derive(Clone, Default)]
pub struct PatientChange {
    /// Identifier in the customer's own system.
    pub external_patient_id: Change<String>,
    /// Study code, five characters.
    pub customer_tag: Change<String>,
    /// IANA name.
    pub time_zone: Change<String>,
    /// Fields that could not be read; they are refused together with those whose values are not valid.
    pub unreadable: FieldFaults,
}

/// Attributes of a person to change; what is absent stays as it is, an empty text takes away, as `removed` does of what is
/// no text.
#[derive(Clone, Default)]
pub struct ProfileChange {
    /// Names and so on.
    pub person: Person,
    /// Address to log in with.
    pub email: Option<String>,
    /// Their body.
    pub profile: Profile,
    /// Attributes that are taken away and are no texts.
    pub removed: Vec<Removable>,
    /// The present password, which those who change their own e-mail have to show.
    pub password: Option<String>,
    /// Fields that could not be read; they are refused together with those whose values are not valid.
    pub unreadable: FieldFaults,
}

/// An attribute that is no text, so that an empty text cannot take it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removable {
    /// The address to log in with; the voucher code stays to log in with.
    Email,
    /// Whether the terms of use were agreed to.
    Agreement,
    /// An attribute of the body.
    Body(BodyAttribute),
}

impl Removable {
    fn of_body(self) -> Option<BodyAttribute> {
        match self {
            Removable::Body(attribute) => Some(attribute),
            Removable::Email | Removable::Agreement => None,
        }
    }

    fn field(self) -> &'static str {
        match self {
            Removable::Email => "email",
            Removable::Agreement => "agreement_to_terms_of_use",
            Removable::Body(BodyAttribute::Birthday) => "birthday",
            Removable::Body(BodyAttribute::Gender) => "gender",
            Removable::Body(BodyAttribute::Height) => "height",
            Removable::Body(BodyAttribute::Weight) => "weight",
            Removable::Body(BodyAttribute::SkinColor) => "skin_color",
            Removable::Body(BodyAttribute::HairDensity) => "hair_density",
            Removable::Body(BodyAttribute::TimeZone) => "time_zone",
        }
    }
}

impl ProfileChange {
    /// Returns the names of the attributes that are named.
    fn fields(&self) -> Vec<&'static str> {
        let profile = &self.profile;
        let more = [
            ("email", self.email.is_some()),
            ("birthday", profile.birthday.is_some()),
            ("gender", profile.gender.is_some()),
            ("height", profile.height.is_some()),
            ("weight", profile.weight.is_some()),
            ("skin_color", profile.skin_color.is_some()),
            ("hair_density", profile.hair_density.is_some()),
            ("time_zone", profile.time_zone.is_some()),
        ];
        let mut fields = self.person.fields();
        fields.extend(more.into_iter().filter(|(_, is_set)| *is_set).map(|(field, _)| field));
        fields.extend(self.removed.iter().map(|attribute| attribute.field()));
        fields
    }

    /// Returns whether no attribute is named. An unreadable one is named all the same.
    fn is_empty(&self) -> bool {
        self.fields().is_empty() && self.unreadable.is_empty()
    }
}

#[boxed_futures]
impl People {
    /// Files a patient otherwise; returns the patient after the change.
    pub async fn change_patient(
        &self,
        researcher: &Researcher,
        uuid: &PatientId,
        change: PatientChange,
    ) -> Result<PatientRow> {
        let readable = self.core.managed_patient(researcher, uuid).await?;
        let change = ProfileChange {
            person: Person {
                external_patient_id: change.external_patient_id.text(),
                customer_tag: change.customer_tag.text(),
                ..Person::default()
            },
            removed: match change.time_zone {
                Change::Removed => vec![Removable::Body(BodyAttribute::TimeZone)],
                _ => Vec::new(),
            },
            profile: Profile { time_zone: change.time_zone.set(), ..Profile::default() },
            unreadable: change.unreadable,
            ..ProfileChange::default()
        };
        let entry = self.core.entry(Action::PatientUpdate, researcher, patient_entity(uuid), None);
        self.write_profile(uuid, change, entry, "external_patient_id").await?;
        self.patient_row(&readable).await
    }

    /// Changes person and body of a patient; returns the patient after the change.
    pub async fn change_profile(
        &self,
        researcher: &Researcher,
        uuid: &PatientId,
        change: ProfileChange,
    ) -> Result<PatientRow> {
        let readable = self.core.managed_patient(researcher, uuid).await?;
        let secondary = Some(hcp_admin_entity(&researcher.account));
        let entry = self.core.entry(Action::PatientProfileUpdate, researcher, patient_entity(uuid), secondary);
        self.write_profile(uuid, change, entry, "first_name").await?;
        self.patient_row(&readable).await
    }

    /// Changes the caller's own attributes; an account has only names. Another e-mail needs the present password: anyone who
    /// logs in with it next is the caller. `address` is where the call comes from. Returns the patient or account after
    /// the change.
    pub async fn change_self(&self, caller: &UsersCaller, change: ProfileChange, address: &str) -> Result<Owner> {
        let account = match &caller.user {
            User::Account(account, _) => account,
            User::Patient(patient) => {
                self.check_own_change(caller, &change, address).await?;
                let primary = patient_entity(patient);
                let entry = self.core.entry_by(Action::PatientProfileUpdate, caller.actor(), primary, None);
                self.write_profile(patient, change, entry, "first_name").await?;
                return self.identity.owner(caller).await;
            }
        };
        let mut errors = change.unreadable.clone();
        change.person.check(&mut errors);
        for field in change.fields().into_iter().filter(|field| !["first_name", "last_name"].contains(field)) {
            note(&mut errors, field, "is an attribute of patients only");
        }
        if change.is_empty() {
            note(&mut errors, "first_name", "or another attribute is required");
        }
        if !errors.is_empty() {
            return Err(PlatformError::Invalid(errors));
        }
        let Person { first_name, last_name, .. } = change.person;
        // Blanks alone are no name: a person of a study loses theirs in the same way.
        let given = |name: Option<String>| name.map(|name| named(name).unwrap_or_default());
        let (first_name, last_name) = (given(first_name), given(last_name));
        self.core.users().set_account_names(account, first_name, last_name, self.core.now_ms()).await?;
        self.identity.owner(caller).await
    }

    /// Checks what a patient changes of themselves, and the password where it is the e-mail.
    async fn check_own_change(&self, caller: &UsersCaller, change: &ProfileChange, address: &str) -> Result<()> {
        if change.email.is_none() && !change.removed.contains(&Removable::Email) {
            return Ok(());
        }
        // Everything that is wrong at once, and before the work of a password.
        let mut errors = match self.check_change(change, "first_name") {
            Err(PlatformError::Invalid(errors)) => errors,
            Err(error) => return Err(error),
            Ok(_) => FieldFaults::new(),
        };
        if change.password.is_none() && !errors.contains_key("password") {
            note(&mut errors, "password", "is required to change the e-mail: the present password");
        }
        match &change.password {
            Some(password) if errors.is_empty() => {
                self.identity.confirm_password(&caller.user, password, address).await.map(drop)
            }
            _ => Err(PlatformError::Invalid(errors)),
        }
    }

    /// Writes what is named, with an entry that names the attributes and not their values. `first` is the field that
    /// the error names when the change names none.
    async fn write_profile(
        &self,
        uuid: &PatientId,
        change: ProfileChange,
        mut entry: NewAuditEntry,
        first: &str,
    ) -> Result<()> {
        let email = self.check_change(&change, first)?;
        entry.details = Some(json!({ "fields": change.fields() }).to_string());
        for _ in 0..TRIES {
            let patient = self.core.users().patient(uuid).await?.ok_or(PlatformError::NotFound("patient"))?;
            let mut person = Person::from_json(&patient.person)?;
            person.take_over(&change.person);
            if change.removed.contains(&Removable::Agreement) {
                person.agreement_to_terms_of_use = None;
            }
            let now_ms = self.core.now_ms();
            let put = HealthChange::ChangePatient {
                uuid: uuid.clone(),
                record_id: patient.record_id,
                profile: spelled(change.profile.clone()),
                removed: change.removed.iter().filter_map(|removed| removed.of_body()).collect(),
                at_ms: now_ms,
            };
            let entries = vec![entry.clone()];
            let message = HealthMessage { id: self.core.new_message_id(), change: put, entries, created_ms: now_ms };
            let person = person.to_json()?;
            let written = PersonChange {
                uuid: uuid.clone(),
                email: email.clone(),
                removes_email: change.removed.contains(&Removable::Email),
                known: patient.person,
                person,
                now_ms,
            };
            match self.core.users().change_person(written, message).await {
                Ok(true) => {
                    self.core.deliver_changes_of(uuid).await?;
                    self.core.wake_derivations();
                    return Ok(());
                }
                // The attributes were changed meanwhile: what that change wrote stays where it is not named here.
                Ok(false) => {}
                Err(StoreError::Conflict(_)) => return Err(email_taken()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(PlatformError::Internal("a profile changes faster than it can be written".to_owned()))
    }

    /// Returns the e-mail of a valid change, as it is stored. Invalid with everything that is wrong at once.
    fn check_change(&self, change: &ProfileChange, first: &str) -> Result<Option<String>> {
        let mut errors = change.unreadable.clone();
        change.person.check(&mut errors);
        check_profile(&change.profile, self.today(), &mut errors);
        if change.is_empty() {
            note(&mut errors, first, "or another attribute is required");
        }
        let email = change.email.as_deref().map(clean_email).transpose();
        if let Err(PlatformError::Invalid(found)) = &email {
            errors.extend(found.clone());
        }
        if errors.is_empty() { email } else { Err(PlatformError::Invalid(errors)) }
    }

    /// Returns the date in UTC.
    pub(crate) fn today(&self) -> Date {
        vitals::zone::timestamp_of(self.core.now_ms() * 1000).to_zoned(jiff::tz::TimeZone::UTC).date()
    }
}

/// Returns a body with the name of its time zone as the tables spell it, which other programs know alone.
pub(crate) fn spelled(profile: Profile) -> Profile {
    let time_zone = profile.time_zone.as_deref().and_then(vitals::zone::known_zone).map(str::to_owned);
    Profile { time_zone, ..profile }
}

/// Notes what is not valid of a body, by field. `today` bounds the birthday.
pub(crate) fn check_profile(profile: &Profile, today: Date, errors: &mut FieldFaults) {
    if let Some(birthday) = &profile.birthday {
        match birthday.parse::<Date>() {
            // The parser also takes forms that are not YYYY-MM-DD; nobody alive was born before 1880.
            Ok(date) if birthday.len() == 10 && date <= today && date.year() >= 1880 => {}
            _ => note(errors, "birthday", "must be a date in the past, as YYYY-MM-DD"),
        }
    }
    if profile.height.is_some_and(|height_cm| !(20.0..=300.0).contains(&height_cm)) {
        note(errors, "height", "must be 20 to 300 cm");
    }
    if profile.weight.is_some_and(|weight_kg| !(0.2..=700.0).contains(&weight_kg)) {
        note(errors, "weight", "must be 0.2 to 700 kg");
    }
    if profile.skin_color.is_some_and(|fitzpatrick| !(1..=6).contains(&fitzpatrick)) {
        note(errors, "skin_color", "must be 1 to 6");
    }
    if profile.hair_density.is_some_and(|density| !(1..=4).contains(&density)) {
        note(errors, "hair_density", "must be 1 to 4");
    }
    if profile.time_zone.as_deref().is_some_and(|zone| vitals::zone::known_zone(zone).is_none()) {
        note(errors, "time_zone", "must be an IANA time zone such as Europe/Zurich");
    }
}
