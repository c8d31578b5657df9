//! A study with a researcher, and what the tests ask of it.

use std::fmt::Debug;

use futures::TryStreamExt;
use store::{FailureMoment, GroupCode, PatientId, Profile, Role, StoreError};

use crate::core::access::Researcher;
use crate::core::audit::Action;
use crate::core::error::{PlatformError, Result};
use crate::core::person::Person;
use crate::core::settings::Settings;
use crate::identity::accounts::{NewAccount, NewApiKey, SubscriptionStart};
use crate::people::profile::ProfileChange;
use crate::test_service::{NOON_MS, Service};
use crate::upkeep::jobs;

/// Older than what the delivery of messages leaves to operations that are under way.
const LEFT_FOR_MS: i64 = 60_000;

pub(super) struct Study {
    pub service: Service,
    pub researcher: Researcher,
    pub group: GroupCode,
}

impl Study {
    pub async fn begin() -> Self {
        Self::with(Settings::default()).await
    }

    /// With other settings.
    pub async fn with(settings: Settings) -> Self {
        let service = Service::with(settings).await;
        let identity = &service.platform.identity;
        let account = NewAccount {
            email: "ada@example.org".to_owned(),
            role: Role::Researcher,
            first_name: None,
            last_name: None,
            password: Some("correct horse battery".to_owned()),
            subscription: SubscriptionStart::Active,
        };
        let (account, _) = identity.create_account(account).await.unwrap();
        let (_, key) = identity.create_api_key(&account, NewApiKey::default()).await.unwrap();
        let researcher = identity.researcher(&key).await.unwrap();
        let group = service.platform.people.create_group(&researcher, "Study", "").await.unwrap().code;
        Study { service, researcher, group }
    }

    /// Returns a patient whose enrolment is complete.
    pub async fn patient(&self) -> PatientId {
        self.service.platform.people.enrol_patient(&self.researcher, &self.group).await.unwrap().uuid
    }

    /// Returns the patients of the study, as the users database knows them.
    pub async fn patients(&self) -> Vec<PatientId> {
        self.service.platform.core.readable_members(&self.researcher, &self.group).await.unwrap().into_uuids()
    }

    /// Sets the weight of a patient.
    pub async fn weigh(&self, patient: &PatientId, weight_kg: f64) -> Result<()> {
        let change = ProfileChange {
            person: Person { first_name: Some(format!("Grace {weight_kg}")), ..Person::default() },
            profile: Profile { weight: Some(weight_kg), ..Profile::default() },
            ..ProfileChange::default()
        };
        self.service.platform.people.change_profile(&self.researcher, patient, change).await.map(drop)
    }

    /// Returns the weight that the health database knows.
    pub async fn weight_kg(&self, patient: &PatientId) -> Option<f64> {
        self.service.platform.core.health().patient(patient).await.unwrap()?.profile.weight
    }

    /// Returns the first name that the users database knows.
    pub async fn first_name(&self, patient: &PatientId) -> Option<String> {
        let found = self.service.platform.core.users().patient(patient).await.unwrap()?;
        Person::from_json(&found.person).unwrap().first_name
    }

    /// Returns how many entries of an action the audit log has; its chain has to be whole.
    pub async fn entries(&self, action: &str) -> usize {
        let people = &self.service.platform.people;
        let action = Some(Action::of_code(action).expect("an action code"));
        let pages = people.audit_log(&self.researcher, 0, i64::MAX, action).await.unwrap();
        let (_, broken_at) = self.service.platform.core.users().verify_audit().await.unwrap();
        assert_eq!(broken_at, None, "the chain of the audit log");
        pages.try_concat().await.unwrap().len()
    }

    /// Lets the next operation of the users database with this name fail.
    pub fn break_users(&self, operation: &str, moment: FailureMoment) {
        self.service.platform.core.users().plan_failure(operation, moment);
    }

    /// Lets the next operation of the health database with this name fail.
    pub fn break_health(&self, operation: &str, moment: FailureMoment) {
        self.service.platform.core.health().plan_failure(operation, moment);
    }

    /// Everything that was to fail has failed: otherwise a name is wrong and a test shows nothing.
    pub fn assert_all_failed(&self) {
        let core = &self.service.platform.core;
        assert_eq!((core.users().failures_to_come(), core.health().failures_to_come()), (vec![], vec![]));
    }

    /// The request failed because a store was away, which a client learns is passing, and by nothing else.
    pub fn assert_unavailable<T: Debug>(&self, answer: Result<T>) {
        match answer {
            Err(PlatformError::Store(StoreError::Unavailable(_))) => {}
            other => panic!("{other:?}"),
        }
        self.assert_all_failed();
    }

    /// Runs the job that delivers what was left; returns how many of its runs failed.
    pub async fn deliver_left(&self) -> u64 {
        self.service.pass_ms(LEFT_FOR_MS);
        self.drain(&["deliver_messages"]).await;
        self.failing("deliver_messages").await
    }

    /// Runs what is due of some kinds of jobs; returns how many runs ended.
    pub async fn drain(&self, kinds: &[&str]) -> usize {
        jobs::drain(&self.service.platform.upkeep, kinds).await.unwrap()
    }

    /// Returns how many subjects of a kind of jobs have failed and wait to be tried again.
    pub async fn failing(&self, kind: &str) -> u64 {
        let failing = self.service.platform.upkeep.failing_jobs().await.unwrap();
        failing.iter().filter(|jobs| jobs.kind == kind).map(|jobs| jobs.failing).sum()
    }

    /// Messages that are still to be delivered to either database.
    pub async fn undelivered(&self) -> usize {
        let core = &self.service.platform.core;
        let until_ms = NOON_MS + 365 * 86_400_000;
        let changes = core.users().events().undelivered(until_ms, None).await.unwrap();
        let entries = core.health().events().undelivered(until_ms, None).await.unwrap();
        changes.len() + entries.len()
    }
}
