//! `ppg2`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, Kind, column, number};
use crate::registry::declaration::{Declaration, Period, Rates, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "ppg2",
    number: 7,
    title: "PPG 2",
    meaning: "Photoplethysmogram by colour and sensor position",
    count_name: None,
    role: Role::Waveform,
    period: Period::Day,
    sampling: Sampling::Even { usual_hz: Rates::new(32, 512), accepted_hz: None },
    channel: ChannelRule::ColourAndPosition,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("metric_id", Kind::Hex, "", "0x7e green, 0x7c red, 0x7b infra-red, 0x7f ambient").like("0x7e"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("quality", number(0, 0, 255), "", "quality of the signal"),
    column("body_pose", number(0, 0, 255), "", "pose of the body"),
    column("led_pd_pos", number(0, 0, 255), "", "position of light source and sensor").like("6"),
    column("offset", number(0, -2_000_000_000, 2_000_000_000), "counts", "offset of the converter"),
    column("exp", number(0, -2_000_000_000, 2_000_000_000), "", "exposure"),
    column("led", number(0, 0, 2_000_000_000), "", "current of the light source"),
    column("gain", number(0, 0, 2_000_000_000), "", "gain of the amplifier"),
    column("value", number(0, 0, 65_535), "counts", "photoplethysmogram").signal().like("30214"),
];
