//! A field of a change: left as it is, taken away, or set (JSON Merge Patch, RFC 7396).

/// Content of a change of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// It is not named and stays as it is.
    #[default]
    Kept,
    /// It is taken away: `null`.
    Removed,
    /// It becomes this.
    Set(T),
}

impl<T> Change<T> {
    /// Returns whether the field is named.
    pub fn is_named(&self) -> bool {
        !matches!(self, Change::Kept)
    }

    /// Returns what it becomes; `None` when it is not named or taken away.
    pub fn set(self) -> Option<T> {
        match self {
            Change::Set(value) => Some(value),
            Change::Kept | Change::Removed => None,
        }
    }

    /// Returns what it becomes, to look at.
    pub fn as_ref(&self) -> Change<&T> {
        match self {
            Change::Set(value) => Change::Set(value),
            Change::Kept => Change::Kept,
            Change::Removed => Change::Removed,
        }
    }

    /// Returns the value after the change of a known one.
    pub fn over(self, known: Option<T>) -> Option<T> {
        match self {
            Change::Kept => known,
            Change::Removed => None,
            Change::Set(value) => Some(value),
        }
    }
}

impl Change<String> {
    /// Returns what a text becomes, which an empty one takes away; `None` when it is not named.
    pub fn text(self) -> Option<String> {
        match self {
            Change::Kept => None,
            Change::Removed => Some(String::new()),
            Change::Set(text) => Some(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_takes_away_and_what_is_not_named_stays() {
        let known = || Some(1);
        assert_eq!(
            [Change::Kept.over(known()), Change::Removed.over(known()), Change::Set(2).over(known())],
            [Some(1), None, Some(2)]
        );
        assert!(!Change::<i64>::Kept.is_named() && Change::<i64>::Removed.is_named());
        let text = |text: &str| Change::Set(text.to_owned());
        assert_eq!(
            [Change::Kept.text(), Change::Removed.text(), text("a").text()],
            [None, Some(String::new()), Some("a".to_owned())]
        );
    }
}
