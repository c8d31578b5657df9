//! The two clouds that issue tokens.

/// Which cloud a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Where people log in.
    Users,
    /// Where data are sent and read.
    Health,
}

impl Cloud {
    /// Returns a word for the cloud, the audience of its tokens.
    pub fn name(self) -> &'static str {
        match self {
            Cloud::Users => "users",
            Cloud::Health => "health",
        }
    }
}
