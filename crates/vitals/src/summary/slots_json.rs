//! Formats the slots of a day while an answer is streamed.
//!
//! Nearly all of a slot's text is the same in every section: its flags, time and local time of day. That text is
//! made once for each slot and copied into the sections.

use super::digits::{put_hundredths_or_null, put_signed, put_two, put_unsigned_or_null};
use super::pressure::pressure_slots;
use super::section::Section;
use super::temperature;
use crate::cells::{ActivityCell, DayCells, Place, Sum, TemperatureCell, WindowCell};
use crate::zone::LocalDay;

/// The cells of a day, ready to be formatted.
#[derive(Clone, Debug, Default)]
pub struct DaySlots {
    activity: DayCells<ActivityCell>,
    temperature: DayCells<TemperatureCell>,
    five_minutes: Stems,
    thirty_minutes: Stems,
    half_hours: Vec<ActivityCell>,
}

/// The first part of each slot: `{"is_wearing":true,"is_charging":false,"is_low_battery":false,"timestamp":…,"date":"…",`.
#[derive(Clone, Debug, Default)]
struct Stems {
    bytes: Vec<u8>,
    /// Of each slot: where its stem begins, where its time begins, where the stem ends.
    spans: Vec<[u32; 3]>,
}

#[derive(Clone, Copy, Debug)]
struct Flags {
    is_wearing: bool,
    is_charging: bool,
    is_low_battery: bool,
}

impl Flags {
    fn of(cell: &ActivityCell) -> Self {
        Flags { is_wearing: cell.is_wearing(), is_charging: cell.is_charging(), is_low_battery: cell.is_low_battery() }
    }
}

/// Of a window without activity rows.
const UNKNOWN: Flags = Flags { is_wearing: true, is_charging: false, is_low_battery: false };

impl Stems {
    fn of(cells: &[ActivityCell]) -> Self {
        let mut stems = Stems { bytes: Vec::with_capacity(cells.len() * 112), spans: Vec::with_capacity(cells.len()) };
        for cell in cells {
            stems.push(Flags::of(cell), cell.place);
        }
        stems
    }

    fn push(&mut self, flags: Flags, place: Place) {
        let start = self.bytes.len() as u32;
        put_flags(&mut self.bytes, flags);
        let time = self.bytes.len() as u32;
        put_time(&mut self.bytes, place);
        self.spans.push([start, time, self.bytes.len() as u32]);
    }

    /// Flags and time of a slot.
    fn whole(&self, slot: usize) -> &[u8] {
        let [start, _, end] = self.spans[slot];
        &self.bytes[start as usize..end as usize]
    }

    /// Time of a slot.
    fn time(&self, slot: usize) -> &[u8] {
        let [_, time, end] = self.spans[slot];
        &self.bytes[time as usize..end as usize]
    }
}

fn put_flags(out: &mut Vec<u8>, flags: Flags) {
    let truth = |flag: bool| -> &[u8] { if flag { b"true" } else { b"false" } };
    out.extend_from_slice(b"{\"is_wearing\":");
    out.extend_from_slice(truth(flags.is_wearing));
    out.extend_from_slice(b",\"is_charging\":");
    out.extend_from_slice(truth(flags.is_charging));
    out.extend_from_slice(b",\"is_low_battery\":");
    out.extend_from_slice(truth(flags.is_low_battery));
    out.push(b',');
}

fn put_time(out: &mut Vec<u8>, place: Place) {
    out.extend_from_slice(b"\"timestamp\":");
    put_signed(out, place.start_ms());
    out.extend_from_slice(b",\"date\":\"");
    put_time_of_day(out, place.local_minute());
    out.extend_from_slice(b"\",");
}

fn put_time_of_day(out: &mut Vec<u8>, local_minute: i64) {
    put_two(out, (local_minute / 60) as usize);
    out.push(b':');
    put_two(out, (local_minute % 60) as usize);
}

impl DaySlots {
    /// Prepares the cells of a day.
    pub fn new(activity: DayCells<ActivityCell>, temperature: DayCells<TemperatureCell>) -> Self {
        // Five sections show the same half hours.
        let half_hours = activity.half_hours();
        DaySlots {
            five_minutes: Stems::of(activity.cells()),
            thirty_minutes: Stems::of(&half_hours),
            half_hours,
            activity,
            temperature,
        }
    }

    /// Appends the slot arrays of a section as members of an object, the first without a comma before it; nothing
    /// for sections without slots. Answers whether anything was appended.
    pub fn write_slots(&self, out: &mut Vec<u8>, section: Section) -> bool {
        match section {
            Section::Activity => {
                self.both(out, ["slots_five_minutes", "slots_thirty_minutes"], Stems::time, put_steps);
                out.extend_from_slice(b",\"slots\":");
                put_array(out, &self.half_hours, &self.thirty_minutes, Stems::time, put_steps);
            }
            Section::HeartRate => self.both(out, ["slots", "slots_thirty_minutes"], Stems::whole, put_heart_rate),
            Section::RespirationRate => {
                self.both(out, ["slots_five_minutes", "slots_thirty_minutes"], Stems::whole, put_respiration);
            }
            Section::Spo2 => self.both(out, ["slots_five_minutes", "slots_thirty_minutes"], Stems::whole, put_spo2),
            Section::NonInvasiveBloodPressure => put_pressures(out, &pressure_slots(&self.activity)),
            Section::Temperature => self.put_temperatures(out),
            _ => return false,
        }
        true
    }

    fn both(
        &self,
        out: &mut Vec<u8>,
        names: [&str; 2],
        stem: fn(&Stems, usize) -> &[u8],
        put: impl Fn(&mut Vec<u8>, &ActivityCell),
    ) {
        put_name(out, names[0]);
        put_array(out, self.activity.cells(), &self.five_minutes, stem, &put);
        out.push(b',');
        put_name(out, names[1]);
        put_array(out, &self.half_hours, &self.thirty_minutes, stem, &put);
    }

    fn put_temperatures(&self, out: &mut Vec<u8>) {
        put_name(out, "slots_five_minutes");
        out.push(b'[');
        for (at, cell) in self.temperature.cells().iter().enumerate() {
            let flags = self.activity.in_window(cell.place.window()).map_or(UNKNOWN, Flags::of);
            put_temperature(out, at, flags, cell);
        }
        out.extend_from_slice(b"],");
        put_name(out, "slots_thirty_minutes");
        out.push(b'[');
        let worn = self.temperature.cells().iter().map(|cell| {
            let is_worn = temperature::is_worn(cell, &self.activity);
            if is_worn { cell.clone() } else { TemperatureCell { rows: cell.rows, ..TemperatureCell::at(cell.place) } }
        });
        for (at, cell) in half_hours_of(worn).iter().enumerate() {
            // Flags of a half hour come from activity rows; temperature rows have none.
            // By its start: of a half hour in which the clock changes, rows of each type can begin on another side.
            let found = self.half_hours.iter().find(|slot| slot.place.start_minute == cell.place.start_minute);
            // The values are those of worn windows already.
            let flags = found.map_or(UNKNOWN, Flags::of);
            put_stem(out, at, flags, cell.place);
            put_sensors(out, cell);
        }
        out.push(b']');
    }
}

fn half_hours_of(cells: impl Iterator<Item = TemperatureCell>) -> Vec<TemperatureCell> {
    let mut day = DayCells::default();
    day.replace(i64::MIN..i64::MAX, cells);
    day.half_hours()
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn put_array(
    out: &mut Vec<u8>,
    cells: &[ActivityCell],
    stems: &Stems,
    stem: fn(&Stems, usize) -> &[u8],
    put: impl Fn(&mut Vec<u8>, &ActivityCell),
) {
    // The stem of flags begins with the brace; the one of times alone does not.
    out.push(b'[');
    for (slot, cell) in cells.iter().enumerate() {
        if slot > 0 {
            out.push(b',');
        }
        let stem = stem(stems, slot);
        if stem.first() != Some(&b'{') {
            out.push(b'{');
        }
        out.extend_from_slice(stem);
        put(out, cell);
    }
    out.push(b']');
}

fn put_steps(out: &mut Vec<u8>, cell: &ActivityCell) {
    out.extend_from_slice(b"\"step_count\":");
    put_unsigned_or_null(out, (cell.steps.count > 0).then_some(cell.steps.sum));
    out.push(b'}');
}

/// A mean and the mean quality, rounded to an integer; `per_unit` is what the values are kept in.
fn put_value_and_quality(out: &mut Vec<u8>, names: [&[u8]; 2], values: Sum, qualities: Sum, per_unit: u64) {
    out.extend_from_slice(names[0]);
    put_hundredths_or_null(out, values.scaled_mean(100 / per_unit).map(|hundredths| hundredths as i64));
    out.extend_from_slice(names[1]);
    put_unsigned_or_null(out, qualities.scaled_mean(1));
    out.push(b'}');
}

fn put_heart_rate(out: &mut Vec<u8>, cell: &ActivityCell) {
    put_value_and_quality(out, [b"\"bpm\":", b",\"bpm_q\":"], cell.bpm.values, cell.bpm.qualities, 1);
}

fn put_respiration(out: &mut Vec<u8>, cell: &ActivityCell) {
    let vital = &cell.respiration;
    put_value_and_quality(out, [b"\"respiration_rate\":", b",\"quality\":"], vital.values, vital.qualities, 10);
}

fn put_spo2(out: &mut Vec<u8>, cell: &ActivityCell) {
    put_value_and_quality(out, [b"\"spo2\":", b",\"spo2_q\":"], cell.spo2.values, cell.spo2.qualities, 10);
}

fn put_stem(out: &mut Vec<u8>, at: usize, flags: Flags, place: Place) {
    if at > 0 {
        out.push(b',');
    }
    put_flags(out, flags);
    put_time(out, place);
}

/// Off the wrist a sensor does not measure the skin: null.
fn put_temperature(out: &mut Vec<u8>, at: usize, flags: Flags, cell: &TemperatureCell) {
    put_stem(out, at, flags, cell.place);
    if flags.is_wearing {
        put_sensors(out, cell);
    } else {
        put_sensors(out, &TemperatureCell::at(cell.place));
    }
}

fn put_sensors(out: &mut Vec<u8>, cell: &TemperatureCell) {
    out.extend_from_slice(b"\"temp_sk1\":");
    put_hundredths_or_null(out, cell.sk1.mean_hundredths());
    out.extend_from_slice(b",\"temp_sk2\":");
    put_hundredths_or_null(out, cell.sk2.mean_hundredths());
    out.push(b'}');
}

fn put_pressures(out: &mut Vec<u8>, slots: &[ActivityCell]) {
    const HALF_HOUR_MINUTES: i64 = 30;
    put_name(out, "slots");
    out.push(b'[');
    for (at, slot) in slots.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let hundredths = |sum: Sum| sum.scaled_mean(100).map(|hundredths| hundredths as i64);
        // A slot from 23:30 ends at 00:00.
        let end_minute = (slot.place.local_minute() + HALF_HOUR_MINUTES) % 1440;
        out.extend_from_slice(b"{\"systolic_pressure_combine\":");
        put_hundredths_or_null(out, hundredths(slot.systolic));
        out.extend_from_slice(b",\"diastolic_pressure_combine\":");
        put_hundredths_or_null(out, hundredths(slot.diastolic));
        out.extend_from_slice(b",\"start_timestamp\":");
        put_signed(out, slot.place.start_ms());
        out.extend_from_slice(b",\"end_timestamp\":");
        put_signed(out, slot.place.start_ms() + HALF_HOUR_MINUTES * 60_000);
        out.extend_from_slice(b",\"start_date\":\"");
        put_time_of_day(out, slot.place.local_minute());
        out.extend_from_slice(b"\",\"end_date\":\"");
        put_time_of_day(out, end_minute);
        out.extend_from_slice(b"\"}");
    }
    out.push(b']');
}

/// Appends a section: its stored body, and its slots where they are asked for.
pub fn write_section(out: &mut Vec<u8>, section: Section, body: &[u8], slots: Option<&DaySlots>) {
    // Bodies are stored as they are sent, so slots are put in before the last brace instead of parsing thousands of
    // bodies.
    let (Some(slots), Some(open)) = (slots, body.strip_suffix(b"}")) else {
        out.extend_from_slice(body);
        return;
    };
    out.extend_from_slice(open);
    let before_comma = out.len();
    out.push(b',');
    // An empty section stays empty, also when the day has rows.
    if open == b"{" || !slots.write_slots(out, section) {
        out.truncate(before_comma);
    }
    out.push(b'}');
}

/// Appends a day: its date and the sections asked for, in the order of the specification; `{}` where there is none.
///
/// `bodies` are the stored sections without slots, in any order.
pub fn write_day(
    out: &mut Vec<u8>,
    day: LocalDay,
    wanted: &[Section],
    bodies: &[(Section, impl AsRef<[u8]>)],
    slots: Option<&DaySlots>,
) {
    out.extend_from_slice(b"{\"date\":\"");
    let date = day.date();
    put_two(out, (date.year() / 100) as usize);
    put_two(out, (date.year() % 100) as usize);
    out.push(b'-');
    put_two(out, date.month() as usize);
    out.push(b'-');
    put_two(out, date.day() as usize);
    out.push(b'"');
    for section in Section::ALL.into_iter().filter(|section| wanted.contains(section)) {
        out.push(b',');
        put_name(out, section.name());
        let body = bodies.iter().find(|(found, _)| *found == section);
        write_section(out, section, body.map_or(b"{}".as_slice(), |(_, body)| body.as_ref()), slots);
    }
    out.push(b'}');
}
