//! `temperature`: skin and surroundings. Body temperature is in `activity` and `tests`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, column, number};
use crate::registry::declaration::{Declaration, Period, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "temperature",
    number: 4,
    title: "Temperature",
    meaning: "Skin and ambient temperature",
    count_name: None,
    role: Role::Series,
    period: Period::Month,
    sampling: Sampling::ByRow("60 s"),
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("temp_sk1", number(2, -40, 100), "°C", "skin temperature, sensor 1").like("33.41"),
    column("temp_sk2", number(2, -40, 100), "°C", "skin temperature, sensor 2").like("33.18"),
    column("temp_amb", number(2, -40, 100), "°C", "ambient temperature").like("24.5"),
];
