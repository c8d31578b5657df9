//! Fields of a JSON object, read one by one, with everything that is wrong of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What is wrong, by the path of the field.
pub type Faults = BTreeMap<String, Vec<String>>;

/// An object, and the path that it lies at.
pub(super) struct Fields<'json> {
    object: &'json Map<String, Value>,
    path: String,
    known: Vec<&'static str>,
    faults: &'json mut Faults,
}

impl<'json> Fields<'json> {
    /// Returns the fields of an object; notes it where it is none.
    pub fn of(value: &'json Value, path: String, faults: &'json mut Faults) -> Option<Self> {
        let Value::Object(object) = value else {
            faults.entry(path).or_default().push("must be an object".to_owned());
            return None;
        };
        Some(Fields { object, path, known: Vec::new(), faults })
    }

    pub fn wrong(&mut self, field: &str, message: &str) {
        self.faults.entry(format!("{}.{field}", self.path)).or_default().push(message.to_owned());
    }

    /// Returns whether anything is wrong of a field so far.
    pub fn is_wrong(&self, field: &str) -> bool {
        self.faults.contains_key(&format!("{}.{field}", self.path))
    }

    /// Returns a field; null is as good as none, as the interface has it.
    pub fn get(&mut self, field: &'static str) -> Option<&'json Value> {
        self.known.push(field);
        self.object.get(field).filter(|value| !value.is_null())
    }

    pub fn text(&mut self, field: &'static str) -> Option<&'json str> {
        let value = self.get(field)?;
        self.read(field, value.as_str(), "must be a text")
    }

    pub fn flag(&mut self, field: &'static str) -> Option<bool> {
        let value = self.get(field)?;
        self.read(field, value.as_bool(), "must be true or false")
    }

    /// Returns a number from 0 to the largest one.
    pub fn number(&mut self, field: &'static str, largest: f64) -> Option<f64> {
        let value = self.get(field)?;
        let number = self.read(field, value.as_f64(), "must be a number")?;
        let is_within = (0.0..=largest).contains(&number);
        self.read(field, is_within.then_some(number), &format!("must be 0 to {largest}"))
    }

    /// Returns an integer from 0 to the largest one.
    pub fn integer(&mut self, field: &'static str, largest: u32) -> Option<u32> {
        let value = self.get(field)?;
        // Some languages write 1 as 1.0, which is an integer for JSON Schema.
        let number = value.as_f64().filter(|number| number.fract() == 0.0);
        let number = self.read(field, number, "must be an integer")?;
        let is_within = (0.0..=f64::from(largest)).contains(&number);
        self.read(field, is_within.then_some(number as u32), &format!("must be 0 to {largest}"))
    }

    fn read<T>(&mut self, field: &'static str, value: Option<T>, message: &str) -> Option<T> {
        if value.is_none() {
            self.wrong(field, message);
        }
        value
    }

    /// Notes the fields that nobody has asked for.
    pub fn finish(mut self) {
        let object = self.object;
        for field in object.keys().filter(|field| !self.known.contains(&field.as_str())).collect::<Vec<_>>() {
            // A threshold with a typo in its name would be a rule that never alarms.
            self.wrong(field, "is no field here");
        }
    }
}
