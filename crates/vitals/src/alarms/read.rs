//! Rules from the JSON of the interface, with everything that is wrong of them at once.

use serde_json::Value;

use super::fields::{Faults, Fields};
use super::priority::Priority;
use super::profile::{Builtin, Profile};
use super::rule::{DEFAULT_MIN_QUALITY, Rule};
use super::signal::{Form, Signal};

/// Most rules of a study, and of a patient.
pub const MOST_RULES: usize = 50;
/// No vital sign comes near it, in any unit.
pub const LARGEST_THRESHOLD: f64 = 1_000.0;
/// Longest time that a breach or a recovery may have to last, s.
pub const LONGEST_FOR_S: u32 = 24 * 3600;
/// Longest identifier and name of a rule, in characters.
const LONGEST_ID: usize = 64;
const LONGEST_NAME: usize = 100;
const BEST_QUALITY: u32 = 4;

/// Whose rules are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Study,
    Patient,
}

/// Reads `builtin` and `rules` of the profile of a study. Other fields, such as those of escalation, are not looked at.
pub fn read_profile(value: &Value) -> Result<Profile, Faults> {
    let mut faults = Faults::new();
    let Value::Object(fields) = value else {
        return Err(Faults::from([("body".to_owned(), vec!["must be a JSON object".to_owned()])]));
    };
    let builtin = match fields.get("builtin") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name == Builtin::News2.name() => Some(Builtin::News2),
        Some(_) => {
            faults.insert("builtin".to_owned(), vec!["must be news2 or null".to_owned()]);
            None
        }
    };
    let rules = fields.get("rules").filter(|rules| !rules.is_null());
    let rules = rules.map(|rules| list(rules, "rules", Owner::Study, &mut faults)).unwrap_or_default();
    if faults.is_empty() { Ok(Profile { builtin, rules }) } else { Err(faults) }
}

/// Reads the rules of a patient, a list. A threshold of `vital`, `below`, `above` and `for_s` is a rule of priority
/// medium. `field` is the name of the list, for faults.
pub fn read_patient_rules(value: &Value, field: &str) -> Result<Vec<Rule>, Faults> {
    let mut faults = Faults::new();
    let rules = list(value, field, Owner::Patient, &mut faults);
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}

fn list(value: &Value, field: &str, owner: Owner, faults: &mut Faults) -> Vec<Rule> {
    let mut wrong = |message: &str| faults.entry(field.to_owned()).or_default().push(message.to_owned());
    let Value::Array(values) = value else {
        wrong("must be a list");
        return Vec::new();
    };
    if values.len() > MOST_RULES {
        // Each rule costs a pass over every row of every patient of a study.
        wrong(&format!("must be at most {MOST_RULES}"));
    }
    let mut rules: Vec<Rule> = Vec::new();
    // No more faults than there may be rules.
    for (at, value) in values.iter().enumerate().take(MOST_RULES) {
        let Some(mut fields) = Fields::of(value, format!("{field}.{at}"), faults) else { continue };
        let rule = rule(&mut fields, owner, &rules);
        fields.finish();
        rules.extend(rule);
    }
    rules
}

/// Reads a rule; `None` where its signal is not known, without which nothing else has a meaning.
fn rule(fields: &mut Fields<'_>, owner: Owner, earlier: &[Rule]) -> Option<Rule> {
    let signal = signal(fields, owner);
    let mut rule = Rule {
        id: id(fields, owner, signal, earlier),
        below: fields.number("below", LARGEST_THRESHOLD),
        above: fields.number("above", LARGEST_THRESHOLD),
        clear_below: fields.number("clear_below", LARGEST_THRESHOLD),
        clear_above: fields.number("clear_above", LARGEST_THRESHOLD),
        for_s: fields.integer("for_s", LONGEST_FOR_S).unwrap_or(0),
        clear_for_s: fields.integer("clear_for_s", LONGEST_FOR_S).unwrap_or(0),
        min_quality: fields.integer("min_quality", BEST_QUALITY).map_or(DEFAULT_MIN_QUALITY, |quality| quality as u8),
        enabled: fields.flag("enabled").unwrap_or(true),
        // What a rule calls for is part of a study's plan; thresholds of patients were set before there were priorities.
        ..Rule::on(signal.unwrap_or(Signal::HeartRate), priority(fields, owner))
    };
    if let Some(name) = fields.text("name") {
        name.trim().clone_into(&mut rule.name);
        if rule.name.is_empty() || rule.name.chars().count() > LONGEST_NAME {
            fields.wrong("name", &format!("must be 1 to {LONGEST_NAME} characters"));
        }
    }
    rule.signal = signal?;
    check(fields, &rule);
    Some(rule)
}

fn signal(fields: &mut Fields<'_>, owner: Owner) -> Option<Signal> {
    // The name that patients' thresholds had before there were rules.
    let old = if owner == Owner::Patient { fields.text("vital") } else { None };
    let new = fields.text("signal");
    if old.is_some() && new.is_some() && old != new {
        fields.wrong("vital", "must be the same as signal, or left out");
    }
    let Some(name) = new.or(old) else {
        if !fields.is_wrong("signal") && !fields.is_wrong("vital") {
            fields.wrong("signal", "is required");
        }
        return None;
    };
    let signal = Signal::from_name(name);
    if signal.is_none() {
        let names = Signal::ALL.map(Signal::name);
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        let field = if new.is_some() { "signal" } else { "vital" };
        fields.wrong(field, &format!("must be {} or {last}", others.join(", ")));
    }
    signal
}

fn id(fields: &mut Fields<'_>, owner: Owner, signal: Option<Signal>, earlier: &[Rule]) -> String {
    let Some(id) = fields.text("id") else {
        if owner == Owner::Study && !fields.is_wrong("id") {
            fields.wrong("id", "is required");
        }
        return default_id(signal, earlier);
    };
    let is_known = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
    if id.is_empty() || id.len() > LONGEST_ID || !id.chars().all(is_known) {
        fields.wrong("id", &format!("must be 1 to {LONGEST_ID} of a-z, 0-9, _ and -"));
    } else if earlier.iter().any(|rule| rule.id == id) {
        fields.wrong("id", "is that of an earlier rule");
    } else if owner == Owner::Study && id == Builtin::News2.name() {
        // A patient may have another rule in its place; a study switches it off.
        fields.wrong("id", "is that of the built-in rule");
    }
    id.to_owned()
}

/// Returns the id of a rule of a patient that was sent without one.
fn default_id(signal: Option<Signal>, earlier: &[Rule]) -> String {
    // Not the bare name of the signal: a threshold that knows nothing of the study's rules must not replace one.
    let name = format!("patient_{}", signal.map_or("", Signal::name));
    let ids = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}_{number}") });
    ids.into_iter().find(|id| earlier.iter().all(|rule| rule.id != *id)).unwrap_or_default()
}

fn priority(fields: &mut Fields<'_>, owner: Owner) -> Priority {
    let Some(name) = fields.text("priority") else {
        if owner == Owner::Study && !fields.is_wrong("priority") {
            fields.wrong("priority", "is required");
        }
        return Priority::Medium;
    };
    let priority = Priority::ALL.into_iter().find(|priority| priority.name() == name);
    if priority.is_none() {
        fields.wrong("priority", "must be high, medium or low");
    }
    priority.unwrap_or(Priority::Medium)
}

/// Notes what does not go together.
fn check(fields: &mut Fields<'_>, rule: &Rule) {
    let form = rule.signal.form();
    let has_thresholds = matches!(form, Form::Thresholds | Form::Battery);
    let unused = [
        ("below", rule.below.is_some() && !has_thresholds),
        ("above", rule.above.is_some() && form != Form::Thresholds),
        ("clear_below", rule.clear_below.is_some() && form != Form::Thresholds),
        ("clear_above", rule.clear_above.is_some() && form != Form::Thresholds),
        ("clear_for_s", rule.clear_for_s != 0 && rule.signal.is_technical()),
        ("min_quality", rule.min_quality != DEFAULT_MIN_QUALITY && !rule.signal.has_quality()),
    ];
    // Refused and not ignored: somebody who has set it would rely on it.
    for (field, _) in unused.into_iter().filter(|(_, is_sent)| *is_sent) {
        fields.wrong(field, &format!("is not used by {}", rule.signal.name()));
    }
    match form {
        Form::Thresholds => thresholds(fields, rule),
        Form::Battery if rule.below.is_none() && !fields.is_wrong("below") => fields.wrong("below", "is required"),
        Form::Duration if rule.for_s == 0 && !fields.is_wrong("for_s") => {
            fields.wrong("for_s", &format!("must be more than 0 for {}", rule.signal.name()));
        }
        _ => {}
    }
}

fn thresholds(fields: &mut Fields<'_>, rule: &Rule) {
    let is_read = !fields.is_wrong("below") && !fields.is_wrong("above");
    match (rule.below, rule.above) {
        (None, None) if is_read => fields.wrong("below", "or above is required"),
        (Some(below), Some(above)) if below >= above => fields.wrong("below", "must be less than above"),
        _ => {}
    }
    // A value that counts as cleared must not be one that breaches, on either side.
    if let Some(clear) = rule.clear_below {
        match rule.below {
            None if is_read => fields.wrong("clear_below", "needs below"),
            Some(below) if clear < below => fields.wrong("clear_below", "must be at least below"),
            _ if rule.above.is_some_and(|above| clear > above) => fields.wrong("clear_below", "must be at most above"),
            _ => {}
        }
    }
    if let Some(clear) = rule.clear_above {
        match rule.above {
            None if is_read => fields.wrong("clear_above", "needs above"),
            Some(above) if clear > above => fields.wrong("clear_above", "must be at most above"),
            _ if rule.below.is_some_and(|below| clear < below) => fields.wrong("clear_above", "must be at least below"),
            _ => {}
        }
    }
}
