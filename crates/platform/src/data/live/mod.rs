//! Who listens on this node to what happens, and the one task that follows the event logs for all of them.

mod event_listener;
pub(crate) mod follower;
pub(crate) mod listeners;
pub(crate) mod listening;

pub use event_listener::EventListener;
