//! `heart-rate-variability`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, column, number};
use crate::registry::declaration::{Declaration, Period, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "heart-rate-variability",
    number: 5,
    title: "Heart rate variability",
    meaning: "Heart-rate variability as the bracelet computes it",
    count_name: Some("hrv"),
    role: Role::Series,
    period: Period::Month,
    sampling: Sampling::ByRow("3 to 5 min"),
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("si", number(3, 0, 1_000_000), "", "stress index").like("84.2"),
    column("si_n", number(3, 0, 100_000), "", "stress index, normalised"),
    column("mrr", number(3, 0, 60_000), "ms", "mean interval").like("981.3"),
    column("sdnn", number(3, 0, 60_000), "ms", "standard deviation of the intervals").like("51.2"),
    column("rmssd", number(3, 0, 60_000), "ms", "root mean square of successive differences").like("42.7"),
    column("pnn50", number(3, 0, 100), "%", "successive differences above 50 ms"),
    column("vlf", number(3, 0, 2_000_000), "ms²", "power 0.003 to 0.04 Hz"),
    column("vlf_percent", number(3, 0, 100), "%", "share of vlf"),
    column("lf", number(3, 0, 2_000_000), "ms²", "power 0.04 to 0.15 Hz"),
    column("lf_percent", number(3, 0, 100), "%", "share of lf"),
    column("hf", number(3, 0, 2_000_000), "ms²", "power 0.15 to 0.4 Hz"),
    column("hf_percent", number(3, 0, 100), "%", "share of hf"),
    column("hrv", number(3, 0, 60_000), "ms", "heart-rate variability as the bracelet summarises it").like("42.7"),
    column("mo", number(3, 0, 60), "s", "mode of the intervals").like("0.975"),
    column("amo", number(3, 0, 100), "%", "amplitude of the mode"),
];
