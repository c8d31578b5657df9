//! Another role for an account, which ends everything that it held in the old one.

use boxed_futures::boxed_futures;

use super::accounts::{end_keys, end_sessions};
use super::db::UsersDb;
use super::group_settings::hold_group;
use super::memberships::has_other_manager;
use super::messages::HealthMessage;
use crate::error::{Result, StoreError};
use crate::ids::{AccountId, GroupCode};
use crate::names::Role;
use crate::texts::sql;

/// Outcome of a change of an account's role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleChange {
    /// The account has the role from now on; with how many API keys have ended.
    Changed {
        /// API keys that were in force.
        ended_keys: u64,
    },
    /// The account had the role. Nothing was changed.
    Unchanged,
    /// Nobody else manages these studies, and the role does not. Nothing was changed.
    LastManager(Vec<GroupCode>),
}

sql! {
    GROUPS = "SELECT group_code FROM membership WHERE account = $1 ORDER BY group_code";
    /// Locks the row as well, which every login of the account locks before it begins a session.
    SET = "UPDATE account SET role = $2, updated_ms = $3 WHERE uuid = $1";
    ROLE = "SELECT role FROM account WHERE uuid = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Gives an account another role, ends its sessions and API keys, and enqueues for the health database the end of the
    /// tokens by which it reads. [`StoreError::Gone`] when there is no such account.
    pub async fn change_role(
        &self,
        account: &AccountId,
        role: Role,
        now_ms: i64,
        message: HealthMessage,
    ) -> Result<RoleChange> {
        let account = account.clone();
        self.db
            .write(async move |tx| {
                let present: Option<Role> = tx.query_opt(ROLE, &[&account], |row| row.get(0)).await?;
                if present.ok_or(StoreError::Gone("account"))? == role {
                    return Ok(RoleChange::Unchanged);
                }
                if role == Role::Hcp {
                    let mut alone = Vec::new();
                    let groups: Vec<GroupCode> = tx.query(GROUPS, &[&account], |row| row.get(0)).await?;
                    // Held in the order of the codes: of two managers who lose the role at once, the second stays.
                    for group in groups {
                        hold_group(tx, &group).await?;
                        if !has_other_manager(tx, &account, &group).await? {
                            alone.push(group);
                        }
                    }
                    if !alone.is_empty() {
                        return Ok(RoleChange::LastManager(alone));
                    }
                }
                tx.execute(SET, &[&account, &role, &now_ms]).await?;
                // Tokens carry the role; and a key must not gain rights, or lose them, while its holder knows nothing of it.
                end_sessions(tx, &account, None, now_ms).await?;
                let ended_keys = end_keys(tx, &account, now_ms).await?;
                message.enqueue(tx).await?;
                Ok(RoleChange::Changed { ended_keys })
            })
            .await
    }
}
