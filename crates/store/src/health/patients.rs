//! Patients as bodies: what enters a formula, under a uuid and no name.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use serde::{Deserialize, Serialize};

use super::db::HealthDb;
use super::{due, settings};
use crate::checksum::{self, Of};
use crate::engine::{Columns, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::{GroupCode, PatientId, RecordId};
use crate::names::Gender;
use crate::texts::{list_of_64, record, sql};

/// Attributes of a body. Absent ones are not known, or in a change not touched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Date of birth, YYYY-MM-DD.
    pub birthday: Option<String>,
    /// Gender.
    pub gender: Option<Gender>,
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

/// An attribute of a body that can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyAttribute {
    /// Date of birth.
    Birthday,
    /// Gender.
    Gender,
    /// Height.
    Height,
    /// Weight.
    Weight,
    /// Skin colour.
    SkinColor,
    /// Hair density.
    HairDensity,
    /// Time zone.
    TimeZone,
}

/// A patient as the health database knows them.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthPatient {
    /// Identity, in both databases.
    pub uuid: PatientId,
    /// Record identifier, 24 hex digits.
    pub record_id: RecordId,
    /// Five capitals of the group that the patient was enrolled in.
    pub customer_code: Option<GroupCode>,
    /// Their body.
    pub profile: Profile,
    /// Creation, ms.
    pub created_ms: i64,
    /// Last change, ms.
    pub updated_ms: i64,
    /// Time at which the last sync was stored, ms.
    pub last_sync_ms: Option<i64>,
}

record! {
    profile_columns!(""), read_profile(columns) -> Profile {
        birthday, gender, height, weight, skin_color, hair_density, time_zone,
    }
}

record! {
    patient_columns!(""), read_patient(columns) -> HealthPatient {
        uuid, record_id, customer_code, profile <- profile_columns!(read_profile), created_ms, updated_ms, last_sync_ms,
    }
}

/// The columns that [`read_checked`] reads, in its order; to be used inside `concat!`.
macro_rules! checked_columns {
    () => {
        concat!(patient_columns!(), ", profile_sum")
    };
}

record! {
    walked_columns!(""), read_walked(row) -> Walked { patient <- patient_columns!(read_patient), profile_sum, latest }
}

sql! {
    /// The columns of a body are those after the change: what it takes away is not there.
    PUT = "INSERT INTO patient (uuid, record_id, customer_code, birthday, gender, height, weight, skin_color,
        hair_density, time_zone, created_ms, updated_ms, arrivals, fold_token, fold_lease_until_ms, derivations,
        profile_sum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 0, 0, 0, $12, $13)
        ON CONFLICT (uuid) DO UPDATE SET
        customer_code = COALESCE(excluded.customer_code, patient.customer_code),
        birthday = excluded.birthday, gender = excluded.gender, height = excluded.height, weight = excluded.weight,
        skin_color = excluded.skin_color, hair_density = excluded.hair_density, time_zone = excluded.time_zone,
        updated_ms = excluded.updated_ms, profile_sum = excluded.profile_sum";
    FIND = concat!("SELECT ", checked_columns!(), " FROM patient WHERE uuid = $1");
    FIND_ALL = concat!("SELECT ", checked_columns!(), " FROM patient WHERE uuid IN (", list_of_64!(), ")");
    /// With the latest values behind the other columns.
    FIND_AFTER = concat!("SELECT ", walked_columns!(), " FROM patient WHERE uuid > $1 ORDER BY uuid LIMIT $2");
    IS_ERASED = "SELECT uuid FROM erased_patient WHERE uuid = $1";
    DELETE = "DELETE FROM patient WHERE uuid = $1";
}

#[boxed_futures]
impl HealthDb {
    /// Returns the patient with this uuid.
    pub async fn patient(&self, uuid: &PatientId) -> Result<Option<HealthPatient>> {
        let uuid = uuid.clone();
        self.db.look_up(async move |tx| tx.query_opt(FIND, &[&uuid], read_checked).await).await
    }

    /// Returns the patients with these uuids, by uuid; the unknown are left out.
    pub async fn patients(&self, uuids: Vec<PatientId>) -> Result<HashMap<PatientId, HealthPatient>> {
        self.db
            .read_by_name(uuids, FIND_ALL, |row| read_checked(row).map(|patient| (patient.uuid.clone(), patient)))
            .await
    }
}

/// What the users database says of a patient.
pub(super) struct KnownAs<'change> {
    /// Record identifier; kept from the first time on.
    pub record_id: &'change RecordId,
    pub customer_code: Option<&'change GroupCode>,
    pub profile: &'change Profile,
    /// Attributes to take away.
    pub removed: &'change [BodyAttribute],
}

/// Adds a patient, or changes those attributes that are named; marks due what follows from a changed body. One who was
/// erased does not come back.
pub(super) async fn put(tx: &Tx<'_>, uuid: &PatientId, known: KnownAs<'_>, at_ms: i64) -> Result<()> {
    let KnownAs { record_id, customer_code, profile, removed } = known;
    // What is known is compared below: a change that repeats it must not have all days computed again.
    let before = tx.query_opt(FIND, &[&uuid], read_checked).await?;
    let mut merged = before.as_ref().map_or_else(|| profile.clone(), |before| profile.over(&before.profile));
    for attribute in removed {
        merged.remove(*attribute);
    }
    tx.put(
        PUT,
        &[
            &uuid,
            &record_id,
            &customer_code,
            &merged.birthday,
            &merged.gender,
            &merged.height,
            &merged.weight,
            &merged.skin_color,
            &merged.hair_density,
            &merged.time_zone,
            &at_ms,
            &vitals::derivation::versions(),
            &profile_sum(uuid, &merged)?,
        ],
    )
    .await?;
    // After the row is written, which waits for an erasure that is under way.
    if tx.query_opt(IS_ERASED, &[&uuid], |_| Ok(())).await?.is_some() {
        return tx.execute(DELETE, &[&uuid]).await.map(drop);
    }
    if let Some(before) = &before
        && before.profile.weight != merged.weight
    {
        settings::keep_weight(tx, uuid, before.profile.weight, merged.weight, at_ms).await?;
    }
    match before {
        Some(before) if merged.in_formulas() != before.profile.in_formulas() => due::mark_all(tx, uuid, at_ms).await,
        _ => Ok(()),
    }
}

/// A patient's row before anything of it is compared.
struct Walked {
    patient: HealthPatient,
    profile_sum: Option<i64>,
    latest: Option<String>,
}

/// What a walk reads of a patient.
pub(super) struct WalkedPatient {
    pub uuid: PatientId,
    /// The profile, or how it is damaged.
    pub profile: Result<Profile>,
    /// The text of the latest values.
    pub latest: Option<String>,
}

/// Up to `limit` patients behind a uuid, in the order of uuids.
pub(super) async fn after(tx: &Tx<'_>, uuid: &str, limit: i64) -> Result<Vec<WalkedPatient>> {
    let read = |row: &Row<'_>| {
        let Walked { patient, profile_sum, latest } = read_walked(row)?;
        let HealthPatient { uuid, profile, .. } = patient;
        let profile = check_profile(&uuid, &profile, profile_sum).map(|()| profile);
        Ok(WalkedPatient { uuid, profile, latest })
    };
    tx.query(FIND_AFTER, &[&uuid, &limit], read).await
}

/// Reads [`checked_columns!`], and compares the profile with its sum.
fn read_checked(row: &Row<'_>) -> Result<HealthPatient> {
    let mut columns = Columns::of(row);
    let patient = read_patient(&mut columns)?;
    check_profile(&patient.uuid, &patient.profile, columns.take()?)?;
    Ok(patient)
}

/// Compares what formulas take of a profile with its checksum.
pub(super) fn check_profile(patient: &PatientId, profile: &Profile, sum: Option<i64>) -> Result<()> {
    if checksum::is_intact(sum, profile_sum(patient, profile)?) {
        return Ok(());
    }
    Err(StoreError::Damaged("the checksum of a profile is another one".to_owned()))
}

fn profile_sum(patient: &PatientId, profile: &Profile) -> Result<i64> {
    let Profile { birthday, gender, height, weight, time_zone, .. } = profile;
    let text = serde_json::to_vec(&(birthday, gender, height, weight, time_zone));
    let text = text.map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(checksum::of_row(Of::Profile, patient, &[], checksum::of_bytes(&text)))
}

impl Profile {
    /// Returns the profile after this change of a known one.
    fn over(&self, known: &Profile) -> Profile {
        Profile {
            birthday: self.birthday.clone().or_else(|| known.birthday.clone()),
            gender: self.gender.or(known.gender),
            height: self.height.or(known.height),
            weight: self.weight.or(known.weight),
            skin_color: self.skin_color.or(known.skin_color),
            hair_density: self.hair_density.or(known.hair_density),
            time_zone: self.time_zone.clone().or_else(|| known.time_zone.clone()),
        }
    }

    /// Takes an attribute away.
    fn remove(&mut self, attribute: BodyAttribute) {
        match attribute {
            BodyAttribute::Birthday => self.birthday = None,
            BodyAttribute::Gender => self.gender = None,
            BodyAttribute::Height => self.height = None,
            BodyAttribute::Weight => self.weight = None,
            BodyAttribute::SkinColor => self.skin_color = None,
            BodyAttribute::HairDensity => self.hair_density = None,
            BodyAttribute::TimeZone => self.time_zone = None,
        }
    }

    /// Returns what formulas take of it: days have to be computed again when that changes.
    fn in_formulas(&self) -> impl PartialEq {
        (self.birthday.clone(), self.gender, self.height, self.weight, self.time_zone.clone())
    }
}
