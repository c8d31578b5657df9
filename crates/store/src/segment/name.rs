//! The path of a segment in the object store.

use vitals::registry::DataType;

use super::period::SealedPeriod;
use crate::ids::PatientId;

/// What a segment is of, and which writing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentName {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// The day or month.
    pub period: SealedPeriod,
    /// Counts the writings of this period, from 1.
    pub generation: i64,
    /// A random number: two workers that write the same generation never write to the same path.
    pub random: u64,
}

impl SegmentName {
    /// Returns the path, in the form that DuckDB, Spark and polars read type, period and patient from.
    pub fn path(&self) -> String {
        let folder = patient_folder(self.data_type, self.period, &self.patient);
        format!("{folder}/{:06}-{:016x}.parquet", self.generation, self.random)
    }
}

/// Returns the folder of all segments of a patient, type and period.
pub(crate) fn patient_folder(data_type: DataType, period: SealedPeriod, patient: &PatientId) -> String {
    format!("v1/type={}/{}/patient={patient}", data_type.name(), period.folder(data_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_hives() {
        let name = |data_type| SegmentName {
            patient: PatientId::new("00000000-0000-0000-0000-000000001234"),
            data_type,
            period: SealedPeriod::of(data_type, 1_795_132_800_000_000),
            generation: 3,
            random: 0xabc,
        };
        assert_eq!(
            name(DataType::Ppg2).path(),
            "v1/type=ppg2/day=2026-11-20/patient=00000000-0000-0000-0000-000000001234/000003-0000000000000abc.parquet"
        );
        assert!(name(DataType::RrInterval).path().starts_with("v1/type=rr-interval/month=2026-11/patient="));
    }
}
