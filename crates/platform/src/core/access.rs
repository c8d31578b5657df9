//! Who may do what: from an account to a group or a patient, and the right to read that follows ([`Readable`]).
//!
//! What is not known answers "not found"; what is known but not the caller's answers "forbidden".

use std::collections::BTreeSet;

use boxed_futures::boxed_futures;
use store::{AccountId, ApiKeyId, Claim, ExportJob, Group, GroupCode, PatientAccess, PatientId, Role};

use crate::core::Core;
use crate::core::error::{PlatformError, Result};

/// What a token's scope has to contain for its patient's data to be read.
pub(crate) const READ_SCOPE: &str = "patient.read";

/// Message about a token that does not allow what it was brought for.
pub const SCOPE_MISSING: &str = "the token does not have the scope for this";

/// How a caller of the integration API came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// With an API key.
    Key,
    /// From a page of the portal.
    Portal,
}

/// Who calls the integration API. Only a valid key or session makes it: all checks of access ask it which account calls.
///
/// ```
/// use platform::Researcher;
/// use store::AccountId;
///
/// fn account(researcher: &Researcher) -> &AccountId {
///     researcher.account()
/// }
/// ```
///
/// ```compile_fail
/// use platform::Researcher;
/// use store::AccountId;
///
/// fn as_another(researcher: Researcher, account: AccountId) -> Researcher {
///     Researcher { account, ..researcher }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Researcher {
    /// The account.
    pub(crate) account: AccountId,
    /// What the account may do.
    pub(crate) role: Role,
    /// How the caller came in.
    pub(crate) entrance: Entrance,
    /// The key that was used; absent for a page of the portal.
    pub(crate) key_id: Option<ApiKeyId>,
    /// When the key ends by itself, ms.
    pub(crate) key_expires_ms: Option<i64>,
    /// Whether the key acts on named groups only.
    pub(crate) key_scoped: bool,
    /// Until when the subscription is active, ms.
    pub(crate) subscription_until_ms: Option<i64>,
    /// Whether the session is of a display that only shows, which anyone can read who walks past it.
    pub(crate) view_only: bool,
}

impl Researcher {
    /// Returns the account.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// Returns whether the caller may see codes of vouchers: who has one can activate it.
    pub fn sees_vouchers(&self) -> bool {
        !self.view_only && self.require_manager().is_ok()
    }

    /// Forbidden for a healthcare practitioner, who reads but does not manage.
    pub fn require_manager(&self) -> Result<()> {
        match self.role {
            Role::Researcher | Role::Admin => Ok(()),
            Role::Hcp => Err(PlatformError::Forbidden("a healthcare practitioner may not do this")),
        }
    }

    /// Forbidden without an active subscription.
    pub fn require_subscription(&self, now_ms: i64) -> Result<()> {
        match self.subscription_until_ms {
            Some(until_ms) if now_ms < until_ms => Ok(()),
            _ => Err(PlatformError::Forbidden("there is no active subscription")),
        }
    }
}

/// The right to read the data of a patient, or of several: what the compiler demands of everything that reads them.
///
/// Only this module makes it, each time from a check of access; it cannot be copied, and says nothing of writing. It is for
/// the call at hand: an answer may be streamed with it, but nothing keeps it beyond that.
///
/// It is read with:
///
/// ```
/// use platform::{Data, Readable, samples::Range};
/// use store::PatientId;
/// use vitals::registry::DataType;
///
/// async fn read(data: &Data, patient: &Readable<PatientId>, range: Range) {
///     let _ = data.samples(patient, DataType::Activity, range).await;
/// }
/// ```
///
/// and not with a bare identifier:
///
/// ```compile_fail
/// use platform::{Data, Readable, samples::Range};
/// use store::PatientId;
/// use vitals::registry::DataType;
///
/// async fn read(data: &Data, patient: &PatientId, range: Range) {
///     let _ = data.samples(patient, DataType::Activity, range).await;
/// }
/// ```
///
/// The same holds for several patients:
///
/// ```
/// use platform::{Data, DayParts, Readable};
/// use store::PatientId;
/// use vitals::zone::LocalDay;
///
/// async fn read(data: &Data, patients: Readable<Vec<PatientId>>, day: LocalDay) {
///     let _ = data.days_of_patients(patients, day, DayParts::default()).await;
/// }
/// ```
///
/// ```compile_fail
/// use platform::{Data, DayParts, Readable};
/// use store::PatientId;
/// use vitals::zone::LocalDay;
///
/// async fn read(data: &Data, patients: Vec<PatientId>, day: LocalDay) {
///     let _ = data.days_of_patients(patients, day, DayParts::default()).await;
/// }
/// ```
///
/// It can be passed on, and not made by hand:
///
/// ```
/// use platform::Readable;
/// use store::PatientId;
///
/// fn pass(patient: Readable<PatientId>) -> Readable<PatientId> {
///     patient
/// }
/// ```
///
/// ```compile_fail
/// use platform::Readable;
/// use store::PatientId;
///
/// fn pass(patient: PatientId) -> Readable<PatientId> {
///     Readable(patient)
/// }
/// ```
///
/// An identifier can be cloned, the right cannot:
///
/// ```
/// use platform::Readable;
/// use store::PatientId;
///
/// fn twice(patient: &Readable<PatientId>) -> [PatientId; 2] {
///     [patient.uuid().clone(), patient.uuid().clone()]
/// }
/// ```
///
/// ```compile_fail
/// use platform::Readable;
/// use store::PatientId;
///
/// fn twice(patient: &Readable<PatientId>) -> [Readable<PatientId>; 2] {
///     [patient.clone(), patient.clone()]
/// }
/// ```
///
/// There is none by default, not even of nobody:
///
/// ```
/// use platform::Readable;
/// use store::PatientId;
///
/// fn nobody(_: Readable<Vec<PatientId>>) -> Vec<PatientId> {
///     Default::default()
/// }
/// ```
///
/// ```compile_fail
/// use platform::Readable;
/// use store::PatientId;
///
/// fn nobody(_: Readable<Vec<PatientId>>) -> Readable<Vec<PatientId>> {
///     Default::default()
/// }
/// ```
///
/// And no request can bring one along:
///
/// ```
/// use platform::Readable;
/// use store::PatientId;
///
/// fn brought(_: Readable<PatientId>, json: &str) -> serde_json::Result<PatientId> {
///     serde_json::from_str(json)
/// }
/// ```
///
/// ```compile_fail
/// use platform::Readable;
/// use store::PatientId;
///
/// fn brought(_: Readable<PatientId>, json: &str) -> serde_json::Result<Readable<PatientId>> {
///     serde_json::from_str(json)
/// }
/// ```
#[derive(Debug)]
pub struct Readable<Whose>(Whose);

impl Readable<PatientId> {
    /// The patient.
    pub fn uuid(&self) -> &PatientId {
        &self.0
    }

    /// The patient of a token whose session the gate of the Health Cloud has found to be valid. Forbidden unless its
    /// scope allows reading.
    pub(crate) fn by_scope(patient: &PatientId, scope: &str) -> Result<Self> {
        require_scope(scope, READ_SCOPE)?;
        Ok(Readable(patient.clone()))
    }

    /// The patient of an export that is being written, by right of the account that asked for it: access was checked
    /// then, and is checked again before the archive is handed out.
    pub(crate) fn for_export(job: &ExportJob) -> Self {
        Readable(job.patient.clone())
    }

    /// The patient of a claim, by right of the service: what it derives is stored and shown to nobody here.
    pub(crate) fn for_derivation(claim: &Claim) -> Self {
        Readable(claim.patient.clone())
    }
}

impl Readable<Vec<PatientId>> {
    /// The patients, in their order.
    pub fn uuids(&self) -> &[PatientId] {
        &self.0
    }

    /// Gives the right up for the patients alone.
    pub(crate) fn into_uuids(self) -> Vec<PatientId> {
        self.0
    }

    /// The same right in parts of at most so many patients, in their order.
    #[must_use]
    pub fn into_parts(self, at_once: usize) -> Vec<Self> {
        let mut rest = self.0.into_iter();
        let next = || {
            let part: Vec<PatientId> = rest.by_ref().take(at_once.max(1)).collect();
            (!part.is_empty()).then_some(Readable(part))
        };
        std::iter::from_fn(next).collect()
    }

    /// Patients of studies whose boards are listened to, by right of the listeners: each showed access to the study when
    /// it began to listen.
    pub(crate) fn for_board_listeners(uuids: Vec<PatientId>) -> Self {
        Readable(uuids)
    }

    /// Any patients, for tests of what reads them.
    #[cfg(test)]
    pub(crate) fn for_test(uuids: &[PatientId]) -> Self {
        Readable(uuids.to_vec())
    }
}

/// Forbidden unless a scope, words with blanks between, contains what is wanted.
pub(crate) fn require_scope(scope: &str, wanted: &str) -> Result<()> {
    if scope.split(' ').any(|word| word == wanted) {
        return Ok(());
    }
    Err(PlatformError::Forbidden(SCOPE_MISSING))
}

#[boxed_futures]
impl Core {
    /// The group, when the caller may act on it.
    pub async fn group_access(&self, researcher: &Researcher, code: &GroupCode) -> Result<Group> {
        // One statement distinguishes unknown (404) from forbidden (403), and takes the groups of the key into account.
        let found = self.users().group_access(code, &researcher.account, researcher.key_id.as_ref()).await?;
        let found = found.ok_or(PlatformError::NotFound("group"))?;
        if !found.allowed {
            return Err(PlatformError::Forbidden("the caller has no access to this group"));
        }
        Ok(found.group)
    }

    /// The group, when the caller may act on it and manages it: a practitioner only reads.
    pub async fn managed_group(&self, researcher: &Researcher, code: &GroupCode) -> Result<Group> {
        let group = self.group_access(researcher, code).await?;
        researcher.require_manager()?;
        Ok(group)
    }

    /// The patients of a group, in the order in which they joined, when the caller may act on it.
    pub async fn readable_members(
        &self,
        researcher: &Researcher,
        code: &GroupCode,
    ) -> Result<Readable<Vec<PatientId>>> {
        let group = self.group_access(researcher, code).await?;
        // All patients of a group share the right to it, so one check covers all of them.
        Ok(Readable(self.users().uuids_of(&group.code).await?))
    }

    /// The patients of all groups that the caller may act on, each once.
    pub(crate) async fn readable_patients(&self, researcher: &Researcher) -> Result<Readable<Vec<PatientId>>> {
        let mut patients = BTreeSet::new();
        for group in self.groups(researcher).await? {
            patients.extend(self.users().uuids_of(&group.code).await?);
        }
        Ok(Readable(patients.into_iter().collect()))
    }

    /// The groups that the caller may act on, oldest first.
    pub(crate) async fn groups(&self, researcher: &Researcher) -> Result<Vec<Group>> {
        let scoped_key = researcher.key_id.as_ref().filter(|_| researcher.key_scoped);
        Ok(self.users().groups_of(&researcher.account, scoped_key).await?)
    }

    /// The patient, when the caller manages a group that holds them: a practitioner only reads.
    pub async fn managed_patient(&self, researcher: &Researcher, uuid: &PatientId) -> Result<Readable<PatientId>> {
        let patient = self.readable_patient(researcher, uuid).await?;
        // After the access check: a practitioner learns of a patient elsewhere no more than others do.
        researcher.require_manager()?;
        Ok(patient)
    }

    /// The patient, when a group that the caller may act on holds them.
    pub async fn readable_patient(&self, researcher: &Researcher, uuid: &PatientId) -> Result<Readable<PatientId>> {
        self.patient_access(researcher, uuid).await?;
        Ok(Readable(uuid.clone()))
    }

    /// What a caller may know of a patient before it changes them, when a group that it may act on holds them.
    pub async fn patient_access(&self, researcher: &Researcher, uuid: &PatientId) -> Result<PatientAccess> {
        let found = self.users().patient_access(uuid, &researcher.account, researcher.key_id.as_ref()).await?;
        let found = found.ok_or(PlatformError::NotFound("patient"))?;
        if !found.allowed {
            return Err(PlatformError::Forbidden("the caller has no access to this patient"));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_scope_for_reading_makes_a_patient_readable() {
        let patient = PatientId::new("ada");
        for scope in ["patient.read", "patient.sync patient.read"] {
            assert_eq!(Readable::by_scope(&patient, scope).expect("readable").uuid(), &patient, "{scope}");
        }
        for scope in ["", "patient.sync", "patient.reader", "patient", "patient.sync,patient.read"] {
            let refused = Readable::by_scope(&patient, scope);
            assert!(matches!(refused, Err(PlatformError::Forbidden(SCOPE_MISSING))), "{scope}");
        }
    }

    #[test]
    fn parts_hold_every_patient_once_in_order() {
        let uuids: Vec<PatientId> = (0..5).map(|number: i32| PatientId::new(number.to_string())).collect();
        for (at_once, sizes) in [(2, vec![2, 2, 1]), (5, vec![5]), (9, vec![5]), (1, vec![1; 5])] {
            let parts = Readable::for_test(&uuids).into_parts(at_once);
            assert_eq!(parts.iter().map(|part| part.uuids().len()).collect::<Vec<_>>(), sizes);
            assert_eq!(parts.iter().flat_map(Readable::uuids).cloned().collect::<Vec<_>>(), uuids);
        }
        assert!(Readable::for_test(&[]).into_parts(2).is_empty());
    }
}
