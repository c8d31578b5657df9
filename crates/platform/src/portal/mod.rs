//! What the portal's pages need beyond the public API: sessions, one's own account, the board of a study, down-sampled
//! series, heat maps of compliance.

mod account;
mod clients;
mod session;
mod totp;

pub use account::{ApiKeyView, NewTotp};
pub use session::{NewPortalLogin, OpenedPortal, PortalCaller, PortalLogin};
