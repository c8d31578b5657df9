//! Reading daily summaries: sections as they are stored, slots in packed form until they are written out.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use store::{PatientId, SlotRow, SummaryRow};
use vitals::cells::DayCells;
use vitals::derivation::{Output, day_of, extra_of_day, keys_of_days};
use vitals::registry::DataType;
use vitals::summary::Section;
use vitals::summary::slots_json::{DaySlots, write_day};
use vitals::zone::LocalDay;

use crate::core::access::{Readable, Researcher};
use crate::core::error::Result;
use crate::data::Data;
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

/// Keys and bodies of the figures beyond the specification.
type ExtraRows = Vec<(i64, Vec<u8>)>;

/// A patient's day.
#[derive(Clone, Debug)]
pub struct PatientDay {
    /// Whose.
    pub patient: PatientId,
    /// Which.
    pub day: LocalDay,
    bodies: Vec<(Section, String)>,
    /// Packed cells, where slots are asked for.
    cells: Option<Vec<SlotRow>>,
    /// Figures beyond the specification, where they are asked for.
    extra: Option<ExtraRows>,
    /// What is stored of the day is damaged, and looks here as a day without data.
    is_unreadable: bool,
}

impl PatientDay {
    fn new(patient: &PatientId, day: LocalDay, sections: Vec<SummaryRow>) -> Self {
        let bodies = sections.into_iter().map(|row| (row.section, row.body)).collect();
        PatientDay { patient: patient.clone(), day, bodies, cells: None, extra: None, is_unreadable: false }
    }

    /// Appends the day as JSON: its date and the sections wanted, with slots and `extra` where they were asked for, and
    /// `unreadable` where it is. With slots this is work of a good part of a millisecond: for a thread that may block.
    pub fn write_json(&self, out: &mut Vec<u8>, wanted: &[Section]) {
        let slots = self.cells.as_deref().map(day_slots);
        write_day(out, self.day, wanted, &self.bodies, slots.as_ref());
        if let Some(rows) = &self.extra {
            let extra = extra_of_day(rows.iter().map(|(key, body)| (*key, body.as_slice())));
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

fn day_slots(rows: &[SlotRow]) -> DaySlots {
    let cells = |data_type| rows.iter().find(|row| row.data_type == data_type).map(|row| row.cells.as_slice());
    // Cells of another version cannot be read; their day is due and will have slots again.
    let activity = cells(DataType::Activity).and_then(DayCells::unpack);
    let temperature = cells(DataType::Temperature).and_then(DayCells::unpack);
    DaySlots::new(activity.unwrap_or_default(), temperature.unwrap_or_default())
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
        let mut sections = health.summaries_of_patients(patients.to_vec(), day).await?;
        let mut slots: HashMap<PatientId, Vec<SlotRow>> = HashMap::default();
        if parts.slots {
            slots = health.slots_of_patients(patients.to_vec(), day, SHOWN_TYPES).await?;
        }
        let mut extra: HashMap<PatientId, ExtraRows> = HashMap::default();
        if parts.extra {
            extra = health.extra_of_patients(patients.to_vec(), day).await?;
        }
        let day_of = |patient: &PatientId| PatientDay {
            cells: parts.slots.then(|| slots.remove(patient).unwrap_or_default()),
            extra: parts.extra.then(|| extra.remove(patient).unwrap_or_default()),
            ..PatientDay::new(patient, day, sections.remove(patient).unwrap_or_default())
        };
        Ok(patients.iter().map(day_of).collect())
    }

    async fn marked(&self, patient: &Readable<Vec<PatientId>>) -> Result<Vec<PatientDay>> {
        // In the shape of a day without data, which every client knows: one patient's damage must not end its loop.
        let day_of = |patient: &PatientId| PatientDay {
            cells: self.parts.slots.then(Vec::new),
            extra: self.parts.extra.then(Vec::new),
            is_unreadable: true,
            ..PatientDay::new(patient, self.day, Vec::new())
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
        Ok(days.into_iter().next().unwrap_or_else(|| PatientDay::new(patient, day, Vec::new())))
    }

    /// Days of a patient, first and last included, also those without data.
    pub async fn days_of_patient(
        &self,
        patient: &Readable<PatientId>,
        (first, last): (LocalDay, LocalDay),
        parts: DayParts,
    ) -> Result<Vec<PatientDay>> {
        let patient = patient.uuid();
        let mut sections = by_day(self.core.health().summaries(patient, first, last).await?, |row| row.day);
        let mut slots = HashMap::default();
        if parts.slots {
            slots = by_day(self.core.health().slots_of_types(patient, first, last, SHOWN_TYPES).await?, |row| row.day);
        }
        let mut extra: HashMap<LocalDay, ExtraRows> = HashMap::default();
        if parts.extra {
            for row in self.core.health().derived(patient, Output::Extra, keys_of_days(first, last)).await? {
                extra.entry(day_of(row.key).0).or_default().extend(row.body.map(|body| (row.key, body)));
            }
        }
        let day_of = |day: i32| {
            let day = LocalDay(day);
            PatientDay {
                cells: parts.slots.then(|| slots.remove(&day).unwrap_or_default()),
                extra: parts.extra.then(|| extra.remove(&day).unwrap_or_default()),
                ..PatientDay::new(patient, day, sections.remove(&day).unwrap_or_default())
            }
        };
        Ok((first.0..=last.0).map(day_of).collect())
    }
}

fn by_day<Row>(rows: Vec<Row>, day_of: impl Fn(&Row) -> LocalDay) -> HashMap<LocalDay, Vec<Row>> {
    let mut days: HashMap<LocalDay, Vec<Row>> = HashMap::default();
    for row in rows {
        days.entry(day_of(&row)).or_default().push(row);
    }
    days
}
