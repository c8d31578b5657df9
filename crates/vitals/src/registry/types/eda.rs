//! `eda`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Rates, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "eda",
    number: 12,
    title: "Skin conductance",
    meaning: "Electrodermal activity as skin conductance",
    count_name: None,
    role: Role::Waveform,
    period: Period::Day,
    sampling: Sampling::Even { usual_hz: Rates::new(4, 4), accepted_hz: Some(Rates::new(4, 128)) },
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    // Devices resolve about 0.001 µS; a digit more keeps their rounding apart from ours.
    column("eda", number(4, 0, 100), "µS", "skin conductance, level and responses together").signal().like("6.2143"),
    column("quality", QUALITY, "", "quality of the signal, 0 worst to 4 best"),
];
