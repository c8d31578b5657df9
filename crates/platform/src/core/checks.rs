//! What is checked of texts in more than one service.

use crate::core::error::{FieldFaults, PlatformError, Result};

/// Returns an e-mail as it is stored and looked up: trimmed, in lower case. Invalid when it cannot be one.
pub(crate) fn clean_email(email: &str) -> Result<String> {
    let clean = email.trim().to_lowercase();
    let fits = match clean.split_once('@') {
        Some((local, domain)) => !local.is_empty() && !domain.is_empty() && !domain.contains('@'),
        None => false,
    };
    // 254 is the longest path of RFC 5321; whether the address exists, only a message to it could say.
    if !fits || clean.len() > 254 || clean.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(PlatformError::invalid("email", "must be an e-mail address"));
    }
    Ok(clean)
}

/// Notes what is not valid of a field.
pub(crate) fn note(errors: &mut FieldFaults, field: &str, message: &str) {
    errors.entry(field.to_owned()).or_default().push(message.to_owned());
}
