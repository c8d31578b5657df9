//! `tests`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, Kind, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "tests",
    number: 11,
    title: "Tests",
    meaning: "Spot measurements on demand",
    count_name: None,
    role: Role::Spot,
    period: Period::Month,
    sampling: Sampling::ByRow("on demand"),
    channel: ChannelRule::TestKind,
    columns: COLUMNS,
};

/// No one value means none in the whole column: a 0 of `other` is a measurement. See [`TestKind`] for each kind.
///
/// [`TestKind`]: crate::registry::TestKind
const VALUE: &str = "the measured value; a 0 of heart_rate, respiration_rate, spo2, blood_pressure_systolic or \
    blood_pressure_diastolic is no measurement";

const COLUMNS: &[Column] = &[
    column("test_type", Kind::TestType, "", "what was measured").required().like("heart_rate"),
    column("value", number(3, -1_000_000, 1_000_000), "as unit", VALUE).required().like("61"),
    column("unit", Kind::Text { max_chars: 32 }, "", "unit of the value").like("/min"),
    column("quality", QUALITY, "", "quality of the measurement, 0 worst to 4 best"),
    column("note", Kind::Text { max_chars: 1000 }, "", "remark of the person who measured"),
];
