//! Types of security events.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::{by_name, names};
use crate::text_column::{TextColumn, UnknownName, text_column};

names! {
    /// Type of a security event.
    SecurityEventType {
        /// A login was good.
        LoginSucceeded = "login_succeeded",
        /// A login failed.
        LoginFailed = "login_failed",
        /// A voucher activated nobody: it is not known, used or expired.
        ActivationFailed = "activation_failed",
        /// An OAuth client is not known, or its secret is not the right one.
        ClientAuthenticationFailed = "client_authentication_failed",
        /// A second factor was set up.
        SecondFactorSet = "second_factor_set",
        /// A second factor was removed.
        SecondFactorRemoved = "second_factor_removed",
        /// The password was right and the second factor wrong.
        SecondFactorFailed = "second_factor_failed",
        /// The password was right and a second factor was asked for, which was not given.
        SecondFactorAsked = "second_factor_asked",
        /// A recovery code has signed in.
        RecoveryCodeUsed = "recovery_code_used",
        /// New recovery codes were made.
        RecoveryCodesMade = "recovery_codes_made",
        /// An API key was made.
        ApiKeyCreated = "api_key_created",
        /// An API key was revoked.
        ApiKeyRevoked = "api_key_revoked",
        /// An API key was refused: unknown, revoked, expired, or of a disabled account.
        ApiKeyRefused = "api_key_refused",
        /// A token to read a patient's data was asked for.
        HealthTokenIssued = "health_token_issued",
        /// Staff or an operator set a password.
        PasswordReset = "password_reset",
        /// Somebody chose a password of their own.
        PasswordChanged = "password_changed",
        /// An account was made.
        AccountCreated = "account_created",
        /// An account was disabled.
        AccountDisabled = "account_disabled",
        /// An account was enabled.
        AccountEnabled = "account_enabled",
        /// An account has another role.
        RoleChanged = "role_changed",
        /// A valid credential had no right to what was asked.
        AccessDenied = "access_denied",
    }
}
