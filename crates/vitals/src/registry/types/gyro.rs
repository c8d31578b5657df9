//! `gyro`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Rates, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "gyro",
    number: 13,
    title: "Rotation",
    meaning: "Angular velocity of the wrist",
    count_name: None,
    role: Role::Waveform,
    period: Period::Day,
    sampling: Sampling::Even { usual_hz: Rates::new(32, 32), accepted_hz: Some(Rates::new(16, 128)) },
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("x", number(3, -2000, 2000), "°/s", "angular velocity about x").signal().like("-3.125"),
    column("y", number(3, -2000, 2000), "°/s", "angular velocity about y").signal().like("12.75"),
    column("z", number(3, -2000, 2000), "°/s", "angular velocity about z").signal().like("0.5"),
    column("quality", QUALITY, "", "quality of the signal, 0 worst to 4 best"),
];
