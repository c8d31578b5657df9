//! A table of fields, and what it demands of an answer.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Nothing feeds the field yet.
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    Object,
    List,
    /// Integer, Unix epoch milliseconds between 2000 and 2100.
    EpochMs,
    /// `YYYY-MM-DD`.
    Date,
    /// `HH:MM`.
    HourMinute,
    /// ISO 8601 in UTC with milliseconds.
    UtcMs,
    /// ISO 8601 date-time with a UTC offset.
    WithOffset,
    /// `YYYY-MM-DD HH:MM:SS`.
    PlainSeconds,
    Uuid,
    /// 24 lower-case hex digits.
    RecordId,
}

use Kind::{Boolean, Date, EpochMs, HourMinute, Integer, List, Null, Number, Object, PlainSeconds};
use Kind::{RecordId, Text, UtcMs, Uuid, WithOffset};

impl Kind {
    fn fits(self, value: &Value) -> bool {
        let text = value.as_str();
        let reads = |pattern: &str| text.is_some_and(|text| is_written_as(text, pattern));
        match self {
            Null => value.is_null(),
            Boolean => value.is_boolean(),
            Integer => value.is_i64(),
            Number => value.is_number(),
            Text => value.is_string(),
            Object => value.is_object(),
            List => value.is_array(),
            EpochMs => value.as_i64().is_some_and(|ms| (946_684_800_000..4_102_444_800_000).contains(&ms)),
            Date => reads("0000-00-00"),
            HourMinute => reads("00:00"),
            UtcMs => reads("0000-00-00T00:00:00.000Z"),
            WithOffset => reads("0000-00-00T00:00:00+00:00") || reads("0000-00-00T00:00:00-00:00"),
            PlainSeconds => reads("0000-00-00 00:00:00"),
            Uuid => reads("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
            RecordId => reads("xxxxxxxxxxxxxxxxxxxxxxxx"),
        }
    }
}

/// `0` in a pattern represents a digit, `x` a lower-case hex digit, everything else itself.
fn is_written_as(text: &str, pattern: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        _ => byte == wanted,
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}

/// When a field is there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Presence {
    Always,
    /// Absent where there is nothing to report.
    WhenSet,
    /// With `include_slots=1`, never without.
    WithSlots,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    name: &'static str,
    kind: Kind,
    presence: Presence,
    can_be_null: bool,
}

/// Returns a field that is always there, with a value.
pub const fn always(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, presence: Presence::Always, can_be_null: false }
}

/// Returns a field that is always there and can be null: by the specification where that names it, else by the
/// project's own table of summary fields and decisions.
pub const fn or_null(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, presence: Presence::Always, can_be_null: true }
}

/// Returns a field that is left out where there is nothing to report, and never null.
pub const fn when_set(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, presence: Presence::WhenSet, can_be_null: false }
}

/// Returns a field that is there with `include_slots=1` only.
pub const fn with_slots(name: &'static str) -> Field {
    Field { name, kind: List, presence: Presence::WithSlots, can_be_null: false }
}

/// How a field has been seen.
#[derive(Default)]
struct Seen {
    with_value: bool,
    as_null: bool,
    absent: bool,
}

/// A table of the specification.
pub struct Table {
    specified: Vec<Field>,
    ours: Vec<Field>,
    seen: BTreeMap<&'static str, Seen>,
}

impl Table {
    /// Makes a table as the specification has it.
    pub fn of(specified: &[Field]) -> Self {
        Table { specified: specified.to_vec(), ours: Vec::new(), seen: BTreeMap::new() }
    }

    /// Returns what refinements and decisions add to it.
    pub fn and_ours(mut self, ours: &[Field]) -> Self {
        self.ours.extend(ours);
        self
    }

    /// Checks an answer that was asked for without slots.
    pub fn check(&mut self, answer: &Value) {
        self.check_fields(answer, false);
    }

    /// Checks an answer that was asked for with slots.
    pub fn check_with_slots(&mut self, answer: &Value) {
        self.check_fields(answer, true);
    }

    fn check_fields(&mut self, answer: &Value, slots: bool) {
        let reported = answer.as_object().unwrap_or_else(|| panic!("no object: {answer}"));
        let all: Vec<Field> = self.specified.iter().chain(&self.ours).copied().collect();
        for name in reported.keys() {
            assert!(all.iter().any(|field| field.name == name), "`{name}` is in no table: {answer}");
        }
        for field in all {
            let name = field.name;
            let seen = self.seen.entry(name).or_default();
            let Some(value) = reported.get(name) else {
                let may_be_absent = match field.presence {
                    Presence::Always => false,
                    Presence::WhenSet => true,
                    Presence::WithSlots => !slots,
                };
                assert!(may_be_absent, "`{name}` is missing: {answer}");
                seen.absent = true;
                continue;
            };
            assert!(slots || field.presence != Presence::WithSlots, "`{name}` was not asked for: {answer}");
            if value.is_null() && field.can_be_null {
                seen.as_null = true;
                continue;
            }
            assert!(field.kind.fits(value), "`{name}` is {value}, which is no {:?}: {answer}", field.kind);
            seen.with_value = true;
        }
    }
}

impl Drop for Table {
    /// Each specified field must have been seen in every way that the table allows it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for field in &self.specified {
            let seen = self.seen.get(field.name).unwrap_or_else(|| panic!("`{}` was never looked for", field.name));
            assert!(seen.with_value, "`{}` was never seen with a value", field.name);
            assert!(seen.as_null || !field.can_be_null, "`{}` was never seen as null", field.name);
            assert!(seen.absent || field.presence == Presence::Always, "`{}` was never seen absent", field.name);
        }
    }
}

/// Checks that an answer has these fields with exactly these values.
pub fn assert_fields(answer: &Value, expected: &Value) {
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&answer[name], value, "{name} of {answer}");
    }
}

#[test]
fn a_table_refuses_what_it_does_not_name() {
    use serde_json::json;
    let refuses = |answer: Value| {
        let table = std::panic::AssertUnwindSafe(answer);
        std::panic::catch_unwind(move || {
            let mut table_of_two = Table::of(&[always("a", Integer), or_null("b", Text)]);
            table_of_two.check(&table);
            std::mem::forget(table_of_two);
        })
        .is_err()
    };
    assert!(!refuses(json!({"a": 1, "b": null})) && !refuses(json!({"a": 1, "b": "x"})));
    for wrong in [json!({"a": 1}), json!({"a": 1.5, "b": ""}), json!({"a": null, "b": ""}), json!([])] {
        assert!(refuses(wrong.clone()), "{wrong}");
    }
    assert!(refuses(json!({"a": 1, "b": "", "c": 1})), "an extra name");
    assert!(Date.fits(&json!("2025-11-20")) && !Date.fits(&json!("2025-11-2x")));
    assert!(UtcMs.fits(&json!("2025-11-20T00:53:20.000Z")) && !UtcMs.fits(&json!("2025-11-20T00:53:20Z")));
    assert!(Object.fits(&json!({})) && Boolean.fits(&json!(false)) && HourMinute.fits(&json!("23:55")));
}
