//! The stories that there are.

use super::charging::Charging;
use super::dead_battery::DeadBattery;
use super::deterioration::Deterioration;
use super::exercise::Exercise;
use super::late_sync::LateSync;
use super::loose_sensor::LooseSensor;
use super::story::Plot;

/// Every plot. Stories are drawn in this order, so that a further plot goes to the end: it then changes no fleet without it.
pub(crate) static PLOTS: [&'static dyn Plot; 6] =
    [&Deterioration, &Exercise, &LooseSensor, &Charging, &LateSync, &DeadBattery];

/// Returns the names on the command line.
pub fn story_names() -> Vec<&'static str> {
    PLOTS.iter().map(|plot| plot.name()).collect()
}
