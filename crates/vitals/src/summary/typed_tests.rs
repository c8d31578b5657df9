//! What is written of a day is read back as types, and written again without a difference.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::described::{Description, Shape};
use super::facts::recovery_on;
use super::slots_json::{DaySlots, write_section};
use super::units::{BeatsPerMinute, Celsius, EpochMs, MmHg, Percent, Seconds};
use super::*;
use crate::activity::Sex;
use crate::any_rows::{MIDNIGHT_US, any_block};
use crate::block::Block;
use crate::cells::{
    CellsByDay, Day, Kept, activity_cells, beat_cells, motion_cells, ppg1_cells, stage_cells, temperature_cells,
    variability_cells,
};
use crate::registry::DataType;
use crate::zone::{DAY_US, LocalDay};

const DAY: LocalDay = LocalDay(20_412);
const SHOWN_WITH_SLOTS: [Section; 6] = [
    Section::Activity,
    Section::HeartRate,
    Section::NonInvasiveBloodPressure,
    Section::RespirationRate,
    Section::Spo2,
    Section::Temperature,
];

/// A day with rows of some types, and the facts of sixty days before it.
#[derive(Clone, Debug)]
struct AnyDay {
    cells: Day,
    before: Day,
    profile: Profile,
    facts: FactsByDay,
}

fn put<C: Kept>(day: &mut Day, date: LocalDay, mut cells: CellsByDay<C>) {
    C::of_mut(day).replace(i64::MIN..i64::MAX, cells.remove(&date).unwrap_or_default());
}

fn day_of(date: LocalDay, blocks: &[Block]) -> Day {
    let mut day = Day::default();
    for block in blocks {
        match block.data_type {
            DataType::Activity => put(&mut day, date, activity_cells(block, |_| Some(180.0))),
            DataType::Temperature => put(&mut day, date, temperature_cells(block)),
            DataType::Sleep => put(&mut day, date, stage_cells(block)),
            DataType::HeartRateVariability => put(&mut day, date, variability_cells(block)),
            DataType::RrInterval => put(&mut day, date, beat_cells(block)),
            DataType::Acc => put(&mut day, date, motion_cells(block)),
            DataType::Ppg1 => put(&mut day, date, ppg1_cells(block)),
            other => panic!("no cells of {}", other.name()),
        }
    }
    day
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let birthday = prop::option::of((1920_i16..2020, 1_i8..=12, 1_i8..=28));
    let sex = prop::option::of(prop_oneof![Just(Sex::Female), Just(Sex::Male)]);
    (birthday, sex, prop::option::of(50.0..250.0_f64), prop::option::of(2.0..300.0_f64)).prop_map(
        |(birthday, sex, height_cm, weight_kg)| Profile {
            birthday: birthday.map(|(year, month, day)| jiff::civil::date(year, month, day)),
            sex,
            height_cm,
            weight_kg,
        },
    )
}

/// Facts of a day that recovery asks for, with the digits that they are kept with.
fn any_past() -> impl Strategy<Value = Vec<(i32, DayFacts)>> {
    let facts =
        (1_u32..200_000, 3000_u32..12_000, prop::option::of(2800_u32..3800)).prop_map(|(rmssd, bpm, skin)| DayFacts {
            measured: crate::recovery::Day {
                rmssd_ms: Some(f64::from(rmssd) / 1000.0),
                resting_bpm: Some(f64::from(bpm) / 100.0),
                skin_temperature: skin.map(|skin| f64::from(skin) / 100.0),
            },
            ..DayFacts::default()
        });
    vec((0_i32..61, facts), 0..40)
}

fn any_day() -> impl Strategy<Value = AnyDay> {
    let within = MIDNIGHT_US - DAY_US..MIDNIGHT_US + DAY_US;
    let blocks = [
        (DataType::Activity, 60),
        (DataType::Temperature, 30),
        (DataType::Sleep, 40),
        (DataType::HeartRateVariability, 10),
        (DataType::RrInterval, 30),
        (DataType::Acc, 10),
        (DataType::Ppg1, 10),
    ]
    .map(|(data_type, rows)| any_block(data_type, within.clone(), rows));
    (blocks.to_vec(), any_profile(), any_past()).prop_map(|(blocks, profile, past)| {
        let (cells, before) = (day_of(DAY, &blocks), day_of(LocalDay(DAY.0 - 1), &blocks));
        let mut facts: FactsByDay = past.into_iter().map(|(back, facts)| (LocalDay(DAY.0 - back), facts)).collect();
        let settings = SummarySettings::default();
        let source = DaySource {
            day: DAY,
            slot_count: 288,
            cells: &cells,
            before: &before,
            profile: &profile,
            settings: &settings,
        };
        let nights = Nights::of(&source);
        let of_day = facts.entry(DAY).or_insert_with(|| DayFacts::of(&source, &nights));
        (of_day.night, of_day.service_night) = (nights.by_stages, nights.by_movements);
        AnyDay { cells, before, profile, facts }
    })
}

impl AnyDay {
    fn summary(&self) -> DailySummary {
        let settings = SummarySettings::default();
        let source = DaySource {
            day: DAY,
            slot_count: 288,
            cells: &self.cells,
            before: &self.before,
            profile: &self.profile,
            settings: &settings,
        };
        DailySummary::of(&source, &Nights::of(&source))
    }

    fn stored(&self) -> Vec<(Section, String)> {
        let of_facts = bodies_of_facts(DAY, &self.facts, &self.profile);
        let all = self.summary().bodies().into_iter().chain(of_facts);
        all.filter_map(|(section, body)| Some((section, body?))).collect()
    }
}

/// Returns what was computed, without going through JSON.
fn computed(summary: DailySummary) -> Vec<SectionBody> {
    [
        summary.activity.map(SectionBody::Activity),
        summary.heart_rate.map(SectionBody::HeartRate),
        summary.non_invasive_blood_pressure.map(SectionBody::NonInvasiveBloodPressure),
        summary.respiration_rate.map(SectionBody::RespirationRate),
        summary.spo2.map(SectionBody::Spo2),
        summary.stress.map(SectionBody::Stress),
        summary.stress_continuous.map(SectionBody::StressContinuous),
        summary.temperature.map(SectionBody::Temperature),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the numbers of an object that lie outside of the bounds of their fields.
fn outside(description: &Description, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for field in description.fields {
        let value = &object[field.name];
        match field.shape {
            Shape::Number { .. } => {
                let (lowest, highest) = field.range.unwrap_or_else(|| panic!("{} has no bounds", field.name));
                let is_outside = value.as_f64().is_some_and(|number| !(lowest..=highest).contains(&number));
                found.extend(is_outside.then(|| format!("{}.{}: {value}", description.name, field.name)));
            }
            Shape::Object(inner) => found.extend(outside(inner, value)),
            Shape::List(inner) => {
                found.extend(value.as_array().into_iter().flatten().flat_map(|one| outside(inner, one)));
            }
            Shape::Flag | Shape::Text(_) => {}
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn stored_sections_are_read_and_written_again_byte_for_byte(day in any_day()) {
        for (section, json) in day.stored() {
            let body = section.read(&json).unwrap();
            prop_assert_eq!((body.section(), body.date()), (section, DAY));
            prop_assert_eq!(body.to_json().unwrap(), json);
        }
    }

    #[test]
    fn what_is_read_equals_what_was_computed(day in any_day()) {
        let stored = day.stored();
        for body in computed(day.summary()) {
            let (section, json) = stored.iter().find(|(section, _)| *section == body.section()).unwrap();
            prop_assert_eq!(&section.read(json).unwrap(), &body);
        }
        for (section, night) in [
            (Section::Sleep, SleepSection::of_stages(DAY, &day.facts).map(SectionBody::Sleep)),
            (Section::ServiceSleep, SleepSection::of_movements(DAY, &day.facts).map(SectionBody::ServiceSleep)),
            (Section::Recovery, recovery_on(DAY, &day.facts, &day.profile).map(SectionBody::Recovery)),
        ] {
            let json = stored.iter().find(|(of, _)| *of == section).map(|(_, json)| json.as_str());
            prop_assert_eq!(json.map(|json| section.read(json).unwrap()), night);
        }
    }

    #[test]
    fn answers_with_slots_are_read_and_written_again_byte_for_byte(day in any_day()) {
        let slots = DaySlots::new(day.cells.activity.clone(), day.cells.temperature.clone());
        for (section, stored) in day.stored() {
            let mut answer = Vec::new();
            write_section(&mut answer, section, stored.as_bytes(), Some(&slots));
            let answer = String::from_utf8(answer).unwrap();
            prop_assert_eq!(answer != stored, SHOWN_WITH_SLOTS.contains(&section), "{}", answer);
            let body = section.read(&answer).unwrap();
            prop_assert_eq!(body.to_json().unwrap(), answer);
        }
    }

    /// Clients refuse an answer with a number outside of the bounds that its schema states.
    #[test]
    fn every_number_lies_between_the_bounds_of_its_field(day in any_day()) {
        let slots = DaySlots::new(day.cells.activity.clone(), day.cells.temperature.clone());
        for (section, stored) in day.stored() {
            let mut answer = Vec::new();
            write_section(&mut answer, section, stored.as_bytes(), Some(&slots));
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            prop_assert_eq!(outside(section.description(), &answer), Vec::<String>::new());
        }
    }

    /// Not even a number with as many digits as a figure can have changes on its way through JSON.
    #[test]
    fn rounded_numbers_survive_json(thousandths in -9_000_000_000_000_i64..9_000_000_000_000) {
        let number = thousandths as f64 / 1000.0;
        let json = serde_json::to_string(&BeatsPerMinute(number)).unwrap();
        prop_assert_eq!(serde_json::from_str::<BeatsPerMinute>(&json).unwrap().0.to_bits(), number.to_bits());
    }

    /// One field more or less cannot go unseen: all that is written has a place in the type, and nothing else has.
    #[test]
    fn a_field_that_no_type_has_is_refused(day in any_day()) {
        for (section, json) in day.stored() {
            let mut object: serde_json::Map<String, Value> = serde_json::from_str(&json).unwrap();
            object.insert("unheard_of".to_owned(), Value::Null);
            let error = section.read(&Value::Object(object).to_string()).unwrap_err();
            prop_assert!(error.to_string().contains("unheard_of"), "{}", error);
        }
    }
}

#[test]
fn a_text_that_is_no_section_is_refused_with_the_name_of_the_section() {
    for section in Section::ALL {
        for wrong in ["", "{}", "null", "[]", r#"{"date":"2025-11-20"} x"#, r#"{"date":"20.11.2025"}"#] {
            let error = section.read(wrong).unwrap_err();
            assert_eq!(error.section, section);
            let start = format!("section {} cannot be read: ", section.name());
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }
}

#[test]
fn units_are_those_of_the_documentation() {
    assert_eq!(BeatsPerMinute(61.5).to_string(), "61.5 /min");
    assert_eq!(Percent(97.0).to_string(), "97 %");
    assert_eq!(Celsius(-1.25).to_string(), "-1.25 °C");
    assert_eq!(Seconds(28_800).to_string(), "28800 s");
    assert_eq!((MmHg::UNIT, EpochMs::UNIT), ("mmHg", "ms"));
    assert!(Percent(90.0) < Percent(90.1) && Seconds(1) < Seconds(2));
}

#[test]
fn the_source_of_steps_is_one_word() {
    assert_eq!(serde_json::to_string(&StepsSource::Acceleration).unwrap(), r#""acceleration""#);
    assert!(serde_json::from_str::<StepsSource>(r#""Acceleration""#).is_err());
}

#[test]
fn slots_are_typed_too() {
    let answer = r#"{"date":"2025-11-20","avg_spo2":97.5,"start_timestamp":1763596800000,"end_timestamp":1763597100000,"slots_five_minutes":[{"is_wearing":true,"is_charging":false,"is_low_battery":false,"timestamp":1763596800000,"date":"00:00","spo2":97.5,"spo2_q":4}],"slots_thirty_minutes":[]}"#;
    let SectionBody::Spo2(section) = Section::Spo2.read(answer).unwrap() else { panic!("another section") };
    let [slot] = section.slots_five_minutes.as_deref().unwrap() else { panic!("one slot") };
    assert_eq!((slot.spo2, slot.spo2_q, slot.date.minutes()), (Some(Percent(97.5)), Some(4), 0));
    assert_eq!(slot.timestamp, section.start_timestamp.unwrap());
    let broken = answer.replace("\"00:00\"", "\"0:00\"");
    assert!(Section::Spo2.read(&broken).unwrap_err().to_string().contains("not a time of day"));
}
