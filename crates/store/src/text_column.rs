//! Types that are a text in a column, on both engines.

use std::error::Error;
use std::fmt;

/// Text of a column or of JSON that is none of the names that the type has.
#[derive(Debug)]
pub(crate) struct UnknownName {
    /// What the names are of.
    pub type_name: &'static str,
    /// The text.
    pub text: String,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is no {}", self.text, self.type_name)
    }
}

impl Error for UnknownName {}

/// A type that is a text in a column; [`text_column!`] makes it bind and read.
pub(crate) trait TextColumn: Sized {
    /// Returns the text.
    fn column_text(&self) -> &str;

    /// Returns the value of a text.
    fn of_column_text(text: &str) -> Result<Self, UnknownName>;
}

/// What fails in a driver.
pub(crate) type SqlError = Box<dyn Error + Sync + Send>;

/// Makes a [`TextColumn`] bind as a parameter and read from a column.
macro_rules! text_column {
    ($name:ident) => {
        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(rusqlite::types::ToSqlOutput::from($crate::text_column::TextColumn::column_text(self)))
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                let text = value.as_str()?;
                $crate::text_column::TextColumn::of_column_text(text)
                    .map_err(|unknown| rusqlite::types::FromSqlError::Other(Box::new(unknown)))
            }
        }

        impl tokio_postgres::types::ToSql for $name {
            fn to_sql(
                &self,
                column: &tokio_postgres::types::Type,
                out: &mut bytes::BytesMut,
            ) -> Result<tokio_postgres::types::IsNull, $crate::text_column::SqlError> {
                $crate::text_column::TextColumn::column_text(self).to_sql(column, out)
            }

            fn accepts(column: &tokio_postgres::types::Type) -> bool {
                <&str as tokio_postgres::types::ToSql>::accepts(column)
            }

            tokio_postgres::types::to_sql_checked!();
        }

        impl tokio_postgres::types::FromSql<'_> for $name {
            fn from_sql(
                column: &tokio_postgres::types::Type,
                bytes: &[u8],
            ) -> Result<Self, $crate::text_column::SqlError> {
                let text = <&str as tokio_postgres::types::FromSql<'_>>::from_sql(column, bytes)?;
                Ok($crate::text_column::TextColumn::of_column_text(text)?)
            }

            fn accepts(column: &tokio_postgres::types::Type) -> bool {
                <&str as tokio_postgres::types::FromSql<'_>>::accepts(column)
            }
        }

        impl $crate::engine::param::Owned for $name {
            type Kept = $name;

            fn owned(&self) -> $name {
                self.clone()
            }
        }
    };
}
pub(crate) use text_column;
