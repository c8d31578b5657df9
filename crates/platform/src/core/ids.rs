//! Identifiers and codes out of random bytes.

use std::fmt::Write as _;

use store::{GroupCode, GroupId, VoucherCode};

use crate::core::Core;
use store::{ExportId, MessageId, NodeId, PatientId, SessionId};

const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LETTERS_AND_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SMALL_AND_DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// Without 0 and O, 1 and I, which people mix up.
const VOUCHER: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

impl Core {
    /// Returns a UUID of version 4.
    pub(crate) fn new_uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.random_bytes()).into_uuid().to_string()
    }

    /// Returns a record identifier: 24 lower-case hex digits.
    pub(crate) fn new_record_id(&self) -> String {
        hex(&self.random_bytes::<12>())
    }

    /// Returns a patient.
    pub(crate) fn new_patient_id(&self) -> PatientId {
        PatientId::new(self.new_uuid())
    }

    /// Returns a session.
    pub(crate) fn new_session_id(&self) -> SessionId {
        SessionId::new(self.new_record_id())
    }

    /// Returns an export.
    pub(crate) fn new_export_id(&self) -> ExportId {
        ExportId::new(self.new_record_id())
    }

    /// Returns a message between the databases.
    pub(crate) fn new_message_id(&self) -> MessageId {
        MessageId::new(self.new_record_id())
    }

    /// Returns a life of a process in the table of nodes.
    pub(crate) fn new_node_id(&self) -> NodeId {
        NodeId::new(self.new_record_id())
    }

    /// Returns a group code: five capitals.
    pub(crate) fn new_group_code(&self) -> GroupCode {
        GroupCode::new(self.draw(CAPITALS, 5))
    }

    /// Returns a group's record identifier: ten letters or digits.
    pub(crate) fn new_group_id(&self) -> GroupId {
        GroupId::new(self.draw(LETTERS_AND_DIGITS, 10))
    }

    /// Returns the last part of a group's HCP code.
    pub(crate) fn new_hcp_suffix(&self) -> String {
        self.draw(SMALL_AND_DIGITS, 6)
    }

    /// Returns a voucher code: eight characters.
    pub(crate) fn new_voucher_code(&self) -> VoucherCode {
        VoucherCode::new(self.draw(VOUCHER, 8))
    }

    /// Returns a password for a person to replace: twenty letters or digits, 119 bits.
    pub(crate) fn new_password(&self) -> String {
        self.draw(LETTERS_AND_DIGITS, 20)
    }

    /// So many characters of an alphabet, each as likely as the others.
    fn draw(&self, alphabet: &[u8], count: usize) -> String {
        // Bytes above the largest multiple of the alphabet's length would favour its first characters.
        let fair = 256 - 256 % alphabet.len();
        let mut drawn = String::with_capacity(count);
        while drawn.len() < count {
            let fair_bytes = self.random_bytes::<32>().into_iter().map(usize::from).filter(|byte| *byte < fair);
            for byte in fair_bytes.take(count - drawn.len()) {
                drawn.push(char::from(alphabet[byte % alphabet.len()]));
            }
        }
        drawn
    }
}

/// Lower-case hex digits of bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
