//! Where the bracelet is, and how well it feels.

/// Where the bracelet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wear {
    /// On the wrist.
    Worn,
    /// Somewhere else.
    Off,
    /// On the charger.
    Charging,
}

/// How well the sensors touch the skin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contact {
    /// As they should.
    Firm,
    /// Poorly: values are implausible and of low quality.
    Loose,
    /// Nothing is measured and no row is made.
    None,
}
