//! What is wrong, collected: damage met on the way is one problem of several and ends nothing.

use platform::PlatformError;

use crate::failure::Failure;

/// What is wrong, a line each.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    pub(super) fn push(&mut self, line: String) {
        self.0.push(line);
    }

    pub(super) fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        self.0.extend(lines);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0
    }

    /// Returns an answer; where what it is made of is damaged, that is a problem, and the answer is that there is nothing.
    ///
    /// # Errors
    /// Whatever else went wrong: without a database that answers there is no report.
    pub(super) fn unless_found<T: Default>(&mut self, what: &str, answer: platform::Result<T>) -> Result<T, Failure> {
        match answer {
            Err(PlatformError::Store(error)) if error.is_damage() => {
                self.push(format!("{what}: {error}"));
                Ok(T::default())
            }
            answer => Ok(answer?),
        }
    }
}

#[cfg(test)]
mod tests {
    use store::StoreError;

    use super::*;

    #[test]
    fn damage_is_a_problem_and_any_other_error_ends_the_report() {
        let mut problems = Problems::default();
        let failed = |error: StoreError| Err::<u64, _>(PlatformError::from(error));
        let damaged = failed(StoreError::Damaged("page 7".to_owned()));
        assert_eq!(problems.unless_found("the list", damaged).expect("nothing"), 0);
        assert!(problems.unless_found("the list", failed(StoreError::Unavailable(String::new()))).is_err());
        assert_eq!(problems.unless_found("the list", Ok(3)).expect("an answer"), 3);
        assert_eq!(problems.into_lines(), ["the list: stored data are damaged: page 7"]);
    }
}
