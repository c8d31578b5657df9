//! Why a command failed, and the exit status that follows.

use std::fmt::Write as _;
use std::path::Path;

use bracelet::{BraceletError, reasons};
use platform::PlatformError;
use store::StoreError;

/// Reason why a command ended without success.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line or the configuration asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The operating system refused; what was tried comes before its reason in the message.
    #[error("cannot {attempt}: {source}")]
    Io {
        /// What was tried.
        attempt: String,
        /// The reason.
        source: std::io::Error,
    },
    /// A database or the objects could not be opened.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The operation was refused.
    #[error("{}", explain(.0))]
    Platform(#[from] PlatformError),
    /// The simulated fleet could not go on.
    #[error("{0}")]
    Fleet(#[from] BraceletError),
    /// The service could not be reached, or broke off.
    #[error("{}", reasons(.0))]
    Http(reqwest::Error),
    /// It is done, but for what is damaged.
    #[error("{0}")]
    Damaged(String),
    /// The service has ended, and what was stored last is in the log of a database only.
    #[error("{0}")]
    LogLeft(String),
    /// Anything else that a sentence explains.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// Makes an error of the operating system while trying something, such as `read config.toml`.
    pub fn io(attempt: impl Into<String>, source: std::io::Error) -> Self {
        Failure::Io { attempt: attempt.into(), source }
    }

    /// Makes an error of the operating system with a file.
    pub fn file(verb: &str, path: &Path, source: std::io::Error) -> Self {
        Failure::io(format!("{verb} {}", path.display()), source)
    }

    /// 2 for wrong usage, 3 for what is done in spite of damage, 4 for a log that is left, 1 for everything else.
    pub fn exit_status(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            // Of its own: a script that restores goes on, and somebody has to hear that not all of it came back.
            Failure::Damaged(_) => 3,
            // Of its own as well: all is well for who starts the service again, and not for who copies its files.
            Failure::LogLeft(_) => 4,
            _ => 1,
        }
    }
}

impl From<reqwest::Error> for Failure {
    /// Without the address: that of a file of the lake is signed, and opens it to anyone.
    fn from(error: reqwest::Error) -> Self {
        Failure::Http(error.without_url())
    }
}

/// Returns the message of an operation's error with the fields that are not valid.
fn explain(error: &PlatformError) -> String {
    let mut text = error.to_string();
    if let PlatformError::Invalid(fields) = error {
        for (field, messages) in fields {
            // Writing to a string cannot fail.
            let _ = write!(text, "; {field} {}", messages.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_usage_is_two_and_failure_is_one() {
        assert_eq!(Failure::Usage("no".to_owned()).exit_status(), 2);
        assert_eq!(Failure::Platform(PlatformError::NotFound("account")).exit_status(), 1);
    }

    #[test]
    fn the_fields_that_are_not_valid_are_named() {
        let failure = Failure::from(PlatformError::invalid("email", "is not an address"));
        assert_eq!(failure.to_string(), "the request is not valid; email is not an address");
    }
}
