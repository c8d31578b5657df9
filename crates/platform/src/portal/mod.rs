//! What the portal's pages need beyond the public API: sessions, one's own account, the board of a study, down-sampled
//! series, the history of NEWS, heat maps of compliance.

mod board;
pub(crate) mod feed;
mod follower;
mod gaps;
mod heat_map;
mod news;
mod series;

pub use crate::identity::portal::{ApiKeyView, NewPortalLogin, NewTotp, OpenedPortal, PortalCaller, PortalLogin};
pub use board::{BoardRow, SPARK_SLOTS, Spark};
pub use feed::{BoardEvent, BoardListener};
pub use gaps::{Gap, GapReason};
pub use heat_map::{DayCompliance, MOST_DAYS, PatientDays, TypeHours};
pub use news::NewsHistory;
pub use series::{Chart, Point, Series, SeriesColumn, SeriesRequest, channel_name};
