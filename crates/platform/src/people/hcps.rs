//! The members of a group: who works in a study.

use boxed_futures::boxed_futures;
use store::{AccountId, GroupCode, HealthChange, HealthMessage, Member, MemberRemoval};

use crate::core::access::Researcher;
use crate::core::audit::{Action, doctor_entity, hcp_entity};
use crate::core::error::{PlatformError, Result};
use crate::people::People;

#[boxed_futures]
impl People {
    /// Returns the members of a group, longest first.
    pub async fn hcps(&self, researcher: &Researcher, code: &GroupCode) -> Result<Vec<Member>> {
        let group = self.core.managed_group(researcher, code).await?;
        Ok(self.core.users().members(&group.code).await?)
    }

    /// Makes the account of an e-mail a member of a group. One that is a member stays it.
    pub async fn add_hcp(&self, researcher: &Researcher, code: &GroupCode, email: &str) -> Result<Member> {
        let group = self.core.managed_group(researcher, code).await?;
        // Only accounts that exist: no invitation is sent, since the service sends no mail.
        let account = self.identity.account_by_email(email).await?;
        if account.disabled_ms.is_some() {
            return Err(PlatformError::Conflict { code: "account_disabled", message: "the account is disabled" });
        }
        let (hcp, doctor) = (hcp_entity(&account.uuid), doctor_entity(&researcher.account));
        let entry = self.core.entry(Action::AddHcp, researcher, hcp, Some(doctor));
        let audit = self.core.audit(vec![entry]);
        self.core.users().admit_member(&account.uuid, &group.code, self.core.now_ms(), audit).await?;
        Ok(Member { uuid: account.uuid, email: account.email, role: account.role })
    }

    /// Ends a membership. The account's health tokens end with it: for patients that it still has access to it asks
    /// for others.
    pub async fn remove_hcp(&self, researcher: &Researcher, code: &GroupCode, account: &AccountId) -> Result<()> {
        let group = self.core.managed_group(researcher, code).await?;
        let (hcp, doctor) = (hcp_entity(account), doctor_entity(&researcher.account));
        let entry = self.core.entry(Action::RemoveHcp, researcher, hcp, Some(doctor));
        let now_ms = self.core.now_ms();
        let change = HealthChange::EndSessionsOfActor { account: account.clone(), at_ms: now_ms };
        let message =
            HealthMessage { id: self.core.new_message_id(), change, entries: vec![entry], created_ms: now_ms };
        match self.core.users().remove_member(account, &group.code, message.clone()).await? {
            MemberRemoval::Removed => self.core.deliver(message).await,
            MemberRemoval::NoMember => Err(PlatformError::NotFound("hcp")),
            MemberRemoval::LastManager => {
                let message = "nobody else in the group could manage it";
                Err(PlatformError::Conflict { code: "last_manager", message })
            }
        }
    }
}
