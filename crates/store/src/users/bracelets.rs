//! Bracelets as an inventory: which there are, and who wears which.
//!
//! A bracelet that is worn belongs with its patient, and anyone who may act on them may act on it. One that nobody
//! wears is shared by the groups of the account that registered it; a key for named groups does not reach it, for it
//! belongs to none of them.

use boxed_futures::boxed_futures;
use runtime::HashSet;

use super::api_keys::key_opens;
use super::audit::Audit;
use super::db::UsersDb;
use super::messages::HealthMessage;
use crate::engine::Tx;
use crate::engine::row::Columns;
use crate::error::{Result, StoreError};
use crate::ids::{AccountId, ApiKeyId, AttachmentId, BraceletId, PatientId, SerialNumber};
use crate::texts::{in_lists, list_of_64, record, sql};

/// A bracelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bracelet {
    /// Record identifier, 24 hex digits.
    pub id: BraceletId,
    /// What is printed on it; its name in paths.
    pub serial_number: SerialNumber,
    /// Model.
    pub device_type: String,
    /// Version of its firmware.
    pub firmware_version: Option<String>,
    /// The account that registered it.
    pub registered_by: AccountId,
    /// Registration, ms.
    pub created_ms: i64,
    /// The patient who wears it.
    pub worn_by: Option<PatientId>,
}

/// How putting a bracelet on a patient's wrist ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// The patient wears it now.
    Attached,
    /// The patient wore it already. Nothing was changed.
    WornAlready,
    /// Somebody else wears it. Nothing was changed.
    WornByAnother,
}

record! {
    bracelet_columns!("b."), read_bracelet(columns) -> Bracelet {
        id, serial_number, device_type, firmware_version, registered_by, created_ms, worn_by = "w.patient",
    }
}

/// A bracelet with its wearer.
macro_rules! with_wearer {
    () => {
        " FROM bracelet b LEFT JOIN bracelet_attachment w ON w.bracelet = b.id AND w.detached_ms IS NULL"
    };
}

/// Whether an account ($1) with a key ($2) may act on the bracelet.
macro_rules! allowed {
    () => {
        concat!(
            "CASE WHEN w.patient IS NOT NULL THEN
                EXISTS (SELECT 1 FROM group_patient h JOIN membership m ON m.group_code = h.group_code
                    WHERE h.patient = w.patient AND m.account = $1 AND ",
            key_opens!("$2", "h.group_code"),
            ") ELSE NOT EXISTS (SELECT 1 FROM api_key k WHERE k.id = $2 AND k.is_scoped) AND (b.registered_by = $1 OR
                EXISTS (SELECT 1 FROM membership mine JOIN membership theirs ON theirs.group_code = mine.group_code
                    WHERE mine.account = $1 AND theirs.account = b.registered_by))
            END"
        )
    };
}

sql! {
    REGISTERED = concat!("SELECT serial_number FROM bracelet WHERE serial_number IN (", list_of_64!(), ")");
    ADD = "INSERT INTO bracelet (id, serial_number, device_type, firmware_version, registered_by, created_ms)
        VALUES ($1, $2, $3, $4, $5, $6)";
    LIST = concat!("SELECT ", bracelet_columns!(), with_wearer!(), " WHERE ", allowed!(), " ORDER BY b.created_ms, b.id");
    FIND = concat!("SELECT ", bracelet_columns!(), ", ", allowed!(), with_wearer!(), " WHERE b.serial_number = $3");
    CHANGE = "UPDATE bracelet SET device_type = $2, firmware_version = $3 WHERE id = $1";
    /// Makes what changes a bracelet follow each other.
    HOLD = "UPDATE bracelet SET id = id WHERE id = $1";
    WEARER = "SELECT patient FROM bracelet_attachment WHERE bracelet = $1 AND detached_ms IS NULL";
    REMOVE = "DELETE FROM bracelet WHERE id = $1";
    ATTACH = "INSERT INTO bracelet_attachment (id, bracelet, patient, attached_ms) VALUES ($1, $2, $3, $4)";
    DETACH = "UPDATE bracelet_attachment SET detached_ms = $3
        WHERE bracelet = $1 AND patient = $2 AND detached_ms IS NULL";
}

/// What an operation on a bracelet ends with.
#[derive(Clone)]
pub enum Completion {
    /// It ends here, with these entries.
    Here(Audit),
    /// It enqueues a change for the health database, because the bracelet is worn.
    Enqueued(Box<HealthMessage>),
}

#[boxed_futures]
impl UsersDb {
    /// Registers a bracelet and writes the entries. [`StoreError::Conflict`] when its serial number is taken.
    pub async fn add_bracelet(&self, bracelet: Bracelet, audit: Audit) -> Result<()> {
        self.write_logged(async move |tx| {
            let Bracelet { id, serial_number, device_type, firmware_version, registered_by, created_ms, .. } =
                &bracelet;
            tx.put(ADD, &[id, serial_number, device_type, firmware_version, registered_by, created_ms]).await?;
            audit.append(tx).await
        })
        .await
    }

    /// Returns the bracelets that an account may act on with a key, oldest first.
    pub async fn bracelets(&self, account: &AccountId, key_id: Option<&ApiKeyId>) -> Result<Vec<Bracelet>> {
        let (account, key_id) = (account.clone(), key_id.cloned());
        self.db
            .read(async move |tx| {
                tx.query(LIST, &[&account, &key_id], |row| read_bracelet(&mut Columns::of(row))).await
            })
            .await
    }

    /// Returns those of some serial numbers that are registered, by whomever.
    pub async fn registered(&self, serial_numbers: Vec<SerialNumber>) -> Result<HashSet<SerialNumber>> {
        let read = async move |tx: &Tx<'_>| {
            let mut found = HashSet::default();
            in_lists(&serial_numbers, async |list| {
                found.extend(tx.query(REGISTERED, list, |row| row.get::<SerialNumber>(0)).await?);
                Ok(())
            })
            .await?;
            Ok(found)
        };
        self.db.read(read).await
    }

    /// Returns the bracelet with this serial number, and whether an account may act on it with a key.
    pub async fn bracelet(
        &self,
        serial_number: &SerialNumber,
        account: &AccountId,
        key_id: Option<&ApiKeyId>,
    ) -> Result<Option<(Bracelet, bool)>> {
        let (serial_number, account, key_id) = (serial_number.clone(), account.clone(), key_id.cloned());
        self.db
            .read(async move |tx| {
                tx.query_opt(FIND, &[&account, &key_id, &serial_number], |row| {
                    let mut columns = Columns::of(row);
                    Ok((read_bracelet(&mut columns)?, columns.take()?))
                })
                .await
            })
            .await
    }

    /// Writes model and firmware of a bracelet as they are given. False, and nothing is changed, when it is not there
    /// or is no longer worn by the one who is given.
    pub async fn change_bracelet(&self, bracelet: Bracelet, completion: Completion) -> Result<bool> {
        self.write_logged(async move |tx| {
            let Bracelet { id, device_type, firmware_version, worn_by, .. } = &bracelet;
            // The message was made for this wearer: for another one it would change the wrong patient's row.
            if wearer(tx, id).await? != *worn_by || tx.execute(CHANGE, &[id, device_type, firmware_version]).await? == 0
            {
                return Ok(false);
            }
            match &completion {
                Completion::Here(audit) => audit.append(tx).await?,
                Completion::Enqueued(message) => message.enqueue(tx).await?,
            }
            Ok(true)
        })
        .await
    }

    /// Removes a bracelet that nobody wears and writes the entries. False, and nothing is changed, when it is worn.
    pub async fn remove_bracelet(&self, id: &BraceletId, audit: Audit) -> Result<bool> {
        let id = id.clone();
        self.write_logged(async move |tx| {
            // Held from here on: nobody can put the bracelet on before it is removed.
            if wearer(tx, &id).await?.is_some() {
                return Ok(false);
            }
            if tx.execute(REMOVE, &[&id]).await? == 0 {
                return Err(StoreError::Gone("bracelet"));
            }
            audit.append(tx).await?;
            Ok(true)
        })
        .await
    }

    /// Puts a bracelet on a patient's wrist and enqueues for the health database its device.
    pub async fn attach_bracelet(
        &self,
        id: &AttachmentId,
        bracelet: &BraceletId,
        patient: &PatientId,
        now_ms: i64,
        message: HealthMessage,
    ) -> Result<Attachment> {
        let (owner, id, bracelet, patient) = (patient, id.clone(), bracelet.clone(), patient.clone());
        self.db
            .write_of(owner.into(), async move |tx| {
                match wearer(tx, &bracelet).await? {
                    Some(worn_by) if worn_by == patient => return Ok(Attachment::WornAlready),
                    Some(_) => return Ok(Attachment::WornByAnother),
                    None => {}
                }
                // First, because it says whether the patient is there.
                message.enqueue(tx).await?;
                tx.put(ATTACH, &[&id, &bracelet, &patient, &now_ms]).await?;
                Ok(Attachment::Attached)
            })
            .await
    }

    /// Takes a bracelet off a patient's wrist and enqueues for the health database the end of its device. False, and
    /// nothing is changed, when the patient does not wear it.
    pub async fn detach_bracelet(
        &self,
        bracelet: &BraceletId,
        patient: &PatientId,
        now_ms: i64,
        message: HealthMessage,
    ) -> Result<bool> {
        let (owner, bracelet, patient) = (patient, bracelet.clone(), patient.clone());
        self.db
            .write_of(owner.into(), async move |tx| {
                if tx.execute(DETACH, &[&bracelet, &patient, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }
}

/// Returns who wears a bracelet, which is held until the transaction ends.
async fn wearer(tx: &Tx<'_>, bracelet: &BraceletId) -> Result<Option<PatientId>> {
    if tx.execute(HOLD, &[&bracelet]).await? == 0 {
        return Err(StoreError::Gone("bracelet"));
    }
    tx.query_opt(WEARER, &[&bracelet], |row| row.get(0)).await
}
