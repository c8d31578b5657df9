//! Sessions of the portal, and what people do there with their own account.

mod account;
mod clients;
mod recovery_codes;
mod session;
mod totp;

pub use account::{ApiKeyView, NewTotp};
pub use session::{NewPortalLogin, OpenedPortal, PortalCaller, PortalLogin, Presence};
