//! The parts of the interface.

/// A part of the interface that a node serves or leaves to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The integration API.
    Integration,
    /// The Users Cloud.
    Users,
    /// The Health Cloud.
    Health,
    /// Routes that the pages of the portal need beyond the integration API.
    Portal,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 4] = [Part::Integration, Part::Users, Part::Health, Part::Portal];

    /// Returns the path below which it is on the shared address.
    pub fn prefix(self) -> &'static str {
        match self {
            Part::Integration => "/integration",
            Part::Users => "/users",
            Part::Health => "/health",
            Part::Portal => "/portal",
        }
    }
}
