//! Groups: the studies.

use boxed_futures::boxed_futures;

use super::audit::Audit;
use super::audit_head;
use super::db::UsersDb;
use super::group_settings;
use crate::engine::row::Columns;
use crate::error::{Result, StoreError};
use crate::ids::{AccountId, ApiKeyId, GroupCode, GroupId, HcpCode};
use crate::texts::{record, sql};

/// A study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Short code, five capitals; its name in paths.
    pub code: GroupCode,
    /// Record identifier, ten letters or digits.
    pub id: GroupId,
    /// `HCP-<code>-<suffix>`.
    pub hcp_code: HcpCode,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Creation, ms.
    pub created_ms: i64,
}

/// How the deletion of a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupDeletion {
    /// It is gone.
    Deleted,
    /// It holds patients. Nothing was changed.
    HasPatients,
}

record! {
    group_columns!("study_group."), pub(super) read_group(columns) -> Group { code, id, hcp_code, name, description, created_ms }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use group_columns;

sql! {
    ADD = "INSERT INTO study_group (code, id, hcp_code, name, description, created_ms)
        VALUES ($1, $2, $3, $4, $5, $6)";
    ADD_MEMBER = "INSERT INTO membership (account, group_code, created_ms) VALUES ($1, $2, $3)";
    LIST = concat!("SELECT ", group_columns!(), "
        FROM membership m JOIN study_group ON study_group.code = m.group_code
        WHERE m.account = $1 ORDER BY study_group.created_ms, study_group.code");
    LIST_IN_SCOPE = concat!("SELECT ", group_columns!(), "
        FROM membership m JOIN study_group ON study_group.code = m.group_code
        JOIN api_key_group s ON s.group_code = study_group.code
        WHERE m.account = $1 AND s.api_key = $2 ORDER BY study_group.created_ms, study_group.code");
    CHANGE = concat!("UPDATE study_group SET name = COALESCE($2, name), description = COALESCE($3, description)
        WHERE code = $1 RETURNING ", group_columns!());
    ANY_PATIENT = "SELECT patient FROM group_patient WHERE group_code = $1 LIMIT 1";
    REMOVE_MEMBERS = "DELETE FROM membership WHERE group_code = $1";
    /// A code can be given again, and the new study must not read events of the old one's patients.
    FORGET_PATIENTS = "DELETE FROM past_attachment WHERE group_code = $1";
    REMOVE = "DELETE FROM study_group WHERE code = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Adds a group with its first member and writes the entries. [`crate::StoreError::Conflict`] when one of its
    /// codes is taken.
    pub async fn add_group(&self, group: Group, member: &AccountId, audit: Audit) -> Result<()> {
        let member = member.clone();
        self.write_logged(async move |tx| {
            tx.put(ADD, &[&group.code, &group.id, &group.hcp_code, &group.name, &group.description, &group.created_ms])
                .await?;
            tx.put(ADD_MEMBER, &[&member, &group.code, &group.created_ms]).await?;
            audit.append(tx).await
        })
        .await
    }

    /// Returns the groups of an account, oldest first; of those, only the ones in the scope of a key when it has one.
    pub async fn groups_of(&self, account: &AccountId, scoped_key: Option<&ApiKeyId>) -> Result<Vec<Group>> {
        let account = account.clone();
        let scoped_key = scoped_key.cloned();
        self.db
            .look_up(async move |tx| match &scoped_key {
                None => tx.query(LIST, &[&account], |row| read_group(&mut Columns::of(row))).await,
                Some(key) => tx.query(LIST_IN_SCOPE, &[&account, key], |row| read_group(&mut Columns::of(row))).await,
            })
            .await
    }

    /// Changes name and description of a group, those that are given, and writes the entries; answers the group as it
    /// then is. [`StoreError::Gone`] when there is none such.
    pub async fn change_group(
        &self,
        code: &GroupCode,
        name: Option<String>,
        description: Option<String>,
        audit: Audit,
    ) -> Result<Group> {
        let (group, code) = (code, code.clone());
        self.db
            .write_in_line(&[group.into(), audit_head::LINE], async move |tx| {
                let changed = tx
                    .query_opt(CHANGE, &[&code, &name, &description], |row| read_group(&mut Columns::of(row)))
                    .await?;
                let changed = changed.ok_or(StoreError::Gone("group"))?;
                audit.append(tx).await?;
                Ok(changed)
            })
            .await
    }

    /// Deletes a group that holds no patient, with its members and settings, and writes the entries. What API keys are
    /// scoped to stays: a key whose groups are all gone acts on none. [`StoreError::Gone`] when there is none such.
    pub async fn delete_group(&self, code: &GroupCode, audit: Audit) -> Result<GroupDeletion> {
        let (group, code) = (code, code.clone());
        self.db
            .write_in_line(&[group.into(), audit_head::LINE], async move |tx| {
                // Before the look at its patients: one who joins meanwhile waits, and then finds no group.
                if !group_settings::hold_group(tx, &code).await? {
                    return Err(StoreError::Gone("group"));
                }
                if tx.query_opt(ANY_PATIENT, &[&code], |_| Ok(())).await?.is_some() {
                    return Ok(GroupDeletion::HasPatients);
                }
                group_settings::forget(tx, &code).await?;
                tx.put(REMOVE_MEMBERS, &[&code]).await?;
                tx.execute(FORGET_PATIENTS, &[&code]).await?;
                tx.put(REMOVE, &[&code]).await?;
                audit.append(tx).await?;
                Ok(GroupDeletion::Deleted)
            })
            .await
    }
}
