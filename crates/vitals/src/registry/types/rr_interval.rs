//! `rr-interval`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "rr-interval",
    number: 2,
    title: "RR intervals",
    meaning: "Beat-to-beat intervals",
    count_name: None,
    role: Role::Series,
    period: Period::Month,
    sampling: Sampling::ByRow("one a beat"),
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("rr", number(3, 0, 60_000), "ms", "interval between two beats").like("812.5"),
    column("quality", QUALITY, "", "quality of the beat, 0 worst to 4 best"),
];
