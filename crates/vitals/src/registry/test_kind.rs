//! What a row of `tests` measures.

use super::null::NULL;

/// What a row of `tests` measures: its name, the units it may come in (the first is meant when none is named) and
/// the plausible range in that first unit. Source: refinements 6 of the specification; the ranges are ours.
#[derive(Debug)]
pub struct TestKind {
    /// The value of `test_type`.
    pub name: &'static str,
    /// Accepted units with the plausible range in each; empty where any unit goes.
    pub units: &'static [(&'static str, f64, f64)],
    /// The cell of `value` that means "no value" as well as [`NULL`]; [`NULL`] itself where every value is one.
    pub no_value: i32,
}

impl TestKind {
    /// All kinds; a cell of `test_type` is the position in this list.
    pub const ALL: &'static [TestKind] = &[
        TestKind { name: "heart_rate", units: &[("/min", 0.0, 300.0)], no_value: 0 },
        TestKind { name: "respiration_rate", units: &[("/min", 0.0, 100.0)], no_value: 0 },
        TestKind { name: "spo2", units: &[("%", 0.0, 100.0)], no_value: 0 },
        TestKind { name: "temperature", units: &[("°C", 20.0, 45.0)], no_value: NULL },
        TestKind { name: "blood_pressure_systolic", units: &[("mmHg", 0.0, 400.0)], no_value: 0 },
        TestKind { name: "blood_pressure_diastolic", units: &[("mmHg", 0.0, 300.0)], no_value: 0 },
        TestKind { name: "weight", units: &[("kg", 0.2, 700.0)], no_value: NULL },
        TestKind { name: "glucose", units: &[("mmol/L", 0.1, 70.0), ("mg/dL", 2.0, 1300.0)], no_value: NULL },
        TestKind { name: "other", units: &[], no_value: NULL },
    ];

    /// Returns the position of a kind, by name.
    pub fn code(name: &str) -> Option<i32> {
        Self::ALL.iter().position(|kind| kind.name == name).map(|position| position as i32)
    }

    /// Returns the kind that a cell of `test_type` represents.
    pub fn of_cell(cell: i32) -> Option<&'static TestKind> {
        usize::try_from(cell).ok().and_then(|position| Self::ALL.get(position))
    }

    /// Checks a value and its unit; answers the unit to store, or the column that is wrong.
    pub fn check(&self, value: f64, unit: Option<&str>) -> Result<Option<&'static str>, &'static str> {
        let Some(first) = self.units.first() else {
            return Ok(None);
        };
        let wanted = unit.unwrap_or(first.0);
        let Some((name, min, max)) = self.units.iter().find(|(name, ..)| *name == wanted) else {
            return Err("unit");
        };
        if value < *min || value > *max {
            return Err("value");
        }
        Ok(Some(name))
    }

    /// Returns what [`TestKind::check`] takes in the column that it has found wrong, for people.
    pub fn reason(&self, column: &str, unit: Option<&str>) -> String {
        let of_unit = |(name, min, max): &(&str, f64, f64)| format!("{min} to {max} {name}");
        if column == "unit" {
            let names: Vec<&str> = self.units.iter().map(|(name, ..)| *name).collect();
            return format!("not a unit of {}: must be {}", self.name, names.join(" or "));
        }
        let is_sent = |(name, ..): &&(&str, f64, f64)| unit.is_none_or(|unit| unit == *name);
        let range = self.units.iter().find(is_sent).map(of_unit).unwrap_or_default();
        format!("not plausible for {}: must be {range}", self.name)
    }
}
