//! The authorization server of the Health Cloud: OAuth 2.0 (RFC 6749) with PKCE (RFC 7636), read strictly as RFC 9700
//! advises.
//!
//! Clients and consents are in the users database, codes and tokens in the health database. What is written in the one
//! is looked up in the other again afterwards (see `health_sessions`), so that nothing outlives its consent.

mod authorize;
mod clients;
mod common;
mod consents;
mod inspect;
mod origins;
mod redirect;
mod request;
mod tickets;
mod tokens;

pub use authorize::{Decision, LoginStep};
pub use clients::{ClientCredentials, NewOauthClient, OauthClientView};
pub use common::SCOPES;
pub use consents::GivenConsent;
pub use inspect::Inspected;
pub use request::{Asked, AuthorizationRequest};
pub use tokens::{Grant, OauthTokens};
