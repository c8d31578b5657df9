//! Figures of a day with their values: the object `extra` of an answer.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::figure::Figure;
use super::super::list::figures;
use super::super::output::day_of;

/// A figure of a day.
#[derive(Clone, Copy, Debug)]
pub struct FigureValue {
    /// Which figure, with its unit and meaning.
    pub figure: &'static Figure,
    /// Its value in the unit of the figure; `None` where nothing is known.
    pub value: Option<f64>,
}

impl PartialEq for FigureValue {
    fn eq(&self, other: &Self) -> bool {
        (self.figure.number, self.value) == (other.figure.number, other.value)
    }
}

/// All figures of a day that this version knows. As JSON: an object of topics, each an object of values by name.
///
/// ```
/// use vitals::derivation::Extra;
///
/// let extra: Extra = serde_json::from_str(r#"{"night":{"resting_heart_rate":51.5}}"#)?;
/// assert_eq!(extra.value("night", "resting_heart_rate"), Some(51.5));
/// assert_eq!(extra.iter().map(|of| of.figure.unit).collect::<Vec<_>>(), ["/min"]);
/// assert!(serde_json::from_str::<Extra>(r#"{"night":{"dreams":3}}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    values: Vec<FigureValue>,
}

impl Extra {
    /// Returns the figures, in the order of the list of derivations.
    pub fn iter(&self) -> impl Iterator<Item = &FigureValue> {
        self.values.iter()
    }

    /// Returns the value of a figure; `None` where nothing is known, or no figure has that name.
    pub fn value(&self, topic: &str, name: &str) -> Option<f64> {
        self.values.iter().find(|of| of.figure.topic == topic && of.figure.name == name)?.value
    }
}

/// Reads the figures of a day, of keys and bodies of its rows. Rows of figures that this version does not know are left out.
pub fn extra_of_day<'rows>(rows: impl IntoIterator<Item = (i64, &'rows [u8])>) -> Extra {
    let rows: Vec<(i64, &[u8])> = rows.into_iter().map(|(key, body)| (day_of(key).1, body)).collect();
    let value_of = |figure: &Figure| {
        let (_, body) = rows.iter().find(|(number, _)| *number == figure.number)?;
        serde_json::from_slice(body).ok()
    };
    Extra { values: figures().map(|figure| FigureValue { figure, value: value_of(figure) }).collect() }
}

type Topics<Name> = BTreeMap<Name, BTreeMap<Name, Option<f64>>>;

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Sorted, so that a figure moved within the list of derivations moves nothing in answers.
        let mut topics: Topics<&str> = BTreeMap::new();
        for FigureValue { figure, value } in &self.values {
            topics.entry(figure.topic).or_default().insert(figure.name, *value);
        }
        topics.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut topics: Topics<String> = BTreeMap::deserialize(deserializer)?;
        let mut take = |figure: &Figure| topics.get_mut(figure.topic)?.remove(figure.name)?;
        let values = figures().map(|figure| FigureValue { figure, value: take(figure) }).collect();
        // A figure of a newer version would be lost when the answer is written again.
        let unknown = topics.iter().find_map(|(topic, names)| Some((topic, names.keys().next()?)));
        match unknown {
            Some((topic, name)) => Err(D::Error::custom(format!("unknown figure `{topic}.{name}`"))),
            None => Ok(Extra { values }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::output::day_and;
    use super::*;
    use crate::zone::LocalDay;

    #[test]
    fn figures_without_a_row_are_null_and_rows_without_a_figure_are_left_out() {
        let key = |number| day_and(LocalDay(20_000), number);
        let json = |rows: &[(i64, &[u8])]| serde_json::to_string(&extra_of_day(rows.iter().copied())).unwrap();
        assert_eq!(json(&[]), r#"{"night":{"resting_heart_rate":null}}"#);
        assert_eq!(json(&[(key(1), b"51.5")]), r#"{"night":{"resting_heart_rate":51.5}}"#);
        assert_eq!(json(&[(key(63), b"7"), (key(1), b"52.0")]), r#"{"night":{"resting_heart_rate":52.0}}"#);
        assert_eq!(json(&[(key(1), b"damaged")]), r#"{"night":{"resting_heart_rate":null}}"#);
    }

    #[test]
    fn written_figures_are_read_back() {
        for value in [None, Some(0.01), Some(51.57), Some(255.0)] {
            let extra = Extra { values: figures().map(|figure| FigureValue { figure, value }).collect() };
            let json = serde_json::to_string(&extra).unwrap();
            assert_eq!(serde_json::from_str::<Extra>(&json).unwrap(), extra);
        }
        assert!(serde_json::from_str::<Extra>(r#"{"dreams":{"vivid":1}}"#).is_err());
        assert!(serde_json::from_str::<Extra>(r#"{"night":{"resting_heart_rate":"51"}}"#).is_err());
    }
}
