//! Packed cells of local days.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use vitals::derivation::{DerivedRow, day_and_type, keys_of_days};
use vitals::registry::DataType;
use vitals::zone::LocalDay;

use super::db::HealthDb;
use super::derived::{find_of_patients, known, read_row};
use super::stored_derived::derived_columns;
use crate::engine::Param;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::{list_of_64, sql};

sql! {
    FIND_DAYS_OF_TWO = concat!("SELECT ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 1 AND key >= $2 AND key <= $3 AND (key % 64 = $4 OR key % 64 = $5)
        ORDER BY key");
    FIND_OF_PATIENTS = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient IN (", list_of_64!(), ") AND output = 1 AND (key = $65 OR key = $66) ORDER BY patient, key");
}

#[boxed_futures]
impl HealthDb {
    /// Returns the packed cells of two types of a patient on local days, first and last included, by day.
    pub async fn slots_of_types(
        &self,
        patient: &PatientId,
        first: LocalDay,
        last: LocalDay,
        types: [DataType; 2],
    ) -> Result<Vec<DerivedRow>> {
        let patient = patient.clone();
        self.db
            .read(async move |tx| {
                let ((from, to), [one, other]) = (keys_of_days(first, last), types.map(DataType::number));
                let params: [&dyn Param; 5] = [&patient, &from, &to, &one, &other];
                known(tx.query(FIND_DAYS_OF_TWO, &params, |row| read_row(&patient, row)).await?)
            })
            .await
    }

    /// Returns the packed cells of two types of several patients on one local day, by patient; those without any are left
    /// out.
    pub async fn slots_of_patients(
        &self,
        patients: Vec<PatientId>,
        day: LocalDay,
        types: [DataType; 2],
    ) -> Result<HashMap<PatientId, Vec<DerivedRow>>> {
        self.db
            .read(async move |tx| {
                let [one, other] = types.map(|data_type| day_and_type(day, data_type));
                find_of_patients(tx, FIND_OF_PATIENTS, &patients, &[&one, &other]).await
            })
            .await
    }
}
