//! Erasure: the end of a person in both databases and in the objects.
//!
//! The steps, each of which may be the last before a crash: the users database (the person goes, a message stays),
//! the list of the erased, the rows of the health database, the objects, the audit entry. Anyone who looks at old
//! intents takes the rest. What was deleted is overwritten where it lay; the files are rewritten some time later,
//! because pages that rows were moved out of can keep copies.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use store::{AccountErasure, HealthChange, HealthMessage, NewAuditEntry, PatientId, Role, StoreError, User, UserId};

use crate::core::access::Researcher;
use crate::core::audit::{Action, Actor, patient_entity, user_entity};
use crate::core::error::{PlatformError, Result};
use crate::identity::tokens::UsersCaller;
use crate::people::People;

/// What an erasure has removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Who was erased: a patient or an account.
    pub uuid: UserId,
    /// Time, ms.
    pub erased_ms: i64,
    /// How much went, by kind.
    pub counts: BTreeMap<String, u64>,
}

#[boxed_futures]
impl People {
    /// Erases a patient. A member who manages one of their groups may do this, and an administrator.
    pub async fn erase_patient(&self, researcher: &Researcher, patient: &PatientId) -> Result<Receipt> {
        if researcher.role == Role::Admin && !researcher.key_scoped {
            // A patient that no group holds any more has no other who could do it.
            self.core.users().patient(patient).await?.ok_or(PlatformError::NotFound("patient"))?;
        } else {
            self.core.patient_access(researcher, patient).await?;
            researcher.require_manager()?;
        }
        self.erase(patient, self.core.entry(Action::PatientDelete, researcher, patient_entity(patient), None)).await
    }

    /// Erases a patient, on behalf of the operator. Returns the same receipt for one who was erased before.
    pub async fn erase_patient_as_operator(&self, patient: &PatientId) -> Result<Receipt> {
        let entry = self.core.entry_by(Action::PatientDelete, Actor::operator(), patient_entity(patient), None);
        match self.erase(patient, entry).await {
            // An earlier call may have broken off after its first commit; what it left is finished here.
            Err(PlatformError::Store(StoreError::Gone(_))) if self.core.users().erasure(patient).await?.is_some() => {
                self.core.deliver_changes_of(patient).await?;
                self.receipt(patient).await
            }
            erased => erased,
        }
    }

    /// Erases the caller, patient or account.
    pub async fn erase_self(&self, caller: &UsersCaller) -> Result<Receipt> {
        let entry = self.core.entry_by(Action::UserDelete, caller.actor(), user_entity(&caller.user.id()), None);
        let account = match &caller.user {
            User::Account(account, _) => account,
            User::Patient(patient) => return self.erase(patient, entry).await,
        };
        let now_ms = self.core.now_ms();
        let change = HealthChange::EndSessionsOfActor { account: account.clone(), at_ms: now_ms };
        let message =
            HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: now_ms };
        match self.core.users().erase_account(account, message.clone()).await? {
            AccountErasure::Erased(counts) => {
                self.core.deliver(message).await?;
                Ok(Receipt { uuid: caller.user.id(), erased_ms: now_ms, counts })
            }
            // Patients that nobody manages could be neither read nor erased by their study.
            AccountErasure::LastManager => {
                let message = "a group would have patients and nobody who manages it";
                Err(PlatformError::Conflict { code: "last_manager", message })
            }
        }
    }

    async fn erase(&self, patient: &PatientId, entry: NewAuditEntry) -> Result<Receipt> {
        let at_ms = self.core.now_ms();
        let change = HealthChange::ErasePatient { uuid: patient.clone(), at_ms };
        let message = HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: at_ms };
        self.core.users().erase_patient(patient, at_ms, message).await?;
        self.core.deliver_changes_of(patient).await?;
        self.receipt(patient).await
    }

    /// Returns what went from both databases.
    async fn receipt(&self, patient: &PatientId) -> Result<Receipt> {
        let erasure = self.core.users().erasure(patient).await?.ok_or(PlatformError::NotFound("patient"))?;
        let mark = self.core.health().erased_patient(patient).await?;
        let mut counts = erasure.counts;
        // The mark outlives the data, so that a repeated call answers the same receipt.
        counts.extend(mark.map(|mark| mark.counts).unwrap_or_default());
        Ok(Receipt { uuid: UserId::from(&erasure.patient), erased_ms: erasure.erased_ms, counts })
    }
}
