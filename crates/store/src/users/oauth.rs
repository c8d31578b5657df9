//! OAuth clients, and what patients have consented to. Codes and tokens are in the health database.

use boxed_futures::boxed_futures;

use super::db::UsersDb;
use super::messages::HealthMessage;
use super::sessions::hold_patient;
use crate::error::Result;
use crate::ids::{ClientId, ConsentId, PatientId};
use crate::texts::{record, sql};

/// A program that patients can grant access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthClient {
    /// Record identifier, 24 hex digits: the `client_id`.
    pub id: ClientId,
    /// SHA-256 of its secret; absent for a public client.
    pub secret_hash: Option<Vec<u8>>,
    /// What patients are shown.
    pub name: String,
    /// Where it says what it does with the data.
    pub privacy_policy_url: String,
    /// Creation, ms.
    pub created_ms: i64,
    /// Time at which it was removed, ms.
    pub removed_ms: Option<i64>,
}

/// A patient's consent that a client acts on their data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Record identifier.
    pub id: ConsentId,
    /// Who gave it.
    pub patient: PatientId,
    /// Client that it was given to.
    pub client: ClientId,
    /// For what, words with blanks between.
    pub scope: String,
    /// Time, ms.
    pub given_ms: i64,
}

record! {
    client_columns!(""), read_client(row) -> OauthClient {
        id, secret_hash, name, privacy_policy_url, created_ms, removed_ms,
    }
}

record! {
    consent_columns!(""), read_consent(row) -> Consent { id, patient, client, scope, given_ms }
}

sql! {
    ADD = concat!("INSERT INTO oauth_client (", client_columns!(), ")
        VALUES ($1, $2, $3, $4, $5, $6)");
    ADD_REDIRECT = "INSERT INTO oauth_redirect (client, uri) VALUES ($1, $2) ON CONFLICT (client, uri) DO NOTHING";
    FIND = concat!("SELECT ", client_columns!(), " FROM oauth_client WHERE id = $1");
    LIST = concat!("SELECT ", client_columns!(), " FROM oauth_client
        ORDER BY created_ms, id");
    REDIRECTS = "SELECT uri FROM oauth_redirect WHERE client = $1 ORDER BY uri";
    REMOVE = "UPDATE oauth_client SET removed_ms = $2 WHERE id = $1 AND removed_ms IS NULL";
    /// Makes a removal of the client wait for the end of this transaction.
    HOLD = "UPDATE oauth_client SET removed_ms = removed_ms WHERE id = $1 AND removed_ms IS NULL";
    GIVE = concat!("INSERT INTO oauth_consent (", consent_columns!(), ") VALUES ($1, $2, $3, $4, $5)");
    IS_IN_FORCE = "SELECT c.id FROM oauth_consent c JOIN oauth_client k ON k.id = c.client
        WHERE c.id = $1 AND c.ended_ms IS NULL AND k.removed_ms IS NULL";
    GIVEN = concat!("SELECT ", consent_columns!(), " FROM oauth_consent
        WHERE patient = $1 AND ended_ms IS NULL ORDER BY given_ms, id");
    END = "UPDATE oauth_consent SET ended_ms = $2 WHERE id = $1 AND ended_ms IS NULL";
    END_OF_CLIENT = "UPDATE oauth_consent SET ended_ms = $2 WHERE client = $1 AND ended_ms IS NULL";
}

#[boxed_futures]
impl UsersDb {
    /// Adds a client and the addresses that it may be answered at.
    pub async fn add_oauth_client(&self, client: OauthClient, redirect_uris: Vec<String>) -> Result<()> {
        self.db
            .write(async move |tx| {
                tx.put(
                    ADD,
                    &[
                        &client.id,
                        &client.secret_hash,
                        &client.name,
                        &client.privacy_policy_url,
                        &client.created_ms,
                        &client.removed_ms,
                    ],
                )
                .await?;
                for uri in &redirect_uris {
                    tx.put(ADD_REDIRECT, &[&client.id, uri]).await?;
                }
                Ok(())
            })
            .await
    }

    /// Returns the client with this identifier, removed or not, and the addresses that it may be answered at.
    pub async fn oauth_client(&self, id: &ClientId) -> Result<Option<(OauthClient, Vec<String>)>> {
        let id = id.clone();
        self.db
            .read(async move |tx| {
                let Some(client) = tx.query_opt(FIND, &[&id], read_client).await? else { return Ok(None) };
                Ok(Some((client, tx.query(REDIRECTS, &[&id], |row| row.get(0)).await?)))
            })
            .await
    }

    /// Returns all clients, oldest first, with their addresses.
    pub async fn oauth_clients(&self) -> Result<Vec<(OauthClient, Vec<String>)>> {
        self.db
            .read(async |tx| {
                let mut clients = Vec::new();
                for client in tx.query(LIST, &[], read_client).await? {
                    let redirect_uris = tx.query(REDIRECTS, &[&client.id], |row| row.get(0)).await?;
                    clients.push((client, redirect_uris));
                }
                Ok(clients)
            })
            .await
    }

    /// Removes a client, ends the consents to it, and enqueues for the health database the end of its tokens.
    /// Whether it was there.
    pub async fn remove_oauth_client(&self, id: &ClientId, now_ms: i64, message: HealthMessage) -> Result<bool> {
        let id = id.clone();
        self.db
            .write(async move |tx| {
                if tx.execute(REMOVE, &[&id, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                // Otherwise the patients' lists would show consents to a client that is gone.
                tx.put(END_OF_CLIENT, &[&id, &now_ms]).await?;
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Writes a consent. False, and nothing is written, when the patient's password is not the one of this hash any
    /// more, or the client was removed.
    pub async fn add_consent(&self, consent: Consent, password_hash: &str) -> Result<bool> {
        let password_hash = password_hash.to_owned();
        self.db
            .write(async move |tx| {
                // Both rows are held: a new password or the client's removal is seen here, or comes later and ends the
                // consent.
                if !hold_patient(tx, &consent.patient, &password_hash).await?
                    || tx.execute(HOLD, &[&consent.client]).await? == 0
                {
                    return Ok(false);
                }
                tx.put(GIVE, &[&consent.id, &consent.patient, &consent.client, &consent.scope, &consent.given_ms])
                    .await?;
                Ok(true)
            })
            .await
    }

    /// Returns whether a consent still holds.
    pub async fn consent_is_in_force(&self, id: &ConsentId) -> Result<bool> {
        let id = id.clone();
        let found = self
            .db
            .read(async move |tx| tx.query_opt(IS_IN_FORCE, &[&id], |row| row.get::<ConsentId>(0)).await)
            .await?;
        Ok(found.is_some())
    }

    /// Returns the consents of a patient in force, oldest first.
    pub async fn consents_of(&self, patient: &PatientId) -> Result<Vec<Consent>> {
        let patient = patient.clone();
        self.db.read(async move |tx| tx.query(GIVEN, &[&patient], read_consent).await).await
    }

    /// Ends a consent and enqueues for the health database the end of its tokens. Whether it was still in force.
    pub async fn end_consent(&self, id: &ConsentId, now_ms: i64, message: HealthMessage) -> Result<bool> {
        let id = id.clone();
        self.db
            .write(async move |tx| {
                if tx.execute(END, &[&id, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }
}
