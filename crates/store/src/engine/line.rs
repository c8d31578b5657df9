//! What writes take turns at: the rows of one owner, or a row that those of many owners come to hold.

use crate::ids::{AccountId, GroupCode, PatientId, UserId};

/// A line that writes wait in. It borrows its name, so that a write that waits for nobody allocates nothing for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Line<'name>(&'name str);

impl<'name> Line<'name> {
    /// Returns the line of a row that no owner has, such as the head of a log.
    pub const fn named(name: &'name str) -> Self {
        Line(name)
    }

    /// Returns what the line is known by among others.
    pub const fn name(self) -> &'name str {
        self.0
    }
}

macro_rules! owners {
    ($($owner:ident)+) => {$(
        impl<'name> From<&'name $owner> for Line<'name> {
            fn from(owner: &'name $owner) -> Self {
                Line(owner.as_str())
            }
        }
    )+};
}

owners! { PatientId AccountId UserId GroupCode }
