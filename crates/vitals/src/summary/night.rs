//! The night of a sleep day, from the stages or the movements of two local days.
//!
//! Sleep day D runs from noon to noon and takes what lies on the local days D−1 and D, so a session is cut off at the
//! midnights around them: none is longer than two days, and a change reaches no further than the next day. A session
//! belongs to the sleep day that holds its middle, by the local clock of its samples; the longest represents the night.

use super::rounding::hundredths;
use super::source::DaySource;
use crate::cells::{ActivityCell, Packer, Place, Unpacker, WindowCell};
use crate::signal::mean;
use crate::sleep::stages::{EPOCH_MS, are_near, stretches_asleep};
use crate::sleep::wrist::ANGLE_EPOCH_MS;
use crate::sleep::{Session, Stage, StageEpoch, StageSums, sessions, sleep_epochs};
use crate::zone::LocalDay;

/// A stretch awake of at least so long is a day and no part of a night, ms (**ours**): bracelets that send stages
/// around the clock would have one endless session otherwise.
const LONGEST_AWAKE_MS: i64 = 3 * 3_600_000;
/// Least time of known movement from which sleep is found without stages, ms (**ours**).
const LEAST_MOVEMENT_MS: i64 = 3 * 3_600_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: i64 = 1440;
const NOON_MINUTE: i64 = 720;
/// Hundredths in one: what heart rates and their qualities are kept in.
const HUNDREDTHS: f64 = 100.0;

/// A night, with all that its section needs but what depends on other nights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Night {
    /// The longest session of the sleep day.
    pub session: Session,
    /// Minutes that local time was ahead of UTC at its start.
    pub start_offset_min: i16,
    /// Minutes that local time was ahead of UTC at its end.
    pub end_offset_min: i16,
    /// Time asleep in all sessions of the sleep day, naps included, s.
    pub all_sleep_s: i64,
    /// Mean of the valid five-minute heart rates between onset and offset, /min, two decimals.
    pub heart_rate: Option<f64>,
    /// Mean quality of their rows, 0 to 4, two decimals.
    pub heart_rate_quality: Option<f64>,
}

impl Night {
    /// Half-way between falling asleep and waking up, minutes since local midnight.
    pub fn mid_sleep_minute(&self) -> f64 {
        // By the clock of the morning, which the alarm goes by.
        let local_ms = self.session.mid_sleep_ms() + i64::from(self.end_offset_min) * MINUTE_MS;
        local_ms.rem_euclid(DAY_MINUTES * MINUTE_MS) as f64 / MINUTE_MS as f64
    }

    /// Writes the night as bytes.
    pub fn pack(&self, packer: &mut Packer) {
        let session = &self.session;
        packer.signed(session.start_ms);
        for later_ms in [session.end_ms, session.onset_ms, session.offset_ms] {
            packer.signed(later_ms - session.start_ms);
        }
        for seconds in [session.sleep_duration_s, session.awake_s, session.wake_after_onset_s, self.all_sleep_s] {
            packer.signed(seconds);
        }
        packer.unsigned(u64::from(session.awakenings));
        packer.byte(u8::from(session.stages.is_some()));
        if let Some(stages) = session.stages {
            for seconds in [stages.rem_s, stages.light_s, stages.deep_s] {
                packer.signed(seconds);
            }
        }
        packer.signed(i64::from(self.start_offset_min));
        packer.signed(i64::from(self.end_offset_min));
        packer.decimal(self.heart_rate, HUNDREDTHS);
        packer.decimal(self.heart_rate_quality, HUNDREDTHS);
    }

    /// Reads what [`Night::pack`] wrote.
    pub fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let start_ms = unpacker.signed()?;
        // Damaged bytes must end as no night and not as a sum that does not fit.
        let mut later = || start_ms.checked_add(unpacker.signed()?);
        let (end_ms, onset_ms, offset_ms) = (later()?, later()?, later()?);
        let (sleep_duration_s, awake_s) = (unpacker.signed()?, unpacker.signed()?);
        let (wake_after_onset_s, all_sleep_s) = (unpacker.signed()?, unpacker.signed()?);
        let awakenings = unpacker.number()?;
        let stages = if unpacker.byte()? == 0 {
            None
        } else {
            let (rem_s, light_s, deep_s) = (unpacker.signed()?, unpacker.signed()?, unpacker.signed()?);
            Some(StageSums { rem_s, light_s, deep_s })
        };
        let session = Session {
            start_ms,
            end_ms,
            onset_ms,
            offset_ms,
            sleep_duration_s,
            awake_s,
            wake_after_onset_s,
            awakenings,
            stages,
        };
        Some(Night {
            session,
            start_offset_min: i16::try_from(unpacker.signed()?).ok()?,
            end_offset_min: i16::try_from(unpacker.signed()?).ok()?,
            all_sleep_s,
            heart_rate: unpacker.decimal(HUNDREDTHS)?,
            heart_rate_quality: unpacker.decimal(HUNDREDTHS)?,
        })
    }
}

/// What the local clock was ahead of UTC, by the cells of two days.
struct Offsets(Vec<Place>);

impl Offsets {
    fn of<'cells, C: WindowCell + 'cells>(cells: impl Iterator<Item = &'cells C>) -> Self {
        let mut places: Vec<Place> = cells.map(WindowCell::place).collect();
        places.sort_unstable();
        Offsets(places)
    }

    /// Of the last cell that begins at a time or before, else of the first.
    fn at(&self, time_ms: i64) -> i16 {
        let after = self.0.partition_point(|place| place.start_ms() <= time_ms);
        self.0.get(after.saturating_sub(1)).map_or(0, |place| place.offset_minutes)
    }

    /// Returns the sleep day that holds a time.
    fn sleep_day(&self, time_ms: i64) -> LocalDay {
        let local_minute = time_ms.div_euclid(MINUTE_MS) + i64::from(self.at(time_ms));
        LocalDay((local_minute + NOON_MINUTE).div_euclid(DAY_MINUTES) as i32)
    }
}

/// Returns the epochs of sessions of stages on a day and the one before it, cut off at their midnights.
fn stage_epochs(source: &DaySource<'_>) -> Vec<StageEpoch> {
    let cells = source.before.stages.cells().iter().chain(source.cells.stages.cells());
    let mut epochs: Vec<StageEpoch> = cells.flat_map(|cell| cell.epochs.iter().copied()).collect();
    epochs.sort_by_key(|epoch| epoch.time_ms);
    without_days_awake(&apart(epochs))
}

/// Returns a stage holds for its thirty seconds: rows that come thicker than half of that are left out.
fn apart(mut epochs: Vec<StageEpoch>) -> Vec<StageEpoch> {
    let mut last_ms = i64::MIN;
    epochs.retain(|epoch| {
        let is_apart = epoch.time_ms.saturating_sub(last_ms) >= EPOCH_MS / 2;
        if is_apart {
            last_ms = epoch.time_ms;
        }
        is_apart
    });
    epochs
}

/// Leaves out stretches awake that are days. A stretch ends where a session would: waking up one morning and lying awake
/// the next evening are not one, though nothing lies between them.
fn without_days_awake(epochs: &[StageEpoch]) -> Vec<StageEpoch> {
    let is_awake = |epoch: &StageEpoch| epoch.stage == Stage::Awake;
    let runs = epochs.chunk_by(|one, next| is_awake(one) == is_awake(next) && are_near(one, next));
    let is_day = |run: &&[StageEpoch]| match run {
        [first, .., last] => is_awake(first) && last.time_ms + EPOCH_MS - first.time_ms >= LONGEST_AWAKE_MS,
        _ => false,
    };
    runs.filter(|run| !is_day(run)).flatten().copied().collect()
}

/// Returns the night of a day by its stages; `None` without any session in it.
fn stage_night(source: &DaySource<'_>, sessions: &[Session]) -> Option<Night> {
    let both = [source.before, source.cells];
    let offsets = Offsets::of(both.iter().flat_map(|day| day.stages.cells()));
    let is_of_day = |session: &&Session| offsets.sleep_day(session.midpoint_ms()) == source.day;
    let of_day: Vec<&Session> = sessions.iter().filter(is_of_day).collect();
    // Of equally long ones the first.
    let longest = of_day.iter().rev().max_by_key(|session| session.end_ms - session.start_ms)?;
    let all_sleep_s = of_day.iter().map(|session| session.sleep_duration_s).sum();
    Some(night(source, **longest, all_sleep_s, &offsets))
}

/// Returns the night of a day by the movements of the wrist, from noon to noon; `None` with less than three hours of
/// them, or without rest in them. Windows mostly off the wrist are not known. With its stretches asleep.
fn movement_night(source: &DaySource<'_>) -> Option<(Night, Vec<(i64, i64)>)> {
    let late = source.before.motion.cells().iter().filter(|cell| cell.place.local_minute() >= NOON_MINUTE);
    let early = source.cells.motion.cells().iter().filter(|cell| cell.place.local_minute() < NOON_MINUTE);
    let mut cells: Vec<_> = late.chain(early).collect();
    cells.sort_by_key(|cell| cell.place);
    // A window in which the patient travelled lies on two local days, once in each.
    cells.dedup_by_key(|cell| cell.place.window());
    let start_window = cells.first()?.place.window();
    let mut angles = Vec::new();
    let mut known_ms = 0;
    for cell in &cells {
        let window = cell.place.window();
        // Windows without samples keep their place: the rolling median counts in epochs and not in rows.
        angles.resize((window - start_window) as usize * crate::cells::ANGLES, None);
        if is_worn(source, window) {
            angles.extend(cell.angles());
            known_ms += cell.angles().flatten().count() as i64 * ANGLE_EPOCH_MS;
        }
    }
    // The 10th percentile of an hour of movement is no measure of how still the person can lie.
    if known_ms < LEAST_MOVEMENT_MS {
        return None;
    }
    let epochs = sleep_epochs(cells[0].place.start_ms(), &angles)?;
    let session = Session::of(ANGLE_EPOCH_MS, &epochs)?;
    let offsets = Offsets::of(cells.iter().copied());
    let night = night(source, session, session.sleep_duration_s, &offsets);
    Some((night, stretches_asleep(ANGLE_EPOCH_MS, &epochs)))
}

/// Returns whether the activity rows of a window say that the bracelet was worn; without any it counts as worn.
fn is_worn(source: &DaySource<'_>, window: i64) -> bool {
    let both = [source.before, source.cells];
    both.iter().filter_map(|day| day.activity.in_window(window)).all(ActivityCell::is_wearing)
}

fn night(source: &DaySource<'_>, session: Session, all_sleep_s: i64, offsets: &Offsets) -> Night {
    let both = [source.before, source.cells];
    let asleep = |place: Place| (session.onset_ms..session.offset_ms).contains(&place.start_ms());
    let cells = || both.iter().flat_map(|day| day.activity.cells()).filter(|cell| asleep(cell.place));
    let rates: Vec<f64> = cells().filter_map(|cell| cell.bpm.values.mean()).collect();
    let (sum, count) = cells().fold((0, 0_u64), |(sum, count), cell| {
        (sum + cell.bpm.qualities.sum, count + u64::from(cell.bpm.qualities.count))
    });
    Night {
        session,
        start_offset_min: offsets.at(session.start_ms),
        // The end is exclusive: a session that ends at the change of the clock still has the old offset.
        end_offset_min: offsets.at(session.end_ms - 1),
        all_sleep_s,
        heart_rate: mean(&rates).map(hundredths),
        heart_rate_quality: (count > 0).then(|| hundredths(sum as f64 / count as f64)),
    }
}

/// What two local days say of sleep, found once for all sections that ask.
#[derive(Clone, Debug, Default)]
pub struct Nights {
    /// The night by stages.
    pub by_stages: Option<Night>,
    /// The night by movements.
    pub by_movements: Option<Night>,
    /// When the patient slept: from onset to offset of each session, ms, in order.
    pub asleep_ms: Vec<(i64, i64)>,
    /// Stretches asleep without a break, ms, in order: of the night by stages, else of the one by movements.
    pub unbroken_ms: Vec<(i64, i64)>,
}

impl Nights {
    /// Returns the nights of a day.
    pub fn of(source: &DaySource<'_>) -> Self {
        let epochs = stage_epochs(source);
        let sessions = sessions(&epochs);
        let by_stages = stage_night(source, &sessions);
        let (by_movements, moved_ms) = movement_night(source).unzip();
        let span = |session: &Session| (session.onset_ms, session.offset_ms);
        let mut asleep_ms: Vec<(i64, i64)> = sessions.iter().map(span).collect();
        // Stages come from the bracelet and are trusted more; movements are used for nights without any.
        if asleep_ms.is_empty() {
            asleep_ms.extend(by_movements.map(|night| span(&night.session)));
        }
        let slept = |epoch: &StageEpoch| (epoch.time_ms, epoch.stage != Stage::Awake);
        let unbroken_ms = match by_stages {
            Some(_) => stretches_asleep(EPOCH_MS, &epochs.iter().map(slept).collect::<Vec<_>>()),
            None => moved_ms.unwrap_or_default(),
        };
        Nights { by_stages, by_movements, asleep_ms, unbroken_ms }
    }

    /// Returns the night that figures of the day speak of: by stages first, as the sections of sleep have it.
    pub fn night(&self) -> Option<&Night> {
        self.by_stages.as_ref().or(self.by_movements.as_ref())
    }

    /// Returns whether all of a stretch was slept, from one time to another one (ms), in the night of [`Self::night`].
    pub fn has_slept(&self, from_ms: i64, to_ms: i64) -> bool {
        // The sessions of the other sleep days that these two days touch are slept as well, and no part of this night.
        self.night().is_some_and(|night| night.session.onset_ms <= from_ms && to_ms <= night.session.offset_ms)
            && self.unbroken_ms.iter().any(|(start_ms, end_ms)| *start_ms <= from_ms && to_ms <= *end_ms)
    }
}
