//! Changes that operations of the users database enqueue for this one. Making one twice is making it once.
//!
//! Those of a patient come numbered, in the order in which they were committed there; a number that was made is not
//! made again, however late somebody comes with it. See `users/messages.rs`.

use boxed_futures::boxed_futures;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::alarms::{self, Alarm};
use super::db::HealthDb;
use super::devices::{self, WornDevice};
use super::patients::{self, BodyAttribute, KnownAs, Profile};
use super::settings::{self, FieldChange};
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::{AccountId, ApiKeyId, ClientId, ConsentId, FamilyId, GroupCode, PatientId, RecordId, SerialNumber};
use crate::texts::sql;

/// A change that an operation of the users database enqueues for this one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HealthChange {
    /// Adds a patient, or changes the attributes that are named.
    PutPatient {
        /// Identity.
        uuid: PatientId,
        /// Record identifier, 24 hex digits.
        record_id: RecordId,
        /// Five capitals.
        customer_code: Option<GroupCode>,
        /// What to set.
        profile: Profile,
        /// The time, ms.
        at_ms: i64,
    },
    /// Changes attributes of a patient's body; who is not there is added.
    ChangePatient {
        /// Identity.
        uuid: PatientId,
        /// Record identifier, 24 hex digits.
        record_id: RecordId,
        /// What to set.
        profile: Profile,
        /// What to take away.
        removed: Vec<BodyAttribute>,
        /// The time, ms.
        at_ms: i64,
    },
    /// Sets fields of a setting that enters a formula, from a time on.
    SetSetting {
        /// The patient.
        uuid: PatientId,
        /// Which setting.
        name: String,
        /// From when on it is valid, ms.
        valid_from_ms: i64,
        /// What to set; fields that are not named keep what was valid, null takes away.
        fields: Map<String, Value>,
        /// The time, ms.
        at_ms: i64,
    },
    /// Sets what a patient's groups have set, from now on.
    SetSettings {
        /// The patient.
        uuid: PatientId,
        /// Values by name; null where nothing is set any more.
        values: Map<String, Value>,
        /// The time, ms, from which on they are valid.
        at_ms: i64,
    },
    /// Puts alarms in the place of those that a patient has.
    SetAlarms {
        /// The patient.
        uuid: PatientId,
        /// All of them.
        alarms: Vec<Alarm>,
    },
    /// Adds a bracelet that a patient wears, or changes what is known of it.
    PutDevice {
        /// The patient.
        uuid: PatientId,
        /// Serial number.
        serial_number: SerialNumber,
        /// Model.
        device_type: String,
        /// Version of its firmware.
        firmware_version: Option<String>,
        /// The time, ms.
        at_ms: i64,
    },
    /// Removes a bracelet that a patient wears no more.
    RemoveDevice {
        /// The patient.
        uuid: PatientId,
        /// Serial number.
        serial_number: SerialNumber,
    },
    /// Ends the tokens that open a patient's data.
    EndSessionsOfPatient {
        /// The patient.
        uuid: PatientId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens by which anyone reads on a patient's behalf.
    EndReadersOfPatient {
        /// The patient.
        uuid: PatientId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that were asked for with an API key.
    EndSessionsOfKey {
        /// The key's record identifier.
        key_id: ApiKeyId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens by which an account reads on patients' behalf.
    EndSessionsOfActor {
        /// The account.
        account: AccountId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that tokens of a login on the Users Cloud were exchanged for.
    EndSessionsOfLogin {
        /// The login: the first of its tokens.
        login: FamilyId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that were issued to an OAuth client.
    EndSessionsOfClient {
        /// The client.
        client: ClientId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Ends the tokens that rest on a consent.
    EndSessionsOfConsent {
        /// The consent.
        consent: ConsentId,
        /// The time, ms.
        at_ms: i64,
    },
    /// Erases a patient from database and objects.
    ErasePatient {
        /// The patient.
        uuid: PatientId,
        /// The time, ms.
        at_ms: i64,
    },
}

impl HealthChange {
    /// Returns the patient that it is about; none when it is about an account or a key.
    pub fn patient(&self) -> Option<&PatientId> {
        match self {
            HealthChange::PutPatient { uuid, .. }
            | HealthChange::ChangePatient { uuid, .. }
            | HealthChange::SetSetting { uuid, .. }
            | HealthChange::SetSettings { uuid, .. }
            | HealthChange::SetAlarms { uuid, .. }
            | HealthChange::PutDevice { uuid, .. }
            | HealthChange::RemoveDevice { uuid, .. }
            | HealthChange::EndSessionsOfPatient { uuid, .. }
            | HealthChange::EndReadersOfPatient { uuid, .. }
            | HealthChange::ErasePatient { uuid, .. } => Some(uuid),
            HealthChange::EndSessionsOfKey { .. }
            | HealthChange::EndSessionsOfActor { .. }
            | HealthChange::EndSessionsOfLogin { .. }
            | HealthChange::EndSessionsOfClient { .. }
            | HealthChange::EndSessionsOfConsent { .. } => None,
        }
    }
}

sql! {
    /// Also holds the patient, so that their syncs and derivations wait for what follows.
    TAKE_NUMBER = "UPDATE patient SET changes = $2 WHERE uuid = $1 AND changes < $2";
    HOLD = "UPDATE patient SET changes = changes WHERE uuid = $1";
    END_OF_PATIENT = "UPDATE session SET ended_ms = $2 WHERE patient = $1 AND ended_ms IS NULL";
    END_OF_READERS = "UPDATE session SET ended_ms = $2
        WHERE patient = $1 AND actor IS NOT NULL AND ended_ms IS NULL";
    END_OF_KEY = "UPDATE session SET ended_ms = $2 WHERE api_key = $1 AND ended_ms IS NULL";
    END_OF_ACTOR = "UPDATE session SET ended_ms = $2 WHERE actor = $1 AND ended_ms IS NULL";
    END_OF_LOGIN = "UPDATE session SET ended_ms = $2 WHERE login = $1 AND ended_ms IS NULL";
    END_OF_CLIENT = "UPDATE session SET ended_ms = $2 WHERE client = $1 AND ended_ms IS NULL";
    END_OF_CONSENT = "UPDATE session SET ended_ms = $2 WHERE consent = $1 AND ended_ms IS NULL";
    /// Before the sessions: it waits for who redeems a code just now, whose session the next statement then sees.
    DROP_CODES = "DELETE FROM oauth_code WHERE patient = $1";
}

#[boxed_futures]
impl HealthDb {
    /// Makes a change that is enqueued, also when it is made already.
    pub async fn apply(&self, change: HealthChange) -> Result<()> {
        // It reaches into the object store, which no transaction may wait for.
        if let HealthChange::ErasePatient { uuid, at_ms } = &change {
            return self.erase_patient(uuid, *at_ms).await;
        }
        match change.patient().cloned() {
            Some(owner) => self.db.write_of((&owner).into(), async move |tx| apply(tx, &change).await).await,
            None => self.db.write(async move |tx| apply(tx, &change).await).await,
        }
    }

    /// Makes a change of a patient that has a number, unless that or a later one was made already. Changes to a patient
    /// who was erased are none.
    pub async fn apply_numbered(&self, change: HealthChange, number: i64) -> Result<()> {
        let Some(patient) = change.patient().cloned() else { return self.apply(change).await };
        if matches!(change, HealthChange::ErasePatient { .. }) {
            return self.apply(change).await;
        }
        let owner = patient.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                if tx.execute(TAKE_NUMBER, &[&patient, &number]).await? == 1 {
                    return apply(tx, &change).await;
                }
                // No row was raised: either the number was made before, or the patient is not here yet, which only the
                // change that adds one can help.
                let is_new = tx.execute(HOLD, &[&patient]).await? == 0;
                if is_new && matches!(change, HealthChange::PutPatient { .. } | HealthChange::ChangePatient { .. }) {
                    apply(tx, &change).await?;
                    tx.put(TAKE_NUMBER, &[&patient, &number]).await?;
                }
                Ok(())
            })
            .await
    }
}

async fn apply(tx: &Tx<'_>, change: &HealthChange) -> Result<()> {
    match change {
        HealthChange::PutPatient { uuid, record_id, customer_code, profile, at_ms } => {
            let known = KnownAs { record_id, customer_code: customer_code.as_ref(), profile, removed: &[] };
            return patients::put(tx, uuid, known, *at_ms).await;
        }
        HealthChange::ChangePatient { uuid, record_id, profile, removed, at_ms } => {
            let known = KnownAs { record_id, customer_code: None, profile, removed };
            return patients::put(tx, uuid, known, *at_ms).await;
        }
        HealthChange::SetSetting { uuid, name, valid_from_ms, fields, at_ms } => {
            let change = FieldChange { name, valid_from_ms: *valid_from_ms, fields };
            return settings::set_fields(tx, uuid, change, *at_ms).await;
        }
        HealthChange::SetSettings { uuid, values, at_ms } => {
            return settings::set_values(tx, uuid, values, *at_ms).await;
        }
        HealthChange::SetAlarms { uuid, alarms } => return alarms::put(tx, uuid, alarms).await,
        HealthChange::PutDevice { uuid, serial_number, device_type, firmware_version, at_ms } => {
            let worn = WornDevice { serial_number, device_type, firmware_version: firmware_version.as_deref() };
            return devices::put(tx, uuid, worn, *at_ms).await;
        }
        HealthChange::RemoveDevice { uuid, serial_number } => return devices::remove(tx, uuid, serial_number).await,
        HealthChange::EndSessionsOfPatient { uuid, at_ms } => {
            tx.put(DROP_CODES, &[uuid]).await?;
            tx.execute(END_OF_PATIENT, &[uuid, at_ms]).await
        }
        HealthChange::EndReadersOfPatient { uuid, at_ms } => tx.execute(END_OF_READERS, &[uuid, at_ms]).await,
        HealthChange::EndSessionsOfKey { key_id, at_ms } => tx.execute(END_OF_KEY, &[key_id, at_ms]).await,
        HealthChange::EndSessionsOfActor { account, at_ms } => tx.execute(END_OF_ACTOR, &[account, at_ms]).await,
        HealthChange::EndSessionsOfLogin { login, at_ms } => tx.execute(END_OF_LOGIN, &[login, at_ms]).await,
        HealthChange::EndSessionsOfClient { client, at_ms } => tx.execute(END_OF_CLIENT, &[client, at_ms]).await,
        HealthChange::EndSessionsOfConsent { consent, at_ms } => tx.execute(END_OF_CONSENT, &[consent, at_ms]).await,
        // It is made in steps of its own, see `HealthDb::apply`.
        HealthChange::ErasePatient { .. } => return Ok(()),
    }
    .map(drop)
}
