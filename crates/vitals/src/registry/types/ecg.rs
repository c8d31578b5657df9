//! `ecg`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, Kind, column, number};
use crate::registry::declaration::{Declaration, Period, Rates, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "ecg",
    number: 10,
    title: "ECG",
    meaning: "Electrocardiogram",
    count_name: None,
    role: Role::Waveform,
    period: Period::Day,
    sampling: Sampling::Even { usual_hz: Rates::new(256, 256), accepted_hz: None },
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("metric_id", Kind::Hex, "", "source of the signal").like("0x01"),
    column("chunk_index", number(0, 0, 2_000_000_000), "", "number of the packet that carried the sample"),
    column("value", number(0, -2_000_000_000, 2_000_000_000), "counts", "electrocardiogram, raw")
        .signal()
        .repeating("ecg")
        .like("312"),
    column("ecg", number(3, -1000, 1000), "mV", "electrocardiogram").signal().like("0.312"),
];
