//! What five minutes of activity rows hold.

use super::cell::WindowCell;
use super::groups::{CellsByDay, Group, groups};
use super::pack::{Packer, Unpacker};
use super::place::{Place, WINDOW_MS};
use super::sum::{Sum, Vital};
use crate::activity::{ActivityRow, active_minutes};
use crate::block::{Block, Cells};
use crate::heart::{ZoneTimes, zone_times};
use crate::measured::Measured;
use crate::registry::DataType;
use crate::vital_rows::ActivityRows;
use crate::zone::LocalDay;

/// Number of heart-rate zones.
pub const ZONES: usize = 6;
/// Bit next to those of the zones: not every row reports charging and battery.
const SOME_DO_NOT_REPORT: u8 = 1 << ZONES;
/// A row covers at most this long.
const LONGEST_ROW_MS: u32 = 60_000;

/// All facts of one window of activity rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows.
    pub rows: u32,
    /// Rows on the wrist.
    pub worn: u32,
    /// Rows while charging.
    pub charging: u32,
    /// Rows with a low battery.
    pub low_battery: u32,
    /// Rows that report whether the bracelet was charging.
    pub report_charging: u32,
    /// Rows that report how full the battery was.
    pub report_battery: u32,
    /// Rows with a heart rate above 0, of whatever quality: what compliance counts.
    pub stored_bpm: u32,
    /// Heart rate, /min.
    pub bpm: Vital,
    /// Highest valid heart rate, /min; 0 without any.
    pub highest_bpm: u32,
    /// Respiration rate, tenths.
    pub respiration: Vital,
    /// Oxygen saturation, tenths.
    pub spo2: Vital,
    /// Steps of the rows that have any number of them.
    pub steps: Sum,
    /// Speed, 0.1 m/s.
    pub speed: Sum,
    /// Energy, cal.
    pub energy: Sum,
    /// Gait asymmetry, thousandths of a percent.
    pub gait_asymmetry: Sum,
    /// Walking speed, mm/s.
    pub gait_speed: Sum,
    /// Variability of the stride time, thousandths of a percent.
    pub gait_var: Sum,
    /// Systolic pressure, mmHg.
    pub systolic: Sum,
    /// Diastolic pressure, mmHg.
    pub diastolic: Sum,
    /// Minutes of the five that were active.
    pub active_minutes: u32,
    /// Milliseconds in each heart-rate zone, lowest first; all 0 when the highest heart rate is not known.
    pub zone_ms: [u32; ZONES],
    /// Newest measurements of each vital sign in the window.
    pub newest: Measured,
}

impl ActivityCell {
    /// Returns whether most rows were on the wrist.
    pub fn is_wearing(&self) -> bool {
        // More than half, so that a window in which the bracelet was put on at the middle counts as not worn.
        self.worn * 2 > self.rows
    }

    /// Returns whether the bracelet was charging in most of the rows that report it.
    pub fn is_charging(&self) -> bool {
        self.charging * 2 > self.report_charging
    }

    /// Returns whether the battery was low in most of the rows that report it.
    pub fn is_low_battery(&self) -> bool {
        self.low_battery * 2 > self.report_battery
    }

    /// Returns how long one row covers, ms: its share of the window, at most a minute.
    pub fn row_ms(&self) -> u32 {
        row_ms(self.rows)
    }
}

fn row_ms(rows: u32) -> u32 {
    LONGEST_ROW_MS.min(WINDOW_MS as u32 / rows.max(1))
}

impl WindowCell for ActivityCell {
    const DATA_TYPE: DataType = DataType::Activity;
    const FORMAT: u8 = 2;
    // Without the bits that came with the second form.
    const OLDEST_FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        ActivityCell {
            place,
            rows: 0,
            worn: 0,
            charging: 0,
            low_battery: 0,
            report_charging: 0,
            report_battery: 0,
            stored_bpm: 0,
            bpm: Vital::default(),
            highest_bpm: 0,
            respiration: Vital::default(),
            spo2: Vital::default(),
            steps: Sum::default(),
            speed: Sum::default(),
            energy: Sum::default(),
            gait_asymmetry: Sum::default(),
            gait_speed: Sum::default(),
            gait_var: Sum::default(),
            systolic: Sum::default(),
            diastolic: Sum::default(),
            active_minutes: 0,
            zone_ms: [0; ZONES],
            newest: Measured::default(),
        }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.worn += other.worn;
        self.charging += other.charging;
        self.low_battery += other.low_battery;
        self.report_charging += other.report_charging;
        self.report_battery += other.report_battery;
        self.stored_bpm += other.stored_bpm;
        self.bpm.absorb(&other.bpm);
        self.highest_bpm = self.highest_bpm.max(other.highest_bpm);
        self.respiration.absorb(&other.respiration);
        self.spo2.absorb(&other.spo2);
        self.steps.absorb(other.steps);
        self.speed.absorb(other.speed);
        self.energy.absorb(other.energy);
        self.gait_asymmetry.absorb(other.gait_asymmetry);
        self.gait_speed.absorb(other.gait_speed);
        self.gait_var.absorb(other.gait_var);
        self.systolic.absorb(other.systolic);
        self.diastolic.absorb(other.diastolic);
        self.active_minutes += other.active_minutes;
        for (mine, others) in self.zone_ms.iter_mut().zip(other.zone_ms) {
            *mine += others;
        }
        self.newest.merge_newer(&other.newest);
    }

    fn pack(&self, packer: &mut Packer) {
        for count in [self.rows, self.worn, self.charging, self.low_battery, self.stored_bpm, self.highest_bpm] {
            packer.unsigned(u64::from(count));
        }
        for vital in [&self.bpm, &self.respiration, &self.spo2] {
            vital.pack(packer);
        }
        // Most windows have steps alone: one bit for each sum is cheaper than a zero for each.
        let sums = self.sums();
        packer.byte(sums.iter().enumerate().map(|(bit, sum)| u8::from(sum.count > 0) << bit).sum());
        for sum in sums.into_iter().filter(|sum| sum.count > 0) {
            sum.pack(packer);
        }
        packer.unsigned(u64::from(self.active_minutes));
        let zones_used: u8 = self.zone_ms.iter().enumerate().map(|(zone, ms)| u8::from(*ms > 0) << zone).sum();
        let all_report = self.report_charging == self.rows && self.report_battery == self.rows;
        packer.byte(zones_used | if all_report { 0 } else { SOME_DO_NOT_REPORT });
        if !all_report {
            packer.unsigned(u64::from(self.report_charging));
            packer.unsigned(u64::from(self.report_battery));
        }
        for ms in self.zone_ms.into_iter().filter(|ms| *ms > 0) {
            packer.unsigned(u64::from(ms));
        }
        // Kept next to the sums, so that the newest value before a time is found without the rows.
        packer.newest(&self.newest, self.place.start_ms());
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let mut cell = ActivityCell::at(place);
        cell.rows = unpacker.number()?;
        cell.worn = unpacker.number()?;
        cell.charging = unpacker.number()?;
        cell.low_battery = unpacker.number()?;
        cell.stored_bpm = unpacker.number()?;
        cell.highest_bpm = unpacker.number()?;
        cell.bpm = Vital::unpack(unpacker)?;
        cell.respiration = Vital::unpack(unpacker)?;
        cell.spo2 = Vital::unpack(unpacker)?;
        let sums_used = unpacker.byte()?;
        for (bit, sum) in cell.sums_mut().into_iter().enumerate() {
            if sums_used & (1 << bit) != 0 {
                *sum = Sum::unpack(unpacker)?;
            }
        }
        cell.active_minutes = unpacker.number()?;
        let zones_used = unpacker.byte()?;
        (cell.report_charging, cell.report_battery) = match zones_used & SOME_DO_NOT_REPORT {
            0 => (cell.rows, cell.rows),
            _ => (unpacker.number()?, unpacker.number()?),
        };
        for (zone, ms) in cell.zone_ms.iter_mut().enumerate() {
            if zones_used & (1 << zone) != 0 {
                *ms = unpacker.number()?;
            }
        }
        cell.newest = unpacker.newest(place.start_ms())?;
        Some(cell)
    }
}

impl ActivityCell {
    fn sums(&self) -> [Sum; 8] {
        [
            self.steps,
            self.speed,
            self.energy,
            self.gait_asymmetry,
            self.gait_speed,
            self.gait_var,
            self.systolic,
            self.diastolic,
        ]
    }

    fn sums_mut(&mut self) -> [&mut Sum; 8] {
        [
            &mut self.steps,
            &mut self.speed,
            &mut self.energy,
            &mut self.gait_asymmetry,
            &mut self.gait_speed,
            &mut self.gait_var,
            &mut self.systolic,
            &mut self.diastolic,
        ]
    }
}

/// Returns the cells of a block of activity rows. `highest_bpm` gives the patient's highest heart rate on a day, /min,
/// where it is known.
pub fn activity_cells(block: &Block, highest_bpm: impl Fn(LocalDay) -> Option<f64>) -> CellsByDay<ActivityCell> {
    let columns = Columns::of(block);
    let mut days = CellsByDay::new();
    for group in groups(block) {
        // Zones depend on the age on that very day: a birthday moves the cut points at midnight.
        let highest = highest_bpm(group.day);
        let cell = columns.cell(block, &group, highest);
        days.entry(group.day).or_default().push(cell);
    }
    days
}

struct Columns<'block> {
    vitals: ActivityRows<'block>,
    last_steps: &'block Cells,
    speed: &'block Cells,
    energy: &'block Cells,
    gait_asymmetry: &'block Cells,
    gait_speed: &'block Cells,
    gait_var: &'block Cells,
}

impl<'block> Columns<'block> {
    fn of(block: &'block Block) -> Self {
        Columns {
            vitals: ActivityRows::of(block),
            last_steps: block.column("last_steps"),
            speed: block.column("speed"),
            energy: block.column("energy_exp"),
            gait_asymmetry: block.column("gait_asymmetry"),
            gait_speed: block.column("gait_speed"),
            gait_var: block.column("gait_var"),
        }
    }

    fn cell(&self, block: &Block, group: &Group, highest: Option<f64>) -> ActivityCell {
        let mut cell = ActivityCell::at(group.place);
        // Of all rows, also those without a pulse: a half-worn window counts half of its time.
        let row_ms = row_ms(group.row_count() as u32);
        let mut rates = Vec::new();
        let mut minutes = Vec::with_capacity(group.row_count());
        for row in group.rows() {
            self.add_row(&mut cell, row);
            let per_min = self.vitals.bpm(row).map(f64::from);
            rates.extend(per_min.map(|per_min| (per_min, i64::from(row_ms))));
            // No value lies below zero and counts as no step here; the sum of steps leaves it out instead.
            let steps = self.last_steps.get(row).max(0) as u32;
            let time_ms = block.times_us[row].div_euclid(1000);
            minutes.push(ActivityRow { time_ms, steps, per_min, ..ActivityRow::default() });
        }
        cell.active_minutes = active_minutes(&minutes, highest);
        if let Some(highest) = highest {
            // The formula adds up durations of any unit: here milliseconds.
            cell.zone_ms = lowest_first(&zone_times(&rates, highest));
        }
        // The rows of a window may come in several stretches when the patient travels to and fro within it.
        for rows in &group.rows {
            cell.newest.merge_newer(&Measured::in_rows(block, rows.clone()));
        }
        cell
    }

    fn add_row(&self, cell: &mut ActivityCell, row: usize) {
        let vitals = &self.vitals;
        cell.rows += 1;
        cell.worn += u32::from(vitals.is_worn(row));
        for (reported, reports, count) in [
            (vitals.is_charging(row), &mut cell.report_charging, &mut cell.charging),
            (vitals.is_low_battery(row), &mut cell.report_battery, &mut cell.low_battery),
        ] {
            *reports += u32::from(reported.is_some());
            *count += u32::from(reported == Some(true));
        }
        cell.stored_bpm += u32::from(vitals.stored_bpm(row).is_some());
        cell.bpm.measured += u32::from(vitals.measures_heart_rate(row));
        cell.respiration.measured += u32::from(vitals.measures_respiration(row));
        cell.spo2.measured += u32::from(vitals.measures_spo2(row));
        let bpm = vitals.bpm(row);
        cell.bpm.add(bpm, vitals.bpm_quality(row));
        cell.highest_bpm = cell.highest_bpm.max(bpm.unwrap_or(0) as u32);
        cell.respiration.add(vitals.respiration_tenths(row), vitals.respiration_quality(row));
        cell.spo2.add(vitals.spo2_tenths(row), vitals.spo2_quality(row));
        for (sum, column) in [
            (&mut cell.steps, self.last_steps),
            (&mut cell.speed, self.speed),
            (&mut cell.energy, self.energy),
            (&mut cell.gait_asymmetry, self.gait_asymmetry),
            (&mut cell.gait_speed, self.gait_speed),
            (&mut cell.gait_var, self.gait_var),
        ] {
            let value = column.get(row);
            if value >= 0 {
                sum.add(value);
            }
        }
        let pressure = vitals.pressure(row);
        if let Some(systolic) = pressure.and_then(|pressure| pressure.systolic) {
            cell.systolic.add(systolic);
        }
        if let Some(diastolic) = pressure.and_then(|pressure| pressure.diastolic) {
            cell.diastolic.add(diastolic);
        }
    }
}

fn lowest_first(times: &ZoneTimes) -> [u32; ZONES] {
    [
        times.rest_time,
        times.warm_up_time,
        times.fat_burn_time,
        times.endurance_time,
        times.performance_time,
        times.max_time,
    ]
    .map(|ms| ms as u32)
}
