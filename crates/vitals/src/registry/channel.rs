//! Channels: the parallel signals of a data type.

use super::null::NULL;
use super::test_kind::TestKind;

/// Which of a type's parallel signals a sample belongs to.
///
/// A sample is identified by patient, data type, channel and time. Types with one signal have the channel number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub i64);

/// What distinguishes the parallel signals of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelRule {
    /// There is one signal.
    Single,
    /// The metric, which is the colour of the light, and the position of the light sensor.
    ColourAndPosition,
    /// What was measured.
    TestKind,
}

impl ChannelRule {
    /// Returns the columns that make up the channel, in the order in which [`ChannelRule::of_cells`] takes their cells.
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            ChannelRule::Single => &[],
            ChannelRule::ColourAndPosition => &["metric_id", "led_pd_pos"],
            ChannelRule::TestKind => &["test_type"],
        }
    }

    /// Returns the channel of a row with these cells, in the order of [`ChannelRule::columns`].
    pub fn of_cells(self, cells: &[i32]) -> Channel {
        match (self, cells) {
            (ChannelRule::ColourAndPosition, [metric_id, led_pd_pos]) => Channel::of_ppg2(*metric_id, *led_pd_pos),
            (ChannelRule::TestKind, [test_type]) => Channel::of_test(*test_type),
            _ => Channel::default(),
        }
    }
}

/// A colour of light that a metric represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// The cell of `metric_id`.
    pub metric_id: i32,
    /// The words for it, joined by hyphens.
    pub name: &'static str,
}

impl Colour {
    /// The colours that have a name.
    pub const ALL: [Colour; 4] = [
        Colour { metric_id: 0x7e, name: "green" },
        Colour { metric_id: 0x7c, name: "red" },
        Colour { metric_id: 0x7b, name: "infra-red" },
        Colour { metric_id: 0x7f, name: "ambient" },
    ];

    /// Returns the colour of a metric.
    pub fn of_metric(metric_id: i32) -> Option<Colour> {
        Self::ALL.into_iter().find(|colour| colour.metric_id == metric_id)
    }
}

impl Channel {
    /// Returns the channel of a ppg2 row; either part may be [`NULL`].
    pub fn of_ppg2(metric_id: i32, led_pd_pos: i32) -> Self {
        let part = |cell: i32| if cell == NULL { 0 } else { i64::from(cell) + 1 };
        Channel((part(metric_id) << 16) | part(led_pd_pos))
    }

    /// Returns the metric of a ppg2 channel; none where its rows have none.
    pub fn metric_id(self) -> Option<i32> {
        let part = (self.0 >> 16) as i32;
        (part > 0).then_some(part - 1)
    }

    /// Returns the position of the light sensor of a ppg2 channel; none where its rows have none.
    pub fn led_pd_pos(self) -> Option<i32> {
        let part = (self.0 & 0xffff) as i32;
        (part > 0).then_some(part - 1)
    }

    /// Returns the channel of a row of `tests`, from the cell of its `test_type`.
    pub fn of_test(test_type: i32) -> Self {
        Channel(i64::from(test_type) + 1)
    }

    /// Returns what was measured in a channel of `tests`.
    pub fn test_kind(self) -> Option<&'static TestKind> {
        // 0 is the channel of types that have only one.
        i32::try_from(self.0 - 1).ok().and_then(TestKind::of_cell)
    }
}
