//! What counts as a measurement in one row.
//!
//! Latest values, slots and NEWS must agree on which rows are valid, so they all read rows through this file: the raw
//! value that the registry names means "no value", a quality below 2 is poor, and what was measured off the wrist is not
//! the patient's. A quality or a wearing state that is not given counts as good.

use crate::block::{Block, Cells};
use crate::registry::{DataType, NULL};

/// The lowest quality that counts as good; qualities go from 0 to 4.
pub const GOOD_QUALITY: i32 = 2;
/// A battery at this percentage or below is low.
pub const LOW_BATTERY_PERCENT: i32 = 15;

/// A blood pressure of one row in mmHg; at least one half is there, and both come from the same source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    /// Systolic, mmHg.
    pub systolic: Option<i32>,
    /// Diastolic, mmHg.
    pub diastolic: Option<i32>,
}

/// A column that may say that nothing could be measured.
#[derive(Clone, Copy, Debug)]
struct Measured<'block> {
    cells: &'block Cells,
    /// The cell that means "no value" as well as [`NULL`].
    no_value: i32,
}

impl<'block> Measured<'block> {
    /// Returns the column of that name.
    fn of(block: &'block Block, name: &str) -> Self {
        let (column, cells) = block.declared_column(name);
        Measured { cells, no_value: column.no_value_cell() }
    }

    /// Returns the measured value of a row.
    fn get(&self, row: usize) -> Option<i32> {
        let cell = self.cells.get(row);
        (cell != NULL && cell != self.no_value).then_some(cell)
    }

    /// Returns whether the row has a value, be it one that means none.
    fn is_given(&self, row: usize) -> bool {
        self.cells.get(row) != NULL
    }
}

/// The columns of an activity block that hold vital signs.
#[derive(Clone, Copy, Debug)]
pub struct ActivityRows<'block> {
    bpm: Measured<'block>,
    bpm_q: &'block Cells,
    respiration_rate: Measured<'block>,
    resp_q: &'block Cells,
    spo2: Measured<'block>,
    spo2_q: &'block Cells,
    core_temp: Measured<'block>,
    wearing: &'block Cells,
    charging: &'block Cells,
    battery: &'block Cells,
    systolic_combine: Measured<'block>,
    diastolic_combine: Measured<'block>,
    systolic: Measured<'block>,
    diastolic: Measured<'block>,
}

impl<'block> ActivityRows<'block> {
    /// Returns the rows of a block.
    ///
    /// # Panics
    /// When the block is not of type activity.
    pub fn of(block: &'block Block) -> Self {
        ActivityRows {
            bpm: Measured::of(block, "bpm"),
            bpm_q: block.column("bpm_q"),
            respiration_rate: Measured::of(block, "respiration_rate"),
            resp_q: block.column("resp_q"),
            spo2: Measured::of(block, "spo2"),
            spo2_q: block.column("spo2_q"),
            core_temp: Measured::of(block, "core_temp"),
            wearing: block.column("wearing"),
            charging: block.column("charging"),
            battery: block.column("battery"),
            systolic_combine: Measured::of(block, "nibp_systolic_combine"),
            diastolic_combine: Measured::of(block, "nibp_diastolic_combine"),
            systolic: Measured::of(block, "nibp_systolic"),
            diastolic: Measured::of(block, "nibp_diastolic"),
        }
    }

    /// Returns whether the bracelet was worn.
    pub fn is_worn(&self, row: usize) -> bool {
        // Wearing need not be sent: taking what is not given for "off" would hide every value of such a patient.
        self.reported_worn(row).unwrap_or(true)
    }

    /// Returns whether the row reports the bracelet worn; `None` where it does not report it.
    pub fn reported_worn(&self, row: usize) -> Option<bool> {
        given(self.wearing.get(row)).map(|wearing| wearing >= 1)
    }

    /// Returns whether the bracelet was charging; `None` where the row does not report it.
    pub fn is_charging(&self, row: usize) -> Option<bool> {
        given(self.charging.get(row)).map(|charging| charging == 1)
    }

    /// Returns whether the battery was low; `None` where the row does not report it.
    pub fn is_low_battery(&self, row: usize) -> Option<bool> {
        given(self.battery.get(row)).map(|percent| percent <= LOW_BATTERY_PERCENT)
    }

    /// Heart rate as stored, valid or not; `None` where the row has no value.
    pub fn stored_bpm(&self, row: usize) -> Option<i32> {
        self.bpm.get(row)
    }

    /// Valid heart rate, /min.
    pub fn bpm(&self, row: usize) -> Option<i32> {
        self.valid(self.bpm, self.bpm_q, row)
    }

    /// Valid respiration rate in tenths of a breath per minute.
    pub fn respiration_tenths(&self, row: usize) -> Option<i32> {
        self.valid(self.respiration_rate, self.resp_q, row)
    }

    /// Valid oxygen saturation in tenths of a percent.
    pub fn spo2_tenths(&self, row: usize) -> Option<i32> {
        self.valid(self.spo2, self.spo2_q, row)
    }

    /// Core body temperature in hundredths of a °C.
    pub fn core_temp_hundredths(&self, row: usize) -> Option<i32> {
        // The registry has no column for the quality of a core temperature.
        self.core_temp.get(row).filter(|_| self.is_worn(row))
    }

    /// Valid blood pressure: the combined estimate, else the plain one; never one half of each.
    pub fn pressure(&self, row: usize) -> Option<Pressure> {
        if !self.is_worn(row) {
            return None;
        }
        // One half of each estimate would be a pressure that no method has measured.
        let combined = halves(self.systolic_combine.get(row), self.diastolic_combine.get(row));
        combined.or_else(|| halves(self.systolic.get(row), self.diastolic.get(row)))
    }

    /// Quality of the heart rate; `None` where it is not given.
    pub fn bpm_quality(&self, row: usize) -> Option<i32> {
        given(self.bpm_q.get(row))
    }

    /// Quality of the respiration rate; `None` where it is not given.
    pub fn respiration_quality(&self, row: usize) -> Option<i32> {
        given(self.resp_q.get(row))
    }

    /// Quality of the oxygen saturation; `None` where it is not given.
    pub fn spo2_quality(&self, row: usize) -> Option<i32> {
        given(self.spo2_q.get(row))
    }

    /// Returns whether the row has a heart rate at all, be it 0 or poor.
    pub fn measures_heart_rate(&self, row: usize) -> bool {
        self.bpm.is_given(row)
    }

    /// Returns whether the row has a respiration rate at all, be it 0 or poor.
    pub fn measures_respiration(&self, row: usize) -> bool {
        self.respiration_rate.is_given(row)
    }

    /// Returns whether the row has an oxygen saturation at all, be it 0 or poor.
    pub fn measures_spo2(&self, row: usize) -> bool {
        self.spo2.is_given(row)
    }

    /// Heart rate of poor quality, /min.
    pub fn poor_bpm(&self, row: usize) -> Option<i32> {
        self.poor(self.bpm, self.bpm_q, row)
    }

    /// Respiration rate of poor quality in tenths of a breath per minute.
    pub fn poor_respiration_tenths(&self, row: usize) -> Option<i32> {
        self.poor(self.respiration_rate, self.resp_q, row)
    }

    /// Oxygen saturation of poor quality in tenths of a percent.
    pub fn poor_spo2_tenths(&self, row: usize) -> Option<i32> {
        self.poor(self.spo2, self.spo2_q, row)
    }

    fn poor(&self, values: Measured<'_>, qualities: &Cells, row: usize) -> Option<i32> {
        // Off the wrist nothing of the patient was measured, neither well nor badly.
        if is_good(qualities.get(row)) || !self.is_worn(row) {
            return None;
        }
        values.get(row)
    }

    fn valid(&self, values: Measured<'_>, qualities: &Cells, row: usize) -> Option<i32> {
        let value = values.get(row)?;
        // Off the wrist a sensor still reports values, and some of good quality.
        (is_good(qualities.get(row)) && self.is_worn(row)).then_some(value)
    }
}

/// What a channel of `tests` measures that is a vital sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpotVital {
    /// Heart rate, /min.
    HeartRate,
    /// Respiration rate, /min.
    RespirationRate,
    /// Oxygen saturation, %.
    Spo2,
    /// Body temperature, °C.
    Temperature,
    /// Systolic pressure, mmHg.
    Systolic,
    /// Diastolic pressure, mmHg.
    Diastolic,
}

/// The rows of a block of spot measurements that are vital signs.
#[derive(Clone, Copy, Debug)]
pub struct SpotRows<'block> {
    /// What all rows of the block measure.
    pub vital: SpotVital,
    value: Measured<'block>,
    quality: &'block Cells,
}

impl<'block> SpotRows<'block> {
    /// Returns the rows of a block of type tests; `None` when its channel is not a vital sign.
    pub fn of(block: &'block Block) -> Option<Self> {
        if block.data_type != DataType::Tests {
            return None;
        }
        let kind = block.channel.test_kind()?;
        let vital = match kind.name {
            "heart_rate" => SpotVital::HeartRate,
            "respiration_rate" => SpotVital::RespirationRate,
            "spo2" => SpotVital::Spo2,
            "temperature" => SpotVital::Temperature,
            "blood_pressure_systolic" => SpotVital::Systolic,
            "blood_pressure_diastolic" => SpotVital::Diastolic,
            _ => return None,
        };
        let value = Measured { cells: block.column("value"), no_value: kind.no_value };
        Some(SpotRows { vital, value, quality: block.column("quality") })
    }

    /// Valid value in thousandths of the vital sign's unit.
    pub fn thousandths(&self, row: usize) -> Option<i32> {
        self.value.get(row).filter(|_| is_good(self.quality.get(row)))
    }

    /// Value of poor quality in thousandths of the vital sign's unit.
    pub fn poor_thousandths(&self, row: usize) -> Option<i32> {
        self.value.get(row).filter(|_| !is_good(self.quality.get(row)))
    }

    /// Quality of the measurement; `None` where it is not given.
    pub fn quality(&self, row: usize) -> Option<i32> {
        given(self.quality.get(row))
    }
}

fn given(cell: i32) -> Option<i32> {
    (cell != NULL).then_some(cell)
}

fn is_good(quality: i32) -> bool {
    quality == NULL || quality >= GOOD_QUALITY
}

fn halves(systolic: Option<i32>, diastolic: Option<i32>) -> Option<Pressure> {
    let pressure = Pressure { systolic, diastolic };
    (pressure.systolic.is_some() || pressure.diastolic.is_some()).then_some(pressure)
}
