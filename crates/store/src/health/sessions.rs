//! One row for every token of the Health Cloud: what makes a signed token end before its time.

use super::HealthDb;
use crate::engine::Row;
use crate::error::Result;
use crate::texts::sql;

/// What stands behind a token of the Health Cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSession {
    /// Identity of the token.
    pub id: String,
    /// Whose data it opens.
    pub patient: String,
    /// The account that reads in the patient's stead; absent when it is the patient.
    pub actor: Option<String>,
    /// The API key that the actor asked for it with.
    pub api_key: Option<String>,
    /// What it allows, words with blanks between.
    pub scope: String,
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
    ADD = "INSERT INTO session (id, patient, actor, api_key, scope, first_issued_ms, issued_ms, expires_ms,
        replaced_ms, ended_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    FIND = "SELECT id, patient, actor, api_key, scope, first_issued_ms, issued_ms, expires_ms, replaced_ms, ended_ms
        FROM session WHERE id = $1";
    END = "UPDATE session SET ended_ms = $2 WHERE id = $1 AND ended_ms IS NULL";
}

impl HealthDb {
    /// Adds a session.
    pub async fn add_session(&self, session: HealthSession) -> Result<()> {
        self.db
            .write(move |tx| {
                tx.execute(
                    ADD,
                    &[
                        &session.id,
                        &session.patient,
                        &session.actor,
                        &session.api_key,
                        &session.scope,
                        &session.first_issued_ms,
                        &session.issued_ms,
                        &session.expires_ms,
                        &session.replaced_ms,
                        &session.ended_ms,
                    ],
                )
                .map(drop)
            })
            .await
    }

    /// The session with this identity, ended or not.
    pub async fn session(&self, id: &str) -> Result<Option<HealthSession>> {
        let id = id.to_owned();
        self.db.look_up(move |tx| tx.query_opt(FIND, &[&id], read_session)).await
    }

    /// Ends a session. Whether it still stood.
    pub async fn end_session(&self, id: &str, now_ms: i64) -> Result<bool> {
        let id = id.to_owned();
        self.db.write(move |tx| Ok(tx.execute(END, &[&id, &now_ms])? > 0)).await
    }
}

fn read_session(row: &Row<'_>) -> Result<HealthSession> {
    Ok(HealthSession {
        id: row.get(0)?,
        patient: row.get(1)?,
        actor: row.get(2)?,
        api_key: row.get(3)?,
        scope: row.get(4)?,
        first_issued_ms: row.get(5)?,
        issued_ms: row.get(6)?,
        expires_ms: row.get(7)?,
        replaced_ms: row.get(8)?,
        ended_ms: row.get(9)?,
    })
}
