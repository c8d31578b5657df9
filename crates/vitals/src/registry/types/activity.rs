//! `activity`.

use crate::registry::channel::ChannelRule;
use crate::registry::column::{Column, Kind, QUALITY, column, number};
use crate::registry::declaration::{Declaration, Period, Role, Sampling};

pub(super) const DECLARATION: Declaration = Declaration {
    name: "activity",
    number: 1,
    title: "Activity",
    meaning: "Heart rate, respiration, SpO2, blood pressure, steps and wear",
    count_name: None,
    role: Role::Series,
    period: Period::Month,
    sampling: Sampling::ByRow("10 to 60 s"),
    channel: ChannelRule::Single,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    column("bpm", number(0, 0, 255), "/min", "heart rate").with_no_value(0).like("61"),
    column("bpm_q", QUALITY, "", "quality of bpm, 0 worst to 4 best"),
    column("last_steps", number(0, 0, 100_000), "steps", "steps in the period of the row").like("12"),
    column("activity_type", number(0, 0, 7), "", "0 unspecified, 1 other, 2 walk, 4 run, 6 cycle, 7 rest")
        .with_gaps(&[3, 5])
        .like("7"),
    column("speed", number(0, 0, 1000), "0.1 m/s", "speed of movement").like("0"),
    column("skin_proximity", number(0, 0, 1_000_000), "", "raw value of the proximity sensor").like("1200"),
    column("energy_exp", number(0, 0, 100_000_000), "cal", "energy expended in the period of the row").like("1150"),
    column("respiration_rate", number(1, 0, 255), "/min", "breaths per minute").with_no_value(0).like("14.5"),
    column("resp_q", QUALITY, "", "quality of respiration_rate, 0 worst to 4 best"),
    column("spo2", number(1, 0, 100), "%", "oxygen saturation").with_no_value(0).like("97"),
    column("spo2_q", QUALITY, "", "quality of spo2, 0 worst to 4 best"),
    column("wearing", QUALITY, "", "0 not worn to 4 on the wrist; 1 and more counts as worn").like("4"),
    column("charging", number(0, 0, 1), "", "1 while the bracelet charges").like("0"),
    column("battery", number(0, 0, 100), "%", "charge of the battery").like("83"),
    column("core_temp", number(2, 0, 60), "°C", "core body temperature").with_no_value(0).like("36.82"),
    column("gait_asymmetry", number(3, 0, 1000), "%", "difference between left and right steps"),
    column("gait_speed", number(3, 0, 50), "m/s", "walking speed as the bracelet computes it"),
    column("gait_var", number(3, 0, 1000), "%", "variability of the stride time"),
    column("cardiac_arrest", number(0, 0, 255), "", "0 unless the bracelet suspects that the pulse has stopped"),
    column("nibp_systolic", number(0, 0, 400), "mmHg", "systolic blood pressure").with_no_value(0).like("118"),
    column("nibp_diastolic", number(0, 0, 400), "mmHg", "diastolic blood pressure").with_no_value(0).like("76"),
    column("nibp_systolic_long_term", number(0, 0, 400), "mmHg", "systolic blood pressure, long-term estimate")
        .with_no_value(0)
        .like("118"),
    column("nibp_diastolic_long_term", number(0, 0, 400), "mmHg", "diastolic blood pressure, long-term estimate")
        .with_no_value(0)
        .like("76"),
    column("nibp_systolic_combine", number(0, 0, 400), "mmHg", "systolic blood pressure, combined estimate")
        .with_no_value(0)
        .like("118"),
    column("nibp_diastolic_combine", number(0, 0, 400), "mmHg", "diastolic blood pressure, combined estimate")
        .with_no_value(0)
        .like("76"),
    column("hta", Kind::Text { max_chars: 32 }, "", "hypertension assessment as the bracelet sends it"),
    column("hta_q", QUALITY, "", "quality of hta, 0 worst to 4 best"),
    column("pha", number(0, 0, 1_000_000), "", "physical activity index").deprecated(),
    column("pha_q", QUALITY, "", "quality of pha").deprecated(),
    column("move_alert", number(0, 0, 255), "", "reminder to move").deprecated(),
    column("cw", number(0, 0, 1_000_000), "", "continuous wear counter").deprecated(),
    column("cwt", number(0, 0, 1_000_000), "", "continuous wear time").deprecated(),
    column("step_calories", number(0, 0, 100_000_000), "cal", "energy of steps").deprecated(),
    column("rest_calories", number(0, 0, 100_000_000), "cal", "energy at rest").deprecated(),
    column("distance", number(0, 0, 10_000_000), "m", "distance in the period of the row").deprecated(),
    column("step_duration", number(0, 0, 1_000_000), "s", "time spent walking").deprecated(),
];
