//! Content of a token.

use serde::{Deserialize, Serialize};
use store::{AccountId, ClientId, SessionId, User};

/// What a token says. The names are those of RFC 7519, RFC 8693 and RFC 9068.
#[derive(Serialize, Deserialize)]
pub(crate) struct Claims {
    pub iss: String,
    pub aud: String,
    #[serde(flatten, with = "subject")]
    pub user: User,
    pub jti: SessionId,
    pub iat: i64,
    pub exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<Actor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
}

/// `sub` and `role`, which only together say who somebody is.
mod subject {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use store::{User, UserId, UserRole};

    #[derive(Serialize, Deserialize)]
    struct Subject {
        sub: UserId,
        role: UserRole,
    }

    pub(super) fn serialize<S: Serializer>(user: &User, serializer: S) -> Result<S::Ok, S::Error> {
        Subject { sub: user.id(), role: user.role() }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<User, D::Error> {
        let Subject { sub, role } = Subject::deserialize(deserializer)?;
        Ok(User::of(&sub, role))
    }
}

/// Who acts on behalf of a token's subject.
#[derive(Serialize, Deserialize)]
pub(crate) struct Actor {
    pub sub: AccountId,
}
