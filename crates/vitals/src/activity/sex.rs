//! Sex as formulas need it.

/// Sex as the formulas need it; for `Other` they give the mean of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sex {
    /// `female`.
    Female,
    /// `male`.
    Male,
    /// `other` or not stated.
    #[default]
    Other,
}

impl Sex {
    /// Returns the value for this sex out of a woman's and a man's.
    pub(super) fn choose(self, female: f64, male: f64) -> f64 {
        match self {
            Self::Female => female,
            Self::Male => male,
            Self::Other => f64::midpoint(female, male),
        }
    }
}
