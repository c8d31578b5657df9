//! Sessions of the portal, and what people do there with their own account.

mod account;
mod caller;
mod clients;
mod recovery_codes;
mod session;
mod totp;

pub use account::{ApiKeyView, NewTotp};
pub use caller::PortalCaller;
pub use session::{NewPortalLogin, OpenedPortal, PortalLogin, Presence};
