//! Authorization codes and refresh tokens of OAuth, by their hashes. The access tokens are sessions.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use super::sessions::HealthSession;
use super::sessions::{add, end, find, hold_patient, succeed};
use crate::engine::Tx;
use crate::engine::row::Columns;
use crate::error::Result;
use crate::ids::{ClientId, ConsentId, FamilyId, PatientId};
use crate::refresh::{Refreshed, Successor, TokenTimes, verdict};
use crate::texts::{record, sql};

/// An authorization code, bound to the request that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationCode {
    /// SHA-256 of the code.
    pub code_hash: Vec<u8>,
    /// The client that asked.
    pub client: ClientId,
    /// The consent that was given.
    pub consent: ConsentId,
    /// Who gave it.
    pub patient: PatientId,
    /// Where the code was sent to.
    pub redirect_uri: String,
    /// What it allows, words with blanks between.
    pub scope: String,
    /// SHA-256 of the verifier, as base64url; absent when the client sent none.
    pub challenge: Option<String>,
    /// Time at which it ends by itself, ms.
    pub expires_ms: i64,
    /// The family of tokens that it was redeemed for.
    pub family: Option<FamilyId>,
}

/// A refresh token, with what it shares with the first token of its family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthRefreshToken {
    /// The family of tokens.
    pub family: FamilyId,
    /// What it allows, words with blanks between.
    pub scope: String,
    /// Time until which it can be used, ms.
    pub refresh_until_ms: i64,
    /// Time at which it was used, ms.
    pub replaced_ms: Option<i64>,
    /// The client that it was issued to.
    pub client: Option<ClientId>,
    /// Whose data it opens.
    pub patient: PatientId,
    /// Time at which the family was ended, ms.
    pub ended_ms: Option<i64>,
}

impl OauthRefreshToken {
    fn times(&self) -> TokenTimes {
        TokenTimes { ended_ms: self.ended_ms, refresh_until_ms: self.refresh_until_ms, replaced_ms: self.replaced_ms }
    }
}

record! {
    code_columns!(""), read_code(row) -> AuthorizationCode {
        code_hash, client, consent, patient, redirect_uri, scope, challenge, expires_ms, family,
    }
}

record! {
    token_columns!("t."), read_token(columns) -> OauthRefreshToken {
        family, scope, refresh_until_ms, replaced_ms, client = "f.client", patient = "f.patient", ended_ms = "f.ended_ms",
    }
}

sql! {
    ADD_CODE = "INSERT INTO oauth_code (code_hash, client, consent, patient, redirect_uri, scope, challenge,
        expires_ms, family) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    FIND_CODE = concat!("SELECT ", code_columns!(), " FROM oauth_code WHERE code_hash = $1");
    REDEEM = "UPDATE oauth_code SET family = $2 WHERE code_hash = $1 AND family IS NULL";
    DROP_CODE = "DELETE FROM oauth_code WHERE code_hash = $1";
    /// A consent is in use while a code can be redeemed for it, or a token opens data or can be refreshed.
    CONSENTS_IN_USE = "SELECT s.consent FROM session s JOIN session f ON f.id = s.family
        WHERE s.patient = $1 AND s.consent IS NOT NULL AND s.ended_ms IS NULL AND f.ended_ms IS NULL
            AND (s.refresh_until_ms > $2 OR s.expires_ms > $2)
        UNION SELECT consent FROM oauth_code WHERE patient = $1 AND family IS NULL AND expires_ms > $2";
    PURGE_CODES = "DELETE FROM oauth_code WHERE expires_ms < $1";
    ADD_TOKEN = "INSERT INTO oauth_refresh_token (token_hash, family, scope, refresh_until_ms)
        VALUES ($1, $2, $3, $4)";
    FIND_TOKEN = concat!("SELECT ", token_columns!(),
        " FROM oauth_refresh_token t JOIN session f ON f.id = t.family WHERE t.token_hash = $1");
    HOLD_TOKEN = "UPDATE oauth_refresh_token SET replaced_ms = replaced_ms WHERE token_hash = $1";
    REPLACE_TOKEN = "UPDATE oauth_refresh_token SET replaced_ms = $2 WHERE token_hash = $1";
    PURGE_TOKENS = "DELETE FROM oauth_refresh_token WHERE refresh_until_ms < $1";
}

#[boxed_futures]
impl HealthDb {
    /// Adds a code. [`StoreError::Gone`](crate::StoreError::Gone) when the patient is not there.
    pub async fn add_code(&self, code: AuthorizationCode) -> Result<()> {
        let owner = code.patient.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                hold_patient(tx, &code.patient).await?;
                tx.execute(
                    ADD_CODE,
                    &[
                        &code.code_hash,
                        &code.client,
                        &code.consent,
                        &code.patient,
                        &code.redirect_uri,
                        &code.scope,
                        &code.challenge,
                        &code.expires_ms,
                        &code.family,
                    ],
                )
                .await
                .map(drop)
            })
            .await
    }

    /// Returns the code with this hash, redeemed or not.
    pub async fn code(&self, code_hash: &[u8]) -> Result<Option<AuthorizationCode>> {
        let code_hash = code_hash.to_owned();
        self.db.read(async move |tx| tx.query_opt(FIND_CODE, &[&code_hash], read_code).await).await
    }

    /// Takes a code back.
    pub async fn drop_code(&self, code_hash: &[u8]) -> Result<()> {
        let code_hash = code_hash.to_owned();
        self.db.write(async move |tx| tx.execute(DROP_CODE, &[&code_hash]).await.map(drop)).await
    }

    /// Redeems a code for the first tokens of a family. False, and nothing is written, when it was redeemed before or
    /// is gone. [`StoreError::Gone`](crate::StoreError::Gone) when the patient is not there.
    pub async fn redeem_code(&self, code_hash: &[u8], session: HealthSession, token_hash: Vec<u8>) -> Result<bool> {
        let (owner, code_hash) = (session.patient.clone(), code_hash.to_owned());
        self.db
            .write_of((&owner).into(), async move |tx| {
                hold_patient(tx, &session.patient).await?;
                // The update decides: of two requests with one code the second finds a family.
                if tx.execute(REDEEM, &[&code_hash, &session.family]).await? == 0 {
                    return Ok(false);
                }
                add(tx, &session).await?;
                add_token(tx, &token_hash, &session.scope, &session).await?;
                Ok(true)
            })
            .await
    }

    /// Returns the refresh token with this hash, used or not.
    pub async fn oauth_refresh_token(&self, token_hash: &[u8]) -> Result<Option<OauthRefreshToken>> {
        let token_hash = token_hash.to_owned();
        self.db.read(async move |tx| find_token(tx, &token_hash).await).await
    }

    /// Uses a refresh token up for new ones, the access token of which allows `scope`. One that was used before ends
    /// its family.
    pub async fn use_oauth_refresh_token(
        &self,
        token_hash: &[u8],
        new_token_hash: Vec<u8>,
        scope: &str,
        successor: Successor,
    ) -> Result<Refreshed<HealthSession>> {
        let (token_hash, scope) = (token_hash.to_owned(), scope.to_owned());
        // The patient of a token never changes.
        let before = self.oauth_refresh_token(&token_hash).await?;
        let Some(OauthRefreshToken { patient: owner, .. }) = before else { return Ok(Refreshed::Ended) };
        let patient = owner.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                // The patient before the token, as in an erasure; the other order could deadlock with it.
                hold_patient(tx, &patient).await?;
                tx.put(HOLD_TOKEN, &[&token_hash]).await?;
                let Some(old) = find_token(tx, &token_hash).await? else { return Ok(Refreshed::Ended) };
                let now_ms = successor.issued_ms;
                // Without a grace: RFC 9700 (4.14.2) asks for the end of the family at a second use.
                match verdict(old.times(), now_ms, 0) {
                    Refreshed::Ended => Ok(Refreshed::Ended),
                    Refreshed::Late => Ok(Refreshed::Late),
                    Refreshed::Reused => {
                        end(tx, &old.family, now_ms).await?;
                        Ok(Refreshed::Reused)
                    }
                    Refreshed::Done(()) => {
                        let Some(first) = find(tx, &old.family.first()).await? else { return Ok(Refreshed::Ended) };
                        tx.put(REPLACE_TOKEN, &[&token_hash, &now_ms]).await?;
                        // From the family's first session, which knows client and consent; the refresh token knows its
                        // own scope alone.
                        let new = HealthSession { scope: scope.clone(), ..succeed(first, &successor) };
                        add(tx, &new).await?;
                        add_token(tx, &new_token_hash, &old.scope, &new).await?;
                        Ok(Refreshed::Done(new))
                    }
                }
            })
            .await
    }

    /// Returns the consents of a patient which a code or a token still rests on.
    pub async fn consents_in_use(&self, patient: &PatientId, now_ms: i64) -> Result<Vec<ConsentId>> {
        let patient = patient.clone();
        self.db.read(async move |tx| tx.query(CONSENTS_IN_USE, &[&patient, &now_ms], |row| row.get(0)).await).await
    }

    /// Removes codes that ended before a time, and refresh tokens that could be used until before another. Answers how
    /// many there were.
    pub async fn purge_oauth(&self, code_end_ms: i64, refresh_until_ms: i64) -> Result<u64> {
        self.db
            .write(async move |tx| {
                let codes = tx.execute(PURGE_CODES, &[&code_end_ms]).await?;
                Ok(codes + tx.execute(PURGE_TOKENS, &[&refresh_until_ms]).await?)
            })
            .await
    }
}

async fn add_token(tx: &Tx<'_>, token_hash: &[u8], scope: &str, session: &HealthSession) -> Result<()> {
    tx.execute(ADD_TOKEN, &[&token_hash, &session.family, &scope, &session.refresh_until_ms]).await.map(drop)
}

async fn find_token(tx: &Tx<'_>, token_hash: &[u8]) -> Result<Option<OauthRefreshToken>> {
    tx.query_opt(FIND_TOKEN, &[&token_hash], |row| read_token(&mut Columns::of(row))).await
}
