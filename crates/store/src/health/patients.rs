//! Patients as bodies: what enters a formula, under a uuid and no name.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{HealthDb, settings};
use crate::engine::{Row, Tx};
use crate::error::Result;
use crate::texts::{in_lists, list_of_64, sql};

/// Attributes of a body. Absent ones are not known, or in a change not touched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Date of birth, YYYY-MM-DD.
    pub birthday: Option<String>,
    /// `female`, `male` or `other`.
    pub gender: Option<String>,
    /// Centimetres.
    pub height: Option<f64>,
    /// Kilograms.
    pub weight: Option<f64>,
    /// Fitzpatrick scale, 1 to 6.
    pub skin_color: Option<i64>,
    /// 1 to 4.
    pub hair_density: Option<i64>,
    /// IANA name.
    pub time_zone: Option<String>,
}

/// A patient as the health database knows him.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthPatient {
    /// Identity, in both databases.
    pub uuid: String,
    /// Record identifier, 24 hex digits.
    pub record_id: String,
    /// Five capitals of the group that he was enrolled in.
    pub customer_code: Option<String>,
    /// His body.
    pub profile: Profile,
    /// Creation, ms.
    pub created_ms: i64,
    /// Last change, ms.
    pub updated_ms: i64,
}

/// A change that an operation of the users database owes to this one. Making it twice is making it once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HealthChange {
    /// Adds a patient, or changes those attributes of his that are named.
    PutPatient {
        /// Identity.
        uuid: String,
        /// Record identifier, 24 hex digits.
        record_id: String,
        /// Five capitals.
        customer_code: Option<String>,
        /// What to set.
        profile: Profile,
        /// The time, ms.
        at_ms: i64,
    },
    /// Sets fields of a setting that enters a formula, from a time on.
    SetSetting {
        /// The patient.
        uuid: String,
        /// Which setting.
        name: String,
        /// From when on it is valid, ms.
        valid_from_ms: i64,
        /// What to set; fields that are not named keep what was valid.
        fields: serde_json::Map<String, serde_json::Value>,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that open a patient's data.
    EndSessionsOfPatient {
        /// The patient.
        uuid: String,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that were asked for with an API key.
    EndSessionsOfKey {
        /// The key's record identifier.
        key_id: String,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens by which an account reads in patients' stead.
    EndSessionsOfActor {
        /// The account.
        account: String,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens by which anyone reads in a patient's stead.
    EndReadersOfPatient {
        /// The patient.
        uuid: String,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that tokens of a login on the Users Cloud were exchanged for.
    EndSessionsOfLogin {
        /// The login: the first of its tokens.
        login: String,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that were issued to an OAuth client.
    EndSessionsOfClient {
        /// The client.
        client: String,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that rest on a consent.
    EndSessionsOfConsent {
        /// The consent.
        consent: String,
        /// The time, ms.
        at_ms: i64,
    },
}

sql! {
    PUT = "INSERT INTO patient (uuid, record_id, customer_code, birthday, gender, height, weight, skin_color,
        hair_density, time_zone, created_ms, updated_ms, arrivals, fold_token, fold_lease_until_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 0, 0, 0)
        ON CONFLICT (uuid) DO UPDATE SET
        customer_code = COALESCE(excluded.customer_code, patient.customer_code),
        birthday = COALESCE(excluded.birthday, patient.birthday),
        gender = COALESCE(excluded.gender, patient.gender),
        height = COALESCE(excluded.height, patient.height),
        weight = COALESCE(excluded.weight, patient.weight),
        skin_color = COALESCE(excluded.skin_color, patient.skin_color),
        hair_density = COALESCE(excluded.hair_density, patient.hair_density),
        time_zone = COALESCE(excluded.time_zone, patient.time_zone),
        updated_ms = excluded.updated_ms";
    FIND = "SELECT uuid, record_id, customer_code, birthday, gender, height, weight, skin_color, hair_density,
        time_zone, created_ms, updated_ms FROM patient WHERE uuid = $1";
    FIND_ALL = concat!(
        "SELECT uuid, record_id, customer_code, birthday, gender, height, weight, skin_color, hair_density,
        time_zone, created_ms, updated_ms FROM patient WHERE uuid IN (", list_of_64!(), ")");
    END_OF_PATIENT = "UPDATE session SET ended_ms = $2 WHERE patient = $1 AND ended_ms IS NULL";
    END_OF_KEY = "UPDATE session SET ended_ms = $2 WHERE api_key = $1 AND ended_ms IS NULL";
    END_OF_ACTOR = "UPDATE session SET ended_ms = $2 WHERE actor = $1 AND ended_ms IS NULL";
    END_OF_READERS = "UPDATE session SET ended_ms = $2 WHERE patient = $1 AND actor IS NOT NULL AND ended_ms IS NULL";
    END_OF_LOGIN = "UPDATE session SET ended_ms = $2 WHERE login = $1 AND ended_ms IS NULL";
    END_OF_CLIENT = "UPDATE session SET ended_ms = $2 WHERE client = $1 AND ended_ms IS NULL";
    END_OF_CONSENT = "UPDATE session SET ended_ms = $2 WHERE consent = $1 AND ended_ms IS NULL";
    /// Before the sessions: it waits for who redeems a code just now, whose session the next statement then sees.
    DROP_CODES = "DELETE FROM oauth_code WHERE patient = $1";
}

impl HealthDb {
    /// Makes a change that is owed, also when it is made already.
    pub async fn apply(&self, change: HealthChange) -> Result<()> {
        self.db.write(move |tx| apply(tx, &change)).await
    }

    /// The patient with this uuid.
    pub async fn patient(&self, uuid: &str) -> Result<Option<HealthPatient>> {
        let uuid = uuid.to_owned();
        self.db.read(move |tx| tx.query_opt(FIND, &[&uuid], read_patient)).await
    }

    /// The patients with these uuids, by uuid; the unknown are left out.
    pub async fn patients(&self, uuids: Vec<String>) -> Result<HashMap<String, HealthPatient>> {
        self.db
            .read(move |tx| {
                let mut found = HashMap::with_capacity(uuids.len());
                in_lists(&uuids, |list| {
                    let patients = tx.query(FIND_ALL, list, read_patient)?;
                    found.extend(patients.into_iter().map(|patient| (patient.uuid.clone(), patient)));
                    Ok(())
                })?;
                Ok(found)
            })
            .await
    }
}

fn apply(tx: &mut Tx<'_>, change: &HealthChange) -> Result<()> {
    match change {
        HealthChange::PutPatient { uuid, record_id, customer_code, profile, at_ms } => tx.execute(
            PUT,
            &[
                uuid,
                record_id,
                customer_code,
                &profile.birthday,
                &profile.gender,
                &profile.height,
                &profile.weight,
                &profile.skin_color,
                &profile.hair_density,
                &profile.time_zone,
                at_ms,
            ],
        ),
        HealthChange::SetSetting { uuid, name, valid_from_ms, fields, at_ms } => {
            return settings::set_fields(tx, uuid, name, *valid_from_ms, fields, *at_ms);
        }
        HealthChange::EndSessionsOfPatient { uuid, at_ms } => {
            tx.execute(DROP_CODES, &[uuid])?;
            tx.execute(END_OF_PATIENT, &[uuid, at_ms])
        }
        HealthChange::EndSessionsOfKey { key_id, at_ms } => tx.execute(END_OF_KEY, &[key_id, at_ms]),
        HealthChange::EndSessionsOfActor { account, at_ms } => tx.execute(END_OF_ACTOR, &[account, at_ms]),
        HealthChange::EndReadersOfPatient { uuid, at_ms } => tx.execute(END_OF_READERS, &[uuid, at_ms]),
        HealthChange::EndSessionsOfLogin { login, at_ms } => tx.execute(END_OF_LOGIN, &[login, at_ms]),
        HealthChange::EndSessionsOfClient { client, at_ms } => tx.execute(END_OF_CLIENT, &[client, at_ms]),
        HealthChange::EndSessionsOfConsent { consent, at_ms } => tx.execute(END_OF_CONSENT, &[consent, at_ms]),
    }
    .map(drop)
}

fn read_patient(row: &Row<'_>) -> Result<HealthPatient> {
    Ok(HealthPatient {
        uuid: row.get(0)?,
        record_id: row.get(1)?,
        customer_code: row.get(2)?,
        profile: Profile {
            birthday: row.get(3)?,
            gender: row.get(4)?,
            height: row.get(5)?,
            weight: row.get(6)?,
            skin_color: row.get(7)?,
            hair_density: row.get(8)?,
            time_zone: row.get(9)?,
        },
        created_ms: row.get(10)?,
        updated_ms: row.get(11)?,
    })
}
