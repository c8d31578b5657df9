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

/// Time that a person may take over a page.
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
    /// Returns a value for the cookie of a browser that has none.
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

    /// Returns a key of its own, derived from the master key, which seals other things.
    fn ticket_key(&self) -> Result<LessSafeKey> {
        let master = hmac::Key::new(hmac::HMAC_SHA256, &self.core.master_key()[..]);
        let derived = hmac::sign(&master, b"pulseward authorization tickets 1");
        Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, derived.as_ref()).map_err(broken)?))
    }
}

fn broken(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("authorization ticket: {error}"))
}

#[cfg(test)]
mod tests {
    use store::ClientId;

    use super::*;
    use crate::test_service::Service;

    fn request() -> AuthorizationRequest {
        AuthorizationRequest {
            client: ClientId::new("a client"),
            client_name: "Diary".to_owned(),
            privacy_policy_url: "https://diary.example/privacy".to_owned(),
            redirect_uri: "https://diary.example/back".to_owned(),
            scope: "patient.read".to_owned(),
            state: Some("ü&=".to_owned()),
            challenge: None,
        }
    }

    fn is_closed(opened: &Result<Ticket>) -> bool {
        matches!(opened, Err(PlatformError::Forbidden("the form is no longer valid")))
    }

    #[tokio::test]
    async fn a_ticket_opens_for_its_browser_and_says_what_was_put_in() {
        let service = Service::start().await;
        let identity = &service.platform.identity;
        let (browser, other) = (identity.new_browser(), identity.new_browser());
        assert_ne!(browser, other);
        let approver = Approver { patient: PatientId::new("grace"), password: vec![1, 2, 3] };
        let sealed = identity.seal_ticket(request(), Some(approver), &browser).unwrap();
        let opened = identity.open_ticket(&sealed, &browser).unwrap();
        assert_eq!(opened.request, request());
        let approver = opened.approver.unwrap();
        assert_eq!((approver.patient, approver.password), (PatientId::new("grace"), vec![1, 2, 3]));
        for elsewhere in [other.as_str(), "", &browser[1..]] {
            assert!(is_closed(&identity.open_ticket(&sealed, elsewhere)), "`{elsewhere}`");
        }
        assert!(!sealed.contains("Diary"), "nobody reads it on the way");
    }

    #[tokio::test]
    async fn a_ticket_that_was_changed_anywhere_is_closed() {
        let service = Service::start().await;
        let identity = &service.platform.identity;
        let sealed = identity.seal_ticket(request(), None, "browser").unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(is_closed(&identity.open_ticket(&URL_SAFE_NO_PAD.encode(&changed), "browser")), "byte {at}");
        }
        for length in [0, 1, NONCE_LEN - 1, NONCE_LEN, bytes.len() - 1] {
            assert!(is_closed(&identity.open_ticket(&URL_SAFE_NO_PAD.encode(&bytes[..length]), "browser")), "{length}");
        }
        for text in ["", "no base 64!", &format!("{sealed}="), &format!("{sealed}AAAA")] {
            assert!(is_closed(&identity.open_ticket(text, "browser")), "{text}");
        }
    }

    #[tokio::test]
    async fn a_ticket_is_open_for_a_quarter_of_an_hour_and_used_once() {
        let service = Service::start().await;
        let identity = &service.platform.identity;
        let seal = || identity.seal_ticket(request(), None, "browser").unwrap();
        let first = seal();
        service.pass_ms(OPEN_FOR_MS - 1);
        let opened = identity.open_ticket(&first, "browser").unwrap();
        assert!(identity.use_ticket(&opened));
        assert!(!identity.use_ticket(&opened));
        assert!(!identity.use_ticket(&identity.open_ticket(&first, "browser").unwrap()), "opening it again is no way");
        let second = identity.open_ticket(&seal(), "browser").unwrap();
        assert!(identity.use_ticket(&second), "each is used by itself");
        service.pass_ms(1);
        assert!(is_closed(&identity.open_ticket(&first, "browser")));
        // What has expired is forgotten, what has not is kept.
        assert!(!identity.use_ticket(&second));
        assert_eq!(identity.memory.used_tickets.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn tickets_of_one_request_differ_and_those_of_another_key_are_closed() {
        let service = Service::start().await;
        let identity = &service.platform.identity;
        let seal = || identity.seal_ticket(request(), None, "browser").unwrap();
        let (one, two) = (seal(), seal());
        assert_ne!(one, two);
        let id = |sealed: &str| identity.open_ticket(sealed, "browser").unwrap().id;
        assert_ne!(id(&one), id(&two));
        let key = UnboundKey::new(&AES_256_GCM, &[9; 32]).unwrap();
        let mut foreign = serde_json::to_vec(&identity.open_ticket(&one, "browser").unwrap()).unwrap();
        let nonce = [7; NONCE_LEN];
        LessSafeKey::new(key)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&b"browser"[..]), &mut foreign)
            .unwrap();
        let foreign = URL_SAFE_NO_PAD.encode([&nonce[..], &foreign].concat());
        assert!(is_closed(&identity.open_ticket(&foreign, "browser")));
    }
}
