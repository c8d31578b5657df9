//! Place of a reader in the event logs.

use std::fmt;
use std::str::FromStr;

use crate::ids::LogEpoch;

/// Place between two events of a log.
///
/// Rows of one position can be many, so a place counts how many of them were read; positions that a reader may see gain
/// no rows, so the count keeps its meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Position of the next event, or of one before it.
    pub position: i64,
    /// Events of this position that lie before the place.
    pub offset: i64,
}

/// Place in the log of one database, and of which life of that database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCursor {
    /// Name of the store's life.
    pub epoch: LogEpoch,
    /// The place.
    pub place: Place,
}

/// Place in the logs of both databases. As text it is opaque to clients, and safe in an address and a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// In the users database.
    pub users: LogCursor,
    /// In the health database.
    pub health: LogCursor,
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this service")]
pub struct NotACursor;

/// Form of the text, so that a later one can be distinguished from it.
const FORM: &str = "1";

impl fmt::Display for LogCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.epoch, self.place.position, self.place.offset)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{FORM}.{}.{}", self.users, self.health)
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let mut parts = text.split('.');
        if parts.next() != Some(FORM) {
            return Err(NotACursor);
        }
        let mut log = || {
            let epoch = LogEpoch::new(parts.next().ok_or(NotACursor)?);
            let mut number = || {
                let number: i64 = parts.next().ok_or(NotACursor)?.parse().map_err(|_| NotACursor)?;
                // The database would refuse a negative offset, which is no fault of the server.
                if number < 0 { Err(NotACursor) } else { Ok(number) }
            };
            Ok(LogCursor { epoch, place: Place { position: number()?, offset: number()? } })
        };
        let cursor = Cursor { users: log()?, health: log()? };
        // A text that goes on is of a later form.
        if parts.next().is_some() { Err(NotACursor) } else { Ok(cursor) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        let log = |epoch: &str, position, offset| LogCursor {
            epoch: LogEpoch::new(epoch),
            place: Place { position, offset },
        };
        Cursor { users: log("aa", 7, 0), health: log("bb", i64::MAX, 12) }
    }

    #[test]
    fn cursor_survives_its_text() {
        assert_eq!(cursor().to_string().parse(), Ok(cursor()));
    }

    #[test]
    fn other_texts_are_no_cursors() {
        let text = cursor().to_string();
        let longer = format!("{text}.1");
        let other_form = text.replacen('1', "2", 1);
        for text in ["", "1", "1.aa.7.0.bb", "1.aa.-7.0.bb.1.1", "1.aa.x.0.bb.1.1", &longer, &other_form] {
            assert_eq!(text.parse::<Cursor>(), Err(NotACursor), "{text}");
        }
    }
}
