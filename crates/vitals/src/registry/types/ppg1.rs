//! `ppg1`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Rates, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "ppg1",
    number: 6,
    title: "PPG 1",
    meaning: "Photoplethysmogram with acceleration",
    count_name: None,
    role: Role::Waveform,
    period: Period::Day,
    sampling: Sampling::Even { usual_hz: Rates::new(25, 25), accepted_hz: None },
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("ppg", number(0, -2_000_000_000, 2_000_000_000), "counts", "photoplethysmogram").signal().like("30214"),
    column("acc", number(0, -32_768, 32_767), "1/64 g", "magnitude of the acceleration").signal().like("64"),
    column("accx", number(0, -32_768, 32_767), "1/64 g", "acceleration, x").signal().like("-2"),
    column("accy", number(0, -32_768, 32_767), "1/64 g", "acceleration, y").signal().like("4"),
    column("accz", number(0, -32_768, 32_767), "1/64 g", "acceleration, z").signal().like("63"),
    column("bpm", number(0, 0, 255), "/min", "heart rate").with_no_value(0).like("61"),
    column("bpm_q", QUALITY, "", "quality of bpm, 0 worst to 4 best"),
];
