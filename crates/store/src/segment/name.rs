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
        let folder = folder(self.data_type, &self.period.folder(), &self.patient);
        format!("{folder}/{:06}-{:016x}.parquet", self.generation, self.random)
    }
}

fn folder(data_type: DataType, period: &str, patient: &PatientId) -> String {
    format!("v1/type={}/{period}/patient={patient}", data_type.name())
}

/// Returns the folders in which segments of a patient, type and period may lie: today's, and that of before there was one
/// key for all types.
pub(crate) fn patient_folders(data_type: DataType, period: SealedPeriod, patient: &PatientId) -> [String; 2] {
    [period.folder(), period.former_folder(data_type)].map(|period| folder(data_type, &period, patient))
}

/// Returns the folders in which earlier writings of a segment's period may lie, its own first.
pub fn folders_of_segment(path: &str) -> Vec<String> {
    let Some((folder, name)) = path.rsplit_once('/') else { return Vec::new() };
    let mut folders = vec![folder.to_owned()];
    let period = folder.split('/').find_map(|part| part.strip_prefix("period="));
    // Before the first writing there is nothing to look for, and a look costs a request.
    if let Some(date) = period.filter(|_| !name.starts_with("000001-")) {
        let month = date.get(..7).unwrap_or(date);
        for former in [format!("day={date}"), format!("month={month}")] {
            folders.push(folder.replace(&format!("period={date}"), &former));
        }
    }
    folders
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
            "v1/type=ppg2/period=2026-11-20/patient=00000000-0000-0000-0000-000000001234/000003-0000000000000abc.parquet"
        );
        assert!(name(DataType::RrInterval).path().starts_with("v1/type=rr-interval/period=2026-11-01/patient="));
    }

    #[test]
    fn earlier_writings_are_looked_for_under_the_former_keys_too() {
        assert_eq!(
            folders_of_segment("v1/type=tests/period=2026-11-01/patient=p/000003-0a.parquet"),
            [
                "v1/type=tests/period=2026-11-01/patient=p",
                "v1/type=tests/day=2026-11-01/patient=p",
                "v1/type=tests/month=2026-11/patient=p",
            ]
        );
        assert_eq!(folders_of_segment("v1/type=acc/day=2026-11-20/patient=p/000002-0a.parquet").len(), 1);
        assert_eq!(folders_of_segment("v1/type=acc/period=2026-11-20/patient=p/000001-0a.parquet").len(), 1);
        let patient = PatientId::new("00000000-0000-0000-0000-000000001234");
        for data_type in [DataType::Ppg2, DataType::Tests] {
            let period = SealedPeriod::of(data_type, 1_795_132_800_000_000);
            let name = SegmentName { patient: patient.clone(), data_type, period, generation: 2, random: 1 };
            let [present, former] = patient_folders(data_type, period, &patient);
            let folders = folders_of_segment(&name.path());
            assert!(folders[0] == present && folders[1..].contains(&former), "{folders:?}");
        }
    }
}
