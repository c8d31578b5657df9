//! What a form on the login and consent pages carries: the request that it belongs to and how far it has come, sealed
//! for one browser and for a short time.
//!
//! So no node has to remember anything, a person cannot change what they consent to, and nobody else's page can send
//! the form in their name: it opens only together with the cookie of the browser that it was made for.

use std::sync::PoisonError;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use store::ConsentId;

use super::request::AuthorizationRequest;
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use store::PatientId;

/// How long a person may take over a page.
const OPEN_FOR_MS: i64 = 15 * 60_000;

/// What a form carries.
#[derive(Serialize, Deserialize)]
pub(super) struct Ticket {
    /// What is decided on this page is recorded under this, so that it is decided once.
    pub id: ConsentId,
    pub request: AuthorizationRequest,
    /// Who has logged in; nobody yet on the login page.
    pub approver: Option<Approver>,
    expires_ms: i64,
}

/// The answer to a form that is not ours, not this browser's, too old, or used.
pub(super) const CLOSED: PlatformError = PlatformError::Forbidden("the form is no longer valid");

/// Who has logged in.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Approver {
    pub patient: PatientId,
    /// Hash of the hash that their password was checked against: a new password closes the page.
    pub password: Vec<u8>,
}

impl Identity {
    /// A value for the cookie of a browser that has none.
    pub fn new_browser(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.core.random_bytes::<32>())
    }

    /// Seals a ticket for a browser.
    pub(super) fn seal_ticket(
        &self,
        request: AuthorizationRequest,
        approver: Option<Approver>,
        browser: &str,
    ) -> Result<String> {
        let expires_ms = self.core.now_ms() + OPEN_FOR_MS;
        let ticket = Ticket { id: ConsentId::new(self.core.new_record_id()), request, approver, expires_ms };
        let mut sealed = serde_json::to_vec(&ticket).map_err(broken)?;
        let nonce = self.core.random_bytes::<NONCE_LEN>();
        self.ticket_key()?
            // Tied to the browser: a form that was filled in one place cannot be sent from another.
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(browser.as_bytes()), &mut sealed)
            .map_err(broken)?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens a ticket. Forbidden when it is not ours, not this browser's, or too old.
    pub(super) fn open_ticket(&self, ticket: &str, browser: &str) -> Result<Ticket> {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(ticket) else { return Err(CLOSED) };
        let Some((nonce, sealed)) = bytes.split_at_checked(NONCE_LEN) else { return Err(CLOSED) };
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(broken)?;
        let mut sealed = sealed.to_vec();
        let Ok(opened) = self.ticket_key()?.open_in_place(nonce, Aad::from(browser.as_bytes()), &mut sealed) else {
            return Err(CLOSED);
        };
        let ticket: Ticket = serde_json::from_slice(opened).map_err(broken)?;
        if self.core.now_ms() >= ticket.expires_ms {
            return Err(CLOSED);
        }
        Ok(ticket)
    }

    /// Notes that a ticket is used up on this node; false when it was before. Another node sees it by the consent.
    pub(super) fn use_ticket(&self, ticket: &Ticket) -> bool {
        let now_ms = self.core.now_ms();
        let mut used = self.memory.used_tickets.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has expired is refused when it is opened, and need not be remembered.
        used.retain(|_, expires_ms| now_ms < *expires_ms);
        used.insert(ticket.id.clone(), ticket.expires_ms).is_none()
    }

    /// A key of its own, derived from the master key, which seals other things.
    fn ticket_key(&self) -> Result<LessSafeKey> {
        let master = hmac::Key::new(hmac::HMAC_SHA256, &self.core.master_key()[..]);
        let derived = hmac::sign(&master, b"pulseward authorization tickets 1");
        Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, derived.as_ref()).map_err(broken)?))
    }
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("authorization ticket: {error}"))
}
