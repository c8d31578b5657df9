//! Which stories a fleet is asked to have.

use std::str::FromStr;

use super::list::{PLOTS, story_names};
use super::story::Plot;
use crate::error::BraceletError;

/// How many stories of one plot there are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Amount {
    /// So many, over the whole fleet.
    Count(u64),
    /// One for each patient of this share of the fleet, 0 to 1.
    Share(f64),
}

/// The stories of a fleet, as `deterioration:3,exercise:20%`; `healthy` for none.
#[derive(Debug, Clone, Default)]
pub struct StoryRequests(Vec<(&'static dyn Plot, Amount)>);

impl StoryRequests {
    /// Returns the plots with the number of their stories in a fleet of so many patients, in the order of the list of plots
    /// and not of the request: the same request in another order makes the same fleet.
    pub(super) fn counts(&self, patients: u64) -> impl Iterator<Item = (&'static dyn Plot, u64)> {
        PLOTS.into_iter().map(move |plot| {
            let amounts = self.0.iter().filter(|(asked, _)| asked.name() == plot.name());
            let count = |amount: &Amount| match amount {
                Amount::Count(count) => *count,
                Amount::Share(share) => (share * patients as f64).round() as u64,
            };
            (plot, amounts.map(|(_, amount)| count(amount)).sum())
        })
    }
}

impl FromStr for StoryRequests {
    type Err = BraceletError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A fleet to compare with is asked for by name: an empty value is more likely a variable that is not set.
        if text == "healthy" {
            return Ok(Self::default());
        }
        text.split(',').map(request).collect::<Result<_, _>>().map(Self)
    }
}

fn request(text: &str) -> Result<(&'static dyn Plot, Amount), BraceletError> {
    let unknown = || BraceletError::UnknownStory { text: text.to_owned(), known: story_names().join(", ") };
    let (name, amount) = text.trim().split_once(':').ok_or_else(unknown)?;
    let plot = PLOTS.into_iter().find(|plot| plot.name() == name).ok_or_else(unknown)?;
    let amount = match amount.strip_suffix('%') {
        Some(percent) => percent
            .parse()
            .ok()
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent: f64| Amount::Share(percent / 100.0)),
        None => amount.parse().ok().map(Amount::Count),
    };
    Ok((plot, amount.ok_or_else(unknown)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<u64> {
        let requests: StoryRequests = text.parse().unwrap();
        requests.counts(40).map(|(_, count)| count).collect()
    }

    #[test]
    fn counts_and_shares_are_understood_in_any_order() {
        assert_eq!(counts("exercise:25%,deterioration:3"), [3, 10, 0, 0, 0, 0]);
        assert_eq!(counts("deterioration:3, exercise:25%"), [3, 10, 0, 0, 0, 0]);
        assert_eq!(counts("healthy"), [0; 6]);
    }

    #[test]
    fn what_is_no_story_is_refused_with_those_that_there_are() {
        for text in ["", "illness:3", "deterioration", "exercise:-1", "exercise:101%", "exercise:NaN%", "healthy:3"] {
            let message = text.parse::<StoryRequests>().unwrap_err().to_string();
            assert!(message.contains("late-sync"), "{text}: {message}");
        }
    }
}
