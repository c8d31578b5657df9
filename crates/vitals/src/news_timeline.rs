//! NEWS over time: which evaluations become entries.
//!
//! The score is evaluated at each time T at which one of its vital signs was measured or one of its settings was
//! changed, from the newest valid measurements of the twelve hours up to T. An evaluation becomes an entry when a sub-score, the total or the set
//! of missing parts differs from the evaluation before it; the newest evaluation is always kept. Both follow from
//! the stored rows alone, so a range can be computed again whenever its rows change: what was valid before the range
//! comes from cells, and nothing later than twelve hours after it can change but whether the next evaluation differs.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::latest::{LatestValues, Readings, Timed};
use crate::measured::Measured;
use crate::news2::{
    Availability, Measurement, Measurements, PRESSURE_AGE_LIMIT_MS, Parameter, Risk, Settings, evaluate, risk,
};

/// How far back from T a measurement is looked for, ms.
pub const LOOK_BACK_MS: i64 = PRESSURE_AGE_LIMIT_MS;

/// The vital signs measured within one millisecond; none where only a setting was changed.
pub type Moment = (i64, Measured);

/// Settings at a time, and which of them nobody has ever set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettingsAt {
    /// The settings.
    pub settings: Settings,
    /// Which are the default because nobody set them.
    pub assumed: Assumed,
}

/// Which settings nobody has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[bool; 3]", into = "[bool; 3]")]
pub struct Assumed {
    /// `spo2_scale`.
    pub spo2_scale: bool,
    /// `oxygen`.
    pub oxygen: bool,
    /// `consciousness`.
    pub consciousness: bool,
}

impl From<[bool; 3]> for Assumed {
    fn from([spo2_scale, oxygen, consciousness]: [bool; 3]) -> Self {
        Assumed { spo2_scale, oxygen, consciousness }
    }
}

impl From<Assumed> for [bool; 3] {
    fn from(assumed: Assumed) -> Self {
        [assumed.spo2_scale, assumed.oxygen, assumed.consciousness]
    }
}

/// One parameter's part in an entry. Serialised as `[score, availability, measurement]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "PartForm", into = "PartForm")]
pub struct EntryPart {
    /// Sub-score 0 to 3; `None` unless the measurement is fresh.
    pub score: Option<u8>,
    /// Whether the measurement entered the score, and if not, why.
    pub availability: Availability,
    /// The measurement, also where it was too old to be scored.
    pub measured: Option<Timed>,
}

type PartForm = (Option<u8>, u8, Option<Timed>);

const AVAILABILITIES: [Availability; 4] =
    [Availability::Fresh, Availability::Missing, Availability::LowQuality, Availability::Stale];

impl From<PartForm> for EntryPart {
    fn from((score, availability, measured): PartForm) -> Self {
        let availability = AVAILABILITIES.get(usize::from(availability)).copied().unwrap_or(Availability::Missing);
        EntryPart { score, availability, measured }
    }
}

impl From<EntryPart> for PartForm {
    fn from(part: EntryPart) -> Self {
        // Stored as a small number: there are thousands of entries a day and patient, and the position is pinned by
        // the list.
        let code = AVAILABILITIES.iter().position(|availability| *availability == part.availability);
        (part.score, code.unwrap_or(1) as u8, part.measured)
    }
}

/// NEWS at one moment, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewsEntry {
    /// T, Unix epoch milliseconds.
    #[serde(rename = "t")]
    pub time_ms: i64,
    /// Sum of the seven sub-scores; `None` unless all five measurements are fresh.
    #[serde(rename = "v")]
    pub total: Option<u8>,
    /// The five measured parameters, in the order of [`Parameter::ALL`].
    #[serde(rename = "p")]
    pub parts: [EntryPart; 5],
    /// Sub-score of supplemental oxygen.
    #[serde(rename = "o")]
    pub score_oxygen: u8,
    /// Sub-score of consciousness.
    #[serde(rename = "c")]
    pub score_consciousness: u8,
    /// Which settings nobody has set.
    #[serde(rename = "a")]
    pub assumed: Assumed,
    /// Whether it differs from the evaluation before it. One that does not is kept only while it is the newest.
    #[serde(rename = "n")]
    pub changed: bool,
}

impl NewsEntry {
    /// Returns the entry at T from the newest valid values up to T. `previous` is the evaluation before, or any entry
    /// equal to it but for time and values.
    pub fn at(time_ms: i64, known: &Measured, settings: &SettingsAt, previous: Option<&NewsEntry>) -> Self {
        let (valid, poor) = (scored(&known.valid), scored(&known.poor));
        let entering: [Option<Measurement>; 5] =
            std::array::from_fn(|at| entering(time_ms, Parameter::ALL[at], [valid[at], poor[at]]));
        let [respiration_rate, spo2, blood_pressure, heart_rate, temperature] = entering;
        let measurements = Measurements { respiration_rate, spo2, blood_pressure, heart_rate, temperature };
        let evaluation = evaluate(time_ms, &measurements, &settings.settings);
        let mut parts = [EntryPart { score: None, availability: Availability::Missing, measured: None }; 5];
        for ((part, parameter), measurement) in parts.iter_mut().zip(Parameter::ALL).zip(entering) {
            let evaluated = evaluation.part(parameter);
            let measured = measurement.map(|taken| Timed { value: taken.value, timestamp_ms: taken.time_ms });
            *part = EntryPart {
                score: evaluated.score,
                availability: evaluated.availability,
                // A value later than T or one that no body can show is not part of the entry.
                measured: measured.filter(|_| evaluated.value.is_some()),
            };
        }
        let mut entry = NewsEntry {
            time_ms,
            total: evaluation.total,
            parts,
            score_oxygen: evaluation.score_oxygen,
            score_consciousness: evaluation.score_consciousness,
            assumed: settings.assumed,
            changed: true,
        };
        entry.changed = previous.is_none_or(|previous| entry.differs_from(previous));
        entry
    }

    /// Returns the part of a parameter.
    pub fn part(&self, parameter: Parameter) -> &EntryPart {
        let position = Parameter::ALL.iter().position(|candidate| *candidate == parameter);
        &self.parts[position.unwrap_or(0)]
    }

    /// Clinical risk; None without a total.
    pub fn risk(&self) -> Option<Risk> {
        self.total?;
        let [one, two, three, four, five] = self.parts.map(|part| part.score.unwrap_or_default());
        Some(risk([one, two, three, four, five, self.score_oxygen, self.score_consciousness]))
    }

    /// Names the reason of what is missing only because it was measured longer ago than an evaluation looks back: stale, or
    /// poor where that was measured last. `known` are the newest measurements of the patient; later ones than T are left alone.
    ///
    /// Entries follow from the rows of twelve hours, so that a late row changes few of them. The newest entry is no
    /// older than any newest value, so when it is read, these say what was ever measured.
    pub fn name_forgotten(&mut self, known: &Measured) {
        let time_ms = self.time_ms;
        let before = |timed: &Timed| timed.timestamp_ms <= time_ms;
        for ((part, valid), poor) in self.parts.iter_mut().zip(scored(&known.valid)).zip(scored(&known.poor)) {
            let (valid, poor) = (valid.filter(before), poor.filter(before));
            // As within the twelve hours: of one time the valid one counts.
            let is_poor = poor.map(|poor| poor.timestamp_ms) > valid.map(|valid| valid.timestamp_ms);
            let (reason, forgotten) =
                if is_poor { (Availability::LowQuality, poor) } else { (Availability::Stale, valid) };
            if part.availability == Availability::Missing && forgotten.is_some() {
                (part.availability, part.measured) = (reason, forgotten);
            }
        }
    }

    /// Returns whether a sub-score, the total, or what is missing and why differs.
    pub fn differs_from(&self, other: &NewsEntry) -> bool {
        // Not the measurements: each minute has others, and a history of every minute would hide the changes.
        let reasons = |entry: &NewsEntry| entry.parts.map(|part| (part.score, part.availability));
        let set = |entry: &NewsEntry| (entry.total, entry.score_oxygen, entry.score_consciousness);
        reasons(self) != reasons(other) || set(self) != set(other)
    }
}

/// The newest entry of a patient before something and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NewestNews {
    /// As it was stored; none where there was none.
    pub before: Option<NewsEntry>,
    /// As it was computed; none where there is none any more.
    pub after: Option<NewsEntry>,
}

impl NewestNews {
    /// Whether a reader sees another one.
    pub fn is_changed(&self) -> bool {
        // Whether an entry differs from the one before it is how it is kept, and no part of what it says.
        let shown = |entry: Option<NewsEntry>| entry.map(|entry| NewsEntry { changed: true, ..entry });
        shown(self.before) != shown(self.after)
    }
}

/// Returns the measurement of a parameter that enters an evaluation at T, of the newest valid one and the newest poor one:
/// the valid one, unless it is too old and a poor one was taken since.
fn entering(time_ms: i64, parameter: Parameter, newest: [Option<Timed>; 2]) -> Option<Measurement> {
    // No entry depends on anything older, so that a late row reaches twelve hours of entries and no further.
    let within = |timed: Option<Timed>| timed.filter(|timed| time_ms - timed.timestamp_ms <= LOOK_BACK_MS);
    let taken = |timed: Timed, good| Measurement { value: timed.value, time_ms: timed.timestamp_ms, good };
    match newest.map(within) {
        [Some(valid), Some(poor)] => {
            let is_fresh = time_ms - valid.timestamp_ms <= parameter.age_limit_ms();
            // While a valid measurement is fresh, a poor one after it hides nothing that is known.
            let takes_valid = is_fresh || valid.timestamp_ms >= poor.timestamp_ms;
            Some(if takes_valid { taken(valid, true) } else { taken(poor, false) })
        }
        [valid, poor] => valid.map(|valid| taken(valid, true)).or_else(|| poor.map(|poor| taken(poor, false))),
    }
}

/// Returns the vital signs that are scored, in the order of [`Parameter::ALL`].
fn scored(known: &LatestValues) -> [Option<Timed>; 5] {
    [known.respiration_rate, known.spo2, known.nibp_systolic, known.heart_rate, known.temperature]
}

/// Returns the vital signs in the rows of some blocks up to a time (included), one moment a millisecond, in the order
/// of time.
pub fn moments(blocks: &[Block], not_after_us: i64) -> Vec<Moment> {
    // A moment is large, so that growing step by step would copy a day of them several times.
    let mut moments: Vec<Moment> = Vec::with_capacity(blocks.iter().map(|block| block.times_us.len()).sum());
    for block in blocks {
        let Some(readings) = Readings::of(block) else {
            continue;
        };
        let rows = block.times_us.partition_point(|time| *time <= not_after_us);
        for row in 0..rows {
            let time_ms = block.times_us[row].div_euclid(1000);
            let measured = Measured { valid: readings.at(row, time_ms), poor: readings.poor_at(row, time_ms) };
            if measured.scored_ms().is_some() {
                moments.push((time_ms, measured));
            }
        }
    }
    // Blocks of several channels overlap in time. The order among equal times does not matter: merging takes the
    // graver value.
    moments.sort_by_key(|(time_ms, _)| *time_ms);
    moments.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1.merge_newer(&later.1);
        }
        same
    });
    moments
}

/// Steps through moments in the order of time.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Newest measurements so far.
    pub known: Measured,
    /// The last evaluation so far, or an entry that equals it but for time and values.
    pub last: Option<NewsEntry>,
}

impl Timeline {
    /// Evaluates at a moment, which must be later than all before.
    pub fn step(&mut self, moment: &Moment, settings: &SettingsAt) -> NewsEntry {
        let (time_ms, measured) = moment;
        self.known.merge_newer(measured);
        let entry = NewsEntry::at(*time_ms, &self.known, settings, self.last.as_ref());
        self.last = Some(entry);
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_MS: i64 = 60_000;

    fn all_at(timestamp_ms: i64) -> LatestValues {
        let timed = |value| Some(Timed { value, timestamp_ms });
        LatestValues {
            heart_rate: timed(72.0),
            respiration_rate: timed(16.0),
            temperature: timed(37.0),
            spo2: timed(97.0),
            nibp_systolic: timed(120.0),
            nibp_diastolic: None,
            news_score: None,
        }
    }

    fn heart_rate_at(value: f64, timestamp_ms: i64) -> Moment {
        let values = LatestValues { heart_rate: Some(Timed { value, timestamp_ms }), ..LatestValues::default() };
        (timestamp_ms, values.into())
    }

    #[test]
    fn an_entry_follows_each_change_and_staleness_is_one() {
        let mut timeline = Timeline { known: Measured::default(), last: None };
        let settings = SettingsAt::default();
        let first = timeline.step(&(0, all_at(0).into()), &settings);
        assert_eq!((first.total, first.changed), (Some(0), true));
        let same = timeline.step(&heart_rate_at(80.0, MINUTE_MS), &settings);
        assert_eq!((same.total, same.changed), (Some(0), false));
        let fast = timeline.step(&heart_rate_at(95.0, 30 * MINUTE_MS), &settings);
        assert_eq!((fast.total, fast.changed), (Some(1), true));
        let stale = timeline.step(&heart_rate_at(95.0, 31 * MINUTE_MS), &settings);
        assert_eq!((stale.total, stale.changed), (None, true));
        assert_eq!(stale.part(Parameter::Spo2).availability, Availability::Stale);
        assert_eq!(stale.part(Parameter::BloodPressure).score, Some(0));
        let mut forgotten = timeline.step(&heart_rate_at(95.0, 12 * 60 * MINUTE_MS + 1), &settings);
        assert_eq!(forgotten.part(Parameter::Spo2).availability, Availability::Missing);
        assert_eq!(forgotten.part(Parameter::BloodPressure).availability, Availability::Missing);
        let mut known = timeline.known;
        known.valid.temperature = None;
        known.valid.nibp_systolic = Some(Timed { value: 120.0, timestamp_ms: forgotten.time_ms + 1 });
        forgotten.name_forgotten(&known);
        let spo2 = forgotten.part(Parameter::Spo2);
        assert_eq!((spo2.availability, spo2.score, spo2.measured), (Availability::Stale, None, all_at(0).spo2));
        assert_eq!(forgotten.part(Parameter::HeartRate).availability, Availability::Fresh);
        for unknown in [Parameter::Temperature, Parameter::BloodPressure] {
            assert_eq!(forgotten.part(unknown).availability, Availability::Missing, "{unknown:?}");
        }
    }

    #[test]
    fn poor_measurement_is_the_reason_where_no_valid_one_is_fresh() {
        let poor = |timestamp_ms| Measured {
            valid: LatestValues::default(),
            poor: LatestValues { heart_rate: Some(Timed { value: 140.0, timestamp_ms }), ..LatestValues::default() },
        };
        let mut timeline = Timeline { known: Measured::default(), last: None };
        let settings = SettingsAt::default();
        let mut step = |moment: Moment| *timeline.step(&moment, &settings).part(Parameter::HeartRate);
        let first = step((0, poor(0)));
        assert_eq!((first.availability, first.score), (Availability::LowQuality, None));
        assert_eq!(first.measured, Some(Timed { value: 140.0, timestamp_ms: 0 }));
        assert_eq!(step(heart_rate_at(72.0, MINUTE_MS)).score, Some(0));
        let within = step((31 * MINUTE_MS, poor(31 * MINUTE_MS)));
        assert_eq!((within.availability, within.score), (Availability::Fresh, Some(0)), "the valid one is fresh");
        let after = step((32 * MINUTE_MS, Measured::default()));
        assert_eq!(after.availability, Availability::LowQuality);
        assert_eq!(after.measured.map(|timed| timed.timestamp_ms), Some(31 * MINUTE_MS));
        let mut stale = Timeline { known: poor(0), last: None };
        stale.step(&heart_rate_at(72.0, MINUTE_MS), &settings);
        let old = stale.step(&(40 * MINUTE_MS, Measured::default()), &settings);
        assert_eq!(old.part(Parameter::HeartRate).availability, Availability::Stale, "the poor one is older still");
        let forgotten = step((31 * MINUTE_MS + LOOK_BACK_MS + 1, Measured::default()));
        assert_eq!(forgotten.availability, Availability::Missing);
    }

    #[test]
    fn the_stored_form_is_read_back() {
        let settings = SettingsAt {
            assumed: Assumed { spo2_scale: true, oxygen: false, consciousness: true },
            ..Default::default()
        };
        let mut known = all_at(40 * MINUTE_MS);
        known.spo2 = Some(Timed { value: 96.5, timestamp_ms: 0 });
        let entry = NewsEntry::at(40 * MINUTE_MS, &known.into(), &settings, None);
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<NewsEntry>(&text).unwrap(), entry);
        assert!(text.starts_with(r#"{"t":2400000,"v":null,"p":[[0,0,[16.0,2400000]],[null,3,[96.5,0]],"#), "{text}");
    }
}
