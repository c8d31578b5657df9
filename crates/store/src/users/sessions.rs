//! One row for every token of the Users Cloud: what makes a signed token end before its time.

use super::UsersDb;
use super::audit::Audit;
use crate::engine::{Row, Tx};
use crate::error::Result;
use crate::texts::sql;

/// What stands behind a token of the Users Cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Identity of the token.
    pub id: String,
    /// The uuid of a patient or of an account.
    pub owner: String,
    /// When the first token of this family was issued, ms.
    pub first_issued_ms: i64,
    /// When this token was issued, ms.
    pub issued_ms: i64,
    /// When this token ends by itself, ms.
    pub expires_ms: i64,
    /// When it was refreshed, ms.
    pub replaced_ms: Option<i64>,
    /// When it was ended, ms.
    pub ended_ms: Option<i64>,
}

sql! {
    ADD = "INSERT INTO session (id, owner, first_issued_ms, issued_ms, expires_ms, replaced_ms, ended_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    FIND = "SELECT id, owner, first_issued_ms, issued_ms, expires_ms, replaced_ms, ended_ms
        FROM session WHERE id = $1";
    END = "UPDATE session SET ended_ms = $2 WHERE id = $1 AND ended_ms IS NULL";
}

impl UsersDb {
    /// Adds a session and writes the entries of the login that it comes from.
    pub async fn add_session(&self, session: Session, audit: Audit) -> Result<()> {
        self.db
            .write(move |tx| {
                add(tx, &session)?;
                audit.append(tx)
            })
            .await
    }

    /// The session with this identity, ended or not.
    pub async fn session(&self, id: &str) -> Result<Option<Session>> {
        let id = id.to_owned();
        self.db.look_up(move |tx| tx.query_opt(FIND, &[&id], read_session)).await
    }

    /// Ends a session. Whether it still stood.
    pub async fn end_session(&self, id: &str, now_ms: i64) -> Result<bool> {
        let id = id.to_owned();
        self.db.write(move |tx| Ok(tx.execute(END, &[&id, &now_ms])? > 0)).await
    }
}

fn add(tx: &mut Tx<'_>, session: &Session) -> Result<()> {
    tx.execute(
        ADD,
        &[
            &session.id,
            &session.owner,
            &session.first_issued_ms,
            &session.issued_ms,
            &session.expires_ms,
            &session.replaced_ms,
            &session.ended_ms,
        ],
    )
    .map(drop)
}

fn read_session(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        owner: row.get(1)?,
        first_issued_ms: row.get(2)?,
        issued_ms: row.get(3)?,
        expires_ms: row.get(4)?,
        replaced_ms: row.get(5)?,
        ended_ms: row.get(6)?,
    })
}
