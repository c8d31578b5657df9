//! Bodies as types: from one list of fields follow how a body is read, what is reported of it and its schema.

use axum::extract::{FromRequest, Request};
use jiff::Timestamp;
use platform::{Change, FieldFaults, alternatives};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use vitals::instant;

use super::Fields;
use super::unknown::{self, IgnoredFields};
use crate::error::ApiError;

/// A body that [`body!`] declares, read from a source of fields.
pub(crate) trait Body<Source = Fields>: Sized {
    /// True when the interface specification has the body. What it does not name is ignored there, since clients of the
    /// specification may send more; in a body of our own it is a typo.
    const OF_SPECIFICATION: bool;

    /// Takes the fields out. What is wrong stays noted in the source.
    fn read(source: &mut Source) -> Self;
}

/// A value that a field of a body can have.
pub(crate) trait FieldValue<Source = Fields>: Sized {
    /// Takes the field out. What is wrong stays noted in the source, and the value takes its place.
    fn take(source: &mut Source, name: &str) -> Self;
}

/// Declares a body. Its fields are read by the names that they have here; `#[schema]` says what else holds for them.
///
/// A field that is itself a body, with `#[serde(flatten)]`, represents the fields of that body. `of the specification:` before
/// everything else makes unknown fields ignored ones.
macro_rules! body {
    (of the specification: $($declaration:tt)+) => {
        $crate::body::typed::body!(@ true $($declaration)+);
    };
    (@ $of_specification:literal $(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $kind:ty),+ $(,)? }) => {
        #[derive(utoipa::ToSchema)]
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* pub(crate) $field: $kind,)+
        }

        impl<Source> $crate::body::typed::Body<Source> for $name
        where
            $($kind: $crate::body::typed::FieldValue<Source>,)+
        {
            const OF_SPECIFICATION: bool = $of_specification;

            fn read(source: &mut Source) -> Self {
                $name { $($field: $crate::body::typed::FieldValue::take(source, stringify!($field)),)+ }
            }
        }

        impl<Source> $crate::body::typed::FieldValue<Source> for $name
        where
            $name: $crate::body::typed::Body<Source>,
        {
            fn take(source: &mut Source, _: &str) -> Self {
                <$name as $crate::body::typed::Body<Source>>::read(source)
            }
        }
    };
    ($($declaration:tt)+) => {
        $crate::body::typed::body!(@ false $($declaration)+);
    };
}

pub(crate) use body;

/// A body whose fields are valid each for itself; otherwise 422 with everything that is wrong. For a body of which no operation
/// finds more wrong: of others a client would hear one half first and the other half after it.
pub(crate) struct Valid<T>(pub T);

/// A body with what is wrong of its fields so far, for a handler or an operation that finds more.
pub(crate) struct Sent<T> {
    /// The body. What could not be read is empty or absent.
    pub body: T,
    /// Holds what is wrong.
    pub faults: Fields,
}

impl<T> Sent<T> {
    /// Returns what a sound body asks for; otherwise 422 with what could not be read and what `judge` finds of the rest.
    /// `judge` is given what could not be read.
    pub(crate) fn judged<V>(
        self,
        convert: impl FnOnce(T) -> V,
        judge: impl FnOnce(&V, &FieldFaults) -> FieldFaults,
    ) -> Result<V, ApiError> {
        let value = convert(self.body);
        self.faults.finish_with(|unreadable| judge(&value, unreadable))?;
        Ok(value)
    }
}

impl<S: Send + Sync, T: Body> FromRequest<S> for Sent<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let ignored = request.extensions().get::<IgnoredFields>().cloned();
        let mut faults = Fields::from_request(request, state).await?;
        let body = T::read(&mut faults);
        let (unknown, known) = faults.left();
        if T::OF_SPECIFICATION {
            ignored.unwrap_or_default().set(unknown);
        } else {
            for (field, fault) in unknown::faults(&unknown, known) {
                faults.note(&field, &fault);
            }
        }
        Ok(Sent { body, faults })
    }
}

impl<S: Send + Sync, T: Body> FromRequest<S> for Valid<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let Sent { body, faults } = Sent::from_request(request, state).await?;
        faults.finish()?;
        Ok(Valid(body))
    }
}

impl FieldValue for String {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.required_text(name)
    }
}

impl FieldValue for Option<String> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.text(name)
    }
}

impl FieldValue for Option<f64> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.number(name)
    }
}

impl FieldValue for Option<i64> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.integer(name)
    }
}

impl FieldValue for Option<bool> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.flag(name)
    }
}

impl FieldValue for Option<Vec<String>> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.texts(name)
    }
}

/// A field of a change: null takes away (RFC 7396).
impl<T> FieldValue for Change<T>
where
    Option<T>: FieldValue,
{
    fn take(fields: &mut Fields, name: &str) -> Self {
        let is_null = fields.is_null(name);
        match <Option<T> as FieldValue>::take(fields, name) {
            _ if is_null => Change::Removed,
            Some(value) => Change::Set(value),
            None => Change::Kept,
        }
    }
}

/// An object whose members an operation judges one by one.
impl FieldValue for Option<Map<String, Value>> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.object(name)
    }
}

/// Objects, each reported by its place in the list.
impl<T: Body> FieldValue for Vec<T> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        fields.required_list(name, T::read)
    }
}

impl FieldValue for Option<Timestamp> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        let time = instant::parse(&fields.text(name)?);
        if time.is_none() {
            fields.note(name, "must be a time as YYYY-MM-DDTHH:MM:SSZ");
        }
        time
    }
}

/// A value that is one of a few names.
pub(crate) trait Choice: Copy + 'static {
    /// Name of the choice in the OpenAPI document.
    const TITLE: &'static str;
    /// All values.
    const ALL: &'static [Self];

    /// Returns the name of a value.
    fn name(self) -> &'static str;
}

/// A choice in JSON: its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<T>(pub T);

impl<T: Choice> FieldValue for Option<Name<T>> {
    fn take(fields: &mut Fields, name: &str) -> Self {
        let text = fields.text(name)?;
        let found = T::ALL.iter().find(|value| value.name() == text);
        if found.is_none() {
            fields.note(name, &format!("must be {}", alternatives(T::ALL.iter().map(|value| value.name()))));
        }
        found.copied().map(Name)
    }
}

impl<T: Choice> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<T: Choice> PartialSchema for Name<T> {
    fn schema() -> RefOr<Schema> {
        let names = T::ALL.iter().map(|value| value.name());
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}

impl<T: Choice> ToSchema for Name<T> {
    fn name() -> std::borrow::Cow<'static, str> {
        T::TITLE.into()
    }
}
