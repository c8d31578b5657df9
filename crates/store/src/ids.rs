//! Identifiers. Each kind is a type of its own, so that one cannot be passed where another is meant.
//!
//! An identifier is the text by which something is found; whether anything is found by it only the store says. So any text
//! may be one: what a client sends is looked up as it stands, and is not found if nothing has that identifier.

use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::engine::Owned;

type SqlError = Box<dyn std::error::Error + Sync + Send>;

macro_rules! ids {
    ($($(#[$doc:meta])+ $name:ident;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
            #[serde(transparent)]
            pub struct $name(Arc<str>);

            impl $name {
                /// The identifier that reads like this.
                pub fn new(text: impl Into<Arc<str>>) -> Self {
                    $name(text.into())
                }

                /// How it reads.
                #[must_use]
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str(&self.0)
                }
            }

            impl rusqlite::ToSql for $name {
                fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                    Ok(ToSqlOutput::from(self.as_str()))
                }
            }

            impl FromSql for $name {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                    value.as_str().map($name::new)
                }
            }

            impl ToSql for $name {
                fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, SqlError> {
                    self.as_str().to_sql(column, out)
                }

                fn accepts(column: &Type) -> bool {
                    <&str as ToSql>::accepts(column)
                }

                to_sql_checked!();
            }

            impl tokio_postgres::types::FromSql<'_> for $name {
                fn from_sql(column: &Type, bytes: &[u8]) -> Result<Self, SqlError> {
                    <&str as tokio_postgres::types::FromSql<'_>>::from_sql(column, bytes).map($name::new)
                }

                fn accepts(column: &Type) -> bool {
                    <&str as tokio_postgres::types::FromSql<'_>>::accepts(column)
                }
            }

            impl Owned for $name {
                type Kept = $name;

                fn owned(&self) -> $name {
                    self.clone()
                }
            }
        )+
    };
}

ids! {
    /// A patient, in both databases: a UUID of version 4.
    PatientId;
    /// An account of a researcher, a practitioner or an administrator: a UUID of version 4.
    AccountId;
    /// A study, as its address names it: five capitals.
    GroupCode;
    /// A study's record: ten letters or digits.
    GroupId;
    /// A key of the integration API, without its secret.
    ApiKeyId;
    /// A client of OAuth 2.0.
    ClientId;
    /// What a patient has agreed to with a client of OAuth 2.0.
    ConsentId;
    /// A session on either cloud; it is the `jti` of its token.
    SessionId;
    /// The first session of those that were refreshed from one another.
    FamilyId;
    /// A session of a page.
    PortalSessionId;
    /// An export: 24 hex digits.
    ExportId;
    /// A bracelet in a study's inventory: 24 hex digits.
    BraceletId;
    /// What stands on a bracelet.
    SerialNumber;
    /// One life of a process in the table of nodes.
    NodeId;
}

impl SessionId {
    /// The family that begins with this session.
    #[must_use]
    pub fn begins(&self) -> FamilyId {
        FamilyId(self.0.clone())
    }
}

impl FamilyId {
    /// The session that the family began with.
    #[must_use]
    pub fn first(&self) -> SessionId {
        SessionId(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_reads_as_it_was_given_also_as_json() {
        let patient = PatientId::new("1b0e");
        assert_eq!((patient.as_str(), patient.to_string().as_str()), ("1b0e", "1b0e"));
        assert_eq!(serde_json::to_string(&patient).unwrap(), "\"1b0e\"");
        assert_eq!(serde_json::from_str::<PatientId>("\"1b0e\"").unwrap(), patient);
    }
}
