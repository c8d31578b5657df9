//! `acc`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, Kind, column, number};
use crate::registry::declaration::{Declaration, Period, Rates, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "acc",
    number: 9,
    title: "Acceleration",
    meaning: "Acceleration",
    count_name: None,
    role: Role::Waveform,
    period: Period::Day,
    sampling: Sampling::Even { usual_hz: Rates::new(32, 32), accepted_hz: None },
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("metric_id", Kind::Hex, "", "source of the signal").like("0x01"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("quality", number(0, 0, 255), "", "quality of the signal"),
    column("body_pose", number(0, 0, 255), "", "pose of the body"),
    column("accX", number(0, -4096, 4096), "1/512 g", "acceleration, x").signal().like("-12"),
    column("accY", number(0, -4096, 4096), "1/512 g", "acceleration, y").signal().like("34"),
    column("accZ", number(0, -4096, 4096), "1/512 g", "acceleration, z").signal().like("511"),
];
