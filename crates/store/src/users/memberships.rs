//! Who belongs to which group, and what follows from it: one look-up per question of access.

use super::UsersDb;
use super::groups::{Group, read_group};
use crate::error::Result;
use crate::texts::sql;

/// A group as one caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupAccess {
    /// The group.
    pub group: Group,
    /// Whether the account is a member and the key, if it is scoped, acts on the group.
    pub allowed: bool,
}

/// A patient as one caller sees him.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientAccess {
    /// `pre_created` or `confirmed`.
    pub state: String,
    /// Whether a group that the caller may act on holds the patient.
    pub allowed: bool,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The account.
    pub uuid: String,
    /// Its e-mail.
    pub email: String,
    /// Its role.
    pub role: String,
}

sql! {
    GROUP = "SELECT g.code, g.id, g.hcp_code, g.name, g.description, g.created_ms,
        EXISTS (SELECT 1 FROM membership m WHERE m.account = $2 AND m.group_code = g.code)
        AND (NOT EXISTS (SELECT 1 FROM api_key_group s WHERE s.api_key = $3)
             OR EXISTS (SELECT 1 FROM api_key_group s WHERE s.api_key = $3 AND s.group_code = g.code))
        FROM study_group g WHERE g.code = $1";
    PATIENT = "SELECT p.state,
        EXISTS (SELECT 1 FROM group_patient h JOIN membership m ON m.group_code = h.group_code
            WHERE h.patient = p.uuid AND m.account = $2
            AND (NOT EXISTS (SELECT 1 FROM api_key_group s WHERE s.api_key = $3)
                 OR EXISTS (SELECT 1 FROM api_key_group s WHERE s.api_key = $3 AND s.group_code = h.group_code)))
        FROM patient p WHERE p.uuid = $1";
    MEMBERS = "SELECT a.uuid, a.email, a.role FROM membership m JOIN account a ON a.uuid = m.account
        WHERE m.group_code = $1 ORDER BY m.created_ms, a.uuid";
    ADD = "INSERT INTO membership (account, group_code, created_ms) VALUES ($1, $2, $3)
        ON CONFLICT (account, group_code) DO NOTHING";
}

impl UsersDb {
    /// A group, and whether an account may act on it with a key. An empty key id stands for no key.
    pub async fn group_access(&self, code: &str, account: &str, key_id: &str) -> Result<Option<GroupAccess>> {
        let (code, account, key_id) = (code.to_owned(), account.to_owned(), key_id.to_owned());
        self.db
            .read(move |tx| {
                tx.query_opt(GROUP, &[&code, &account, &key_id], |row| {
                    Ok(GroupAccess { group: read_group(row)?, allowed: row.get(6)? })
                })
            })
            .await
    }

    /// A patient's state, and whether an account may act on him with a key. An empty key id stands for no key.
    pub async fn patient_access(&self, uuid: &str, account: &str, key_id: &str) -> Result<Option<PatientAccess>> {
        let (uuid, account, key_id) = (uuid.to_owned(), account.to_owned(), key_id.to_owned());
        self.db
            .read(move |tx| {
                tx.query_opt(PATIENT, &[&uuid, &account, &key_id], |row| {
                    Ok(PatientAccess { state: row.get(0)?, allowed: row.get(1)? })
                })
            })
            .await
    }

    /// The members of a group, longest first.
    pub async fn members(&self, group_code: &str) -> Result<Vec<Member>> {
        let group_code = group_code.to_owned();
        self.db
            .read(move |tx| {
                tx.query(MEMBERS, &[&group_code], |row| {
                    Ok(Member { uuid: row.get(0)?, email: row.get(1)?, role: row.get(2)? })
                })
            })
            .await
    }

    /// Makes an account a member of a group. False when it was one.
    pub async fn add_member(&self, account: &str, group_code: &str, now_ms: i64) -> Result<bool> {
        let (account, group_code) = (account.to_owned(), group_code.to_owned());
        self.db.write(move |tx| Ok(tx.execute(ADD, &[&account, &group_code, &now_ms])? > 0)).await
    }
}
