//! Groups: the studies.

use super::UsersDb;
use super::audit::Audit;
use crate::engine::Row;
use crate::error::Result;
use crate::texts::sql;

/// A study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Short code, five capitals; its name in paths.
    pub code: String,
    /// Record identifier, ten letters or digits.
    pub id: String,
    /// `HCP-<code>-<suffix>`.
    pub hcp_code: String,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Creation, ms.
    pub created_ms: i64,
}

sql! {
    ADD = "INSERT INTO study_group (code, id, hcp_code, name, description, created_ms)
        VALUES ($1, $2, $3, $4, $5, $6)";
    ADD_MEMBER = "INSERT INTO membership (account, group_code, created_ms) VALUES ($1, $2, $3)";
    LIST = "SELECT g.code, g.id, g.hcp_code, g.name, g.description, g.created_ms
        FROM membership m JOIN study_group g ON g.code = m.group_code
        WHERE m.account = $1 ORDER BY g.created_ms, g.code";
    LIST_IN_SCOPE = "SELECT g.code, g.id, g.hcp_code, g.name, g.description, g.created_ms
        FROM membership m JOIN study_group g ON g.code = m.group_code
        JOIN api_key_group s ON s.group_code = g.code
        WHERE m.account = $1 AND s.api_key = $2 ORDER BY g.created_ms, g.code";
}

impl UsersDb {
    /// Adds a group with its first member and writes the entries. [`crate::StoreError::Conflict`] when one of its
    /// codes is taken.
    pub async fn add_group(&self, group: Group, member: &str, audit: Audit) -> Result<()> {
        let member = member.to_owned();
        self.db
            .write(move |tx| {
                tx.execute(
                    ADD,
                    &[&group.code, &group.id, &group.hcp_code, &group.name, &group.description, &group.created_ms],
                )?;
                tx.execute(ADD_MEMBER, &[&member, &group.code, &group.created_ms])?;
                audit.append(tx)
            })
            .await
    }

    /// The groups of an account, oldest first; of those, only the ones in the scope of a key when it has one.
    pub async fn groups_of(&self, account: &str, scoped_key: Option<&str>) -> Result<Vec<Group>> {
        let account = account.to_owned();
        let scoped_key = scoped_key.map(str::to_owned);
        self.db
            .look_up(move |tx| match &scoped_key {
                None => tx.query(LIST, &[&account], read_group),
                Some(key) => tx.query(LIST_IN_SCOPE, &[&account, key], read_group),
            })
            .await
    }
}

pub(super) fn read_group(row: &Row<'_>) -> Result<Group> {
    Ok(Group {
        code: row.get(0)?,
        id: row.get(1)?,
        hcp_code: row.get(2)?,
        name: row.get(3)?,
        description: row.get(4)?,
        created_ms: row.get(5)?,
    })
}
