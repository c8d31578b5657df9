//! What the portal's pages read beyond the public API: the board of a study, down-sampled series, the history of NEWS,
//! heat maps of compliance.

mod board;
pub(crate) mod board_event;
pub(crate) mod board_row;
mod boards;
pub(crate) mod changes;
mod gaps;
mod heat_map;
mod news;
mod series;

pub use board_event::BoardEvent;
pub use board_row::{BoardRow, SPARK_SLOTS, Spark};
pub use boards::BoardListener;
pub use gaps::{Gap, GapReason};
pub use heat_map::{DayCompliance, MOST_DAYS, PatientDays, TypeHours};
pub use news::NewsHistory;
pub use series::{
    Chart, LONGEST_SERIES_MS, MOST_POINTS, MOST_SERIES, Point, SERIES_RANGE, Series, SeriesColumn, SeriesRequest,
    channel_name,
};
