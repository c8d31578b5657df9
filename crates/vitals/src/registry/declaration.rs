//! All that is said of a data type; everything that lists types or columns follows from it.

use super::channel::ChannelRule;
use super::column::Column;

/// What a data type is.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The name in addresses and bodies, such as `rr-interval`.
    pub name: &'static str,
    /// Represents the type in the database; never changes and is never given to another type. 1 to 62.
    pub number: i64,
    /// What people call it, such as `RR intervals`.
    pub title: &'static str,
    /// What is measured, without a full stop.
    pub meaning: &'static str,
    /// What the keys of counts call it where that is not its name with underscores.
    pub count_name: Option<&'static str>,
    /// How its rows come.
    pub role: Role,
    /// How much time one sealed segment covers.
    pub period: Period,
    /// How far apart its samples are.
    pub sampling: Sampling,
    /// What distinguishes parallel signals of the type.
    pub channel: ChannelRule,
    /// The columns after `timestamp`, in the order of every output.
    pub columns: &'static [Column],
}

/// How rows of a type come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All the time that the bracelet is worn.
    Series,
    /// While the patient sleeps.
    Night,
    /// A signal sampled many times a second: smaller windows and chunks.
    Waveform,
    /// When somebody measures.
    Spot,
}

/// How much time one sealed segment of a type covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// One UTC day.
    Day,
    /// One UTC month.
    Month,
}

/// How far apart the samples of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each row has its own time; how far apart they usually are, in words.
    ByRow(&'static str),
    /// Evenly, as blocks with `start` and `rate_hz`.
    Even {
        /// The rates of usual bracelets.
        usual_hz: Rates,
        /// The rates that a block may name; every rate above zero where none are given.
        accepted_hz: Option<Rates>,
    },
}

/// Rates of sampling in Hz, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The lowest, Hz.
    pub lowest_hz: u32,
    /// The highest, Hz.
    pub highest_hz: u32,
}

impl Rates {
    pub(super) const fn new(lowest_hz: u32, highest_hz: u32) -> Self {
        Rates { lowest_hz, highest_hz }
    }
}

impl Declaration {
    /// Returns the column of that name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns what the keys of counts call the type, such as `rr_interval`.
    pub fn counted_as(&self) -> String {
        self.count_name.map_or_else(|| self.name.replace('-', "_"), str::to_owned)
    }

    /// Returns the rates that an evenly sampled block may name; none where every rate above zero is accepted.
    pub const fn accepted_hz(&self) -> Option<Rates> {
        match self.sampling {
            Sampling::Even { accepted_hz, .. } => accepted_hz,
            Sampling::ByRow(_) => None,
        }
    }

    /// Returns whether this is a signal sampled many times a second: smaller windows and chunks.
    pub const fn is_waveform(&self) -> bool {
        matches!(self.role, Role::Waveform)
    }
}
