//! `sleep`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "sleep",
    number: 3,
    title: "Sleep",
    meaning: "Sleep stages",
    count_name: None,
    role: Role::Night,
    period: Period::Month,
    sampling: Sampling::ByRow("30 s"),
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("sleep_state", number(0, 0, 3), "", "0 awake, 1 light, 2 deep, 3 REM").like("2"),
    column("quality", QUALITY, "", "quality of the stage, 0 worst to 4 best"),
];
