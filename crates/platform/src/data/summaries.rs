//! Reading daily summaries: all of a day stays as it was derived until it is written out.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use store::PatientId;
use vitals::derivation::{DerivedRow, Output, day_of, extra_of_day, keys_of_days};
use vitals::registry::DataType;
use vitals::summary::Section;
use vitals::summary::slots_json::{DaySlots, write_day};
use vitals::zone::LocalDay;

use crate::core::access::{Readable, Researcher};
use crate::core::error::Result;
use crate::data::Data;
use crate::data::compliance::cells_of;
use crate::data::unreadable::ReadOfMany;

/// Patients whose days are best read together: an answer over more is streamed in such parts.
pub const PATIENTS_AT_ONCE: usize = 32;

/// The types of which slots are shown.
const SHOWN_TYPES: [DataType; 2] = [DataType::Activity, DataType::Temperature];

/// What is read of days besides their sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayParts {
    /// Slots of thirty minutes.
    pub slots: bool,
    /// Figures beyond the specification.
    pub extra: bool,
}

/// A patient's day.
#[derive(Clone, Debug)]
pub struct PatientDay {
    /// Whose.
    pub patient: PatientId,
    /// Which.
    pub day: LocalDay,
    /// What is shown besides the sections.
    parts: DayParts,
    /// Sections and the parts that are shown, as they were derived.
    rows: Vec<DerivedRow>,
    /// What is stored of the day is damaged, and looks here as a day without data.
    is_unreadable: bool,
}

impl PatientDay {
    fn new(patient: &PatientId, day: LocalDay, parts: DayParts, rows: Vec<DerivedRow>) -> Self {
        PatientDay { patient: patient.clone(), day, parts, rows, is_unreadable: false }
    }

    /// Returns the keys and contents of an output.
    fn of(&self, output: Output) -> impl Iterator<Item = (i64, &[u8])> {
        let rows = self.rows.iter().filter(move |row| row.output == output);
        rows.filter_map(|row| Some((row.key, row.body.as_deref()?)))
    }

    fn slots(&self) -> DaySlots {
        DaySlots::new(cells_of(&self.rows).unwrap_or_default(), cells_of(&self.rows).unwrap_or_default())
    }

    /// Appends the day as JSON: its date and the sections wanted, with slots and `extra` where they were asked for, and
    /// `unreadable` where it is. With slots this is work of a good part of a millisecond: for a thread that may block.
    pub fn write_json(&self, out: &mut Vec<u8>, wanted: &[Section]) {
        // A section that this version does not know is not shown.
        let known = |(key, body)| Some((Section::from_number(day_of(key).1)?, body));
        let bodies: Vec<(Section, &[u8])> = self.of(Output::Section).filter_map(known).collect();
        let slots = self.parts.slots.then(|| self.slots());
        write_day(out, self.day, wanted, &bodies, slots.as_ref());
        if self.parts.extra {
            let extra = extra_of_day(self.of(Output::Extra));
            // `write_day` has closed the object; `extra` is its last member.
            out.pop();
            out.extend_from_slice(b",\"extra\":");
            // Numbers and names, written to memory: it cannot fail.
            let _ = serde_json::to_writer(&mut *out, &extra);
            out.push(b'}');
        }
        if self.is_unreadable {
            out.pop();
            out.extend_from_slice(b",\"unreadable\":true}");
        }
    }
}

/// The same day of patients.
struct DayOfPatients<'read> {
    data: &'read Data,
    day: LocalDay,
    parts: DayParts,
}

impl ReadOfMany for DayOfPatients<'_> {
    type Row = PatientDay;

    const NAME: &'static str = "daily summaries";

    async fn rows(&self, patients: &Readable<Vec<PatientId>>) -> Result<Vec<PatientDay>> {
        let (patients, day, parts) = (patients.uuids(), self.day, self.parts);
        let health = self.data.core.health();
        // With the sections in one statement: both lie on the same keys.
        let outputs = [Output::Section, if parts.extra { Output::Extra } else { Output::Section }];
        let mut found = health.derived_of_patients(patients.to_vec(), day, outputs).await?;
        if parts.slots {
            for (patient, slots) in health.slots_of_patients(patients.to_vec(), day, SHOWN_TYPES).await? {
                found.entry(patient).or_default().extend(slots);
            }
        }
        let mut day_of =
            |patient: &PatientId| PatientDay::new(patient, day, parts, found.remove(patient).unwrap_or_default());
        Ok(patients.iter().map(&mut day_of).collect())
    }

    async fn marked(&self, patient: &Readable<Vec<PatientId>>) -> Result<Vec<PatientDay>> {
        // In the shape of a day without data, which every client knows: one patient's damage must not end its loop.
        let day_of = |patient: &PatientId| PatientDay {
            is_unreadable: true,
            ..PatientDay::new(patient, self.day, self.parts, Vec::new())
        };
        Ok(patient.uuids().iter().map(day_of).collect())
    }
}

#[boxed_futures]
impl Data {
    /// The same day of several patients, in their order; also of those who have no data. Best called with
    /// [`PATIENTS_AT_ONCE`]. One that is damaged says so.
    pub async fn days_of_patients(
        &self,
        patients: Readable<Vec<PatientId>>,
        day: LocalDay,
        parts: DayParts,
    ) -> Result<Vec<PatientDay>> {
        self.read_each(patients, &DayOfPatients { data: self, day, parts }).await
    }

    /// A day of a patient, for a researcher.
    pub async fn patient_day(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        day: LocalDay,
        parts: DayParts,
    ) -> Result<PatientDay> {
        let readable = self.core.readable_patient(researcher, patient).await?;
        let days = self.days_of_patient(&readable, (day, day), parts).await?;
        // A day without data is a summary with empty sections, not a 404: the specification allows empty sections.
        Ok(days.into_iter().next().unwrap_or_else(|| PatientDay::new(patient, day, parts, Vec::new())))
    }

    /// Days of a patient, first and last included, also those without data.
    pub async fn days_of_patient(
        &self,
        patient: &Readable<PatientId>,
        (first, last): (LocalDay, LocalDay),
        parts: DayParts,
    ) -> Result<Vec<PatientDay>> {
        let patient = patient.uuid();
        let (health, keys) = (self.core.health(), keys_of_days(first, last));
        let mut rows = health.derived(patient, Output::Section, keys).await?;
        if parts.slots {
            rows.extend(health.slots_of_types(patient, first, last, SHOWN_TYPES).await?);
        }
        if parts.extra {
            rows.extend(health.derived(patient, Output::Extra, keys).await?);
        }
        let mut found: HashMap<LocalDay, Vec<DerivedRow>> = HashMap::default();
        for row in rows {
            found.entry(day_of(row.key).0).or_default().push(row);
        }
        let days = (first.0..=last.0).map(LocalDay);
        Ok(days.map(|day| PatientDay::new(patient, day, parts, found.remove(&day).unwrap_or_default())).collect())
    }
}
