//! What NEWS2 is asked with and answers: scales, consciousness, settings, risk.

/// Which SpO2 table applies; scale 2 is for patients with a target range of 88–92 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spo2Scale {
    /// The usual table.
    #[default]
    One,
    /// The table for hypercapnic respiratory failure, prescribed by a clinician.
    Two,
}

impl Spo2Scale {
    /// Returns the scale of that number, 1 or 2.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            _ => None,
        }
    }

    /// 1 or 2.
    pub fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// Which printed column of SpO2 bands applies: on scale 2 a high saturation scores only while oxygen is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spo2Bands {
    /// Scale 1, whatever the patient breathes.
    ScaleOne,
    /// Scale 2, on air.
    ScaleTwoOnAir,
    /// Scale 2, on supplemental oxygen.
    ScaleTwoOnOxygen,
}

/// Level of consciousness, ACVPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Consciousness {
    /// A: alert.
    #[default]
    Alert,
    /// C: new confusion.
    Confusion,
    /// V: responds to voice.
    Voice,
    /// P: responds to pain.
    Pain,
    /// U: unresponsive.
    Unresponsive,
}

impl Consciousness {
    /// Returns the level of that capital letter, one of A, C, V, P, U.
    pub fn from_letter(letter: &str) -> Option<Self> {
        match letter {
            "A" => Some(Self::Alert),
            "C" => Some(Self::Confusion),
            "V" => Some(Self::Voice),
            "P" => Some(Self::Pain),
            "U" => Some(Self::Unresponsive),
            _ => None,
        }
    }

    /// Returns the capital letter of the level.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Alert => "A",
            Self::Confusion => "C",
            Self::Voice => "V",
            Self::Pain => "P",
            Self::Unresponsive => "U",
        }
    }
}

/// What no bracelet measures and a person sets per patient; the default is scale 1, air, alert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Which SpO2 table applies.
    pub spo2_scale: Spo2Scale,
    /// Whether the patient breathes supplemental oxygen.
    pub oxygen: bool,
    /// Level of consciousness.
    pub consciousness: Consciousness,
}

impl Settings {
    /// Returns the bands that an oxygen saturation is scored by.
    pub fn spo2_bands(&self) -> Spo2Bands {
        match (self.spo2_scale, self.oxygen) {
            (Spo2Scale::One, _) => Spo2Bands::ScaleOne,
            (Spo2Scale::Two, false) => Spo2Bands::ScaleTwoOnAir,
            (Spo2Scale::Two, true) => Spo2Bands::ScaleTwoOnOxygen,
        }
    }
}

/// Clinical risk as the RCP names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// Total 0–4, no single parameter scores 3.
    Low,
    /// Total 0–4 and a single parameter scores 3.
    LowMedium,
    /// Total 5–6.
    Medium,
    /// Total 7 or more.
    High,
}

impl Risk {
    /// `low`, `low-medium`, `medium` or `high`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::LowMedium => "low-medium",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
