//! Reading latest values and the newest NEWS score.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use vitals::latest::LatestValues;
use vitals::news_timeline::{EntryPart, NewsEntry};

use crate::core::access::{Readable, Researcher};
use crate::core::error::Result;
use crate::data::Data;
use store::PatientId;

/// The newest NEWS entry, and when it was read: ages count up to then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewsReading {
    /// The entry.
    pub entry: NewsEntry,
    /// Time at which it was read, ms.
    pub read_ms: i64,
    /// How much the patient moved then, 0 to 4; `None` when no acceleration was sent.
    pub movement_level: Option<u8>,
}

impl NewsReading {
    /// Age of the entry, whole seconds; 0 for one that is a little ahead of the clock.
    pub fn age_s(&self) -> i64 {
        age_s(self.read_ms, self.entry.time_ms)
    }

    /// Age of a part's measurement when it was read, whole seconds; `None` when there is none.
    pub fn part_age_s(&self, part: &EntryPart) -> Option<i64> {
        part.measured.map(|measured| age_s(self.read_ms, measured.timestamp_ms))
    }
}

fn age_s(read_ms: i64, time_ms: i64) -> i64 {
    ((read_ms - time_ms) / 1000).max(0)
}

#[boxed_futures]
impl Data {
    /// Latest values of patients with their NEWS scores; those without any value are left out.
    pub async fn latest_values(&self, patients: &Readable<Vec<PatientId>>) -> Result<HashMap<PatientId, LatestValues>> {
        let found = self.core.health().latest_of_patients(patients.uuids().to_vec()).await?;
        let valid = found.into_iter().map(|(patient, measured)| (patient, measured.valid));
        Ok(valid.filter(|(_, values)| !values.is_empty()).collect())
    }

    /// Returns the newest NEWS entry of a patient; `None` when nothing has been scored yet.
    pub async fn latest_news_score(&self, researcher: &Researcher, patient: &PatientId) -> Result<Option<NewsReading>> {
        let readable = self.core.readable_patient(researcher, patient).await?;
        let Some(mut entry) = self.core.health().newest_news(readable.uuid()).await? else { return Ok(None) };
        let known = self.core.health().latest_of_patients(vec![readable.uuid().clone()]).await?.remove(patient);
        // An entry looks back a limited time; the newest measurements say what was ever measured, however long ago.
        entry.name_forgotten(&known.unwrap_or_default());
        let movement_level = self.movement_at(&readable, entry.time_ms).await?;
        Ok(Some(NewsReading { entry, read_ms: self.core.now_ms(), movement_level }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::news_timeline::SettingsAt;

    #[test]
    fn ages_count_up_to_the_reading_and_are_never_negative() {
        let known = LatestValues { spo2: Some((97.0, 1_000).into()), ..LatestValues::default() };
        let entry = NewsEntry::at(61_000, &known.into(), &SettingsAt::default(), None);
        let reading = NewsReading { entry, read_ms: 91_999, movement_level: None };
        assert_eq!(reading.age_s(), 30);
        let ages: Vec<Option<i64>> = entry.parts.iter().map(|part| reading.part_age_s(part)).collect();
        assert_eq!(ages, [None, Some(90), None, None, None]);
        assert_eq!(NewsReading { read_ms: 0, ..reading }.age_s(), 0);
    }
}
