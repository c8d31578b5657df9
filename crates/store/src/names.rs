//! Roles, states and the like: enums whose values have a name, which is what columns and JSON hold.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text_column::{TextColumn, UnknownName, text_column};

/// Declares enums with the names of their values; everything else follows from this one list.
macro_rules! names {
    ($($(#[$doc:meta])+ $name:ident { $($(#[$value_doc:meta])+ $value:ident = $text:literal,)+ })+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum $name {
                $($(#[$value_doc])+ $value,)+
            }

            impl $name {
                /// All values.
                pub const ALL: &'static [Self] = &[$($name::$value),+];

                /// Returns the name of the value.
                #[must_use]
                pub fn name(self) -> &'static str {
                    match self {
                        $($name::$value => $text,)+
                    }
                }

                /// Returns the value of a name.
                #[must_use]
                pub fn parse(name: &str) -> Option<Self> {
                    match name {
                        $($text => Some($name::$value),)+
                        _ => None,
                    }
                }
            }

            by_name!($name);
        )+
    };
}

pub(crate) use names;

/// Makes an enum with `name` and `parse` a text in columns and in JSON.
macro_rules! by_name {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.name())
            }
        }

        impl TextColumn for $name {
            fn column_text(&self) -> &str {
                self.name()
            }

            fn of_column_text(text: &str) -> Result<Self, UnknownName> {
                $name::parse(text).ok_or_else(|| UnknownName { type_name: stringify!($name), text: text.to_owned() })
            }
        }

        text_column!($name);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $name::of_column_text(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use by_name;

names! {
    /// Role of an account.
    Role {
        /// Runs studies.
        Researcher = "researcher",
        /// Reads them.
        Hcp = "hcp",
        /// Runs the service.
        Admin = "admin",
    }
    /// State of a patient's enrolment.
    PatientState {
        /// The voucher has not been used.
        PreCreated = "pre_created",
        /// The patient has activated the account.
        Confirmed = "confirmed",
    }
    /// Gender in a patient's profile.
    Gender {
        /// Female.
        Female = "female",
        /// Male.
        Male = "male",
        /// Neither.
        Other = "other",
    }
    /// What is wrong with a sealed file.
    ObjectFault {
        /// It is not there.
        Missing = "missing",
        /// It is not what was written.
        Damaged = "damaged",
    }
    /// What a pass over everything stored is looking at.
    ScrubStage {
        /// Sealed files.
        SealedFiles = "sealed_files",
        /// Payloads of rows that are not sealed.
        Chunks = "chunks",
        /// What was derived.
        Derived = "derived",
        /// Settings that enter formulas.
        Settings = "settings",
        /// Profiles and latest values.
        Patients = "patients",
        /// Every page of the health database.
        HealthPages = "health_pages",
        /// Every page of the users database.
        UsersPages = "users_pages",
    }
    /// Stage of an export.
    ExportStage {
        /// It waits, or is being written.
        InProgress = "in_progress",
        /// The archive is there.
        Done = "done",
        /// It was given up.
        Failed = "failed",
    }

    /// Act by which a key began to guard the audit log.
    SealedBy {
        /// The store was opened for the first time with its key, by a program that seals.
        Start = "start",
        /// An operator took the log as it was.
        Operator = "operator",
    }

    /// What the end of the audit log shows of its seal.
    SealState {
        /// It is what the service wrote.
        Sealed = "sealed",
        /// No key guards it.
        Unsealed = "unsealed",
        /// Another key guards it than the one in use.
        OtherKey = "other_key",
        /// It is not what the service wrote.
        Altered = "altered",
    }
}

/// Declares names that crates above give to things of theirs.
macro_rules! given_names {
    ($($(#[$doc:meta])+ $name:ident;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(&'static str);

            impl $name {
                /// Returns the one with this name.
                #[must_use]
                pub const fn new(name: &'static str) -> Self {
                    $name(name)
                }

                /// Its name.
                #[must_use]
                pub const fn name(self) -> &'static str {
                    self.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str(self.0)
                }
            }
        )+
    };
}

given_names! {
    /// A kind of background work. Rows may also hold kinds of other versions of the program, so what is read from them
    /// is a text.
    JobKind;
    /// A setting of a group that is kept for its patients.
    SettingName;
    /// The code of an action in the audit log. Entries may also hold codes of other versions of the program, so what is
    /// read from them is a text.
    ActionCode;
}

/// Role of a user of the Users Cloud, as tokens hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UserRole {
    /// A patient.
    Patient,
    /// An account, by its role.
    Account(Role),
}

impl UserRole {
    /// All roles.
    pub const ALL: &'static [Self] = &[
        UserRole::Patient,
        UserRole::Account(Role::Researcher),
        UserRole::Account(Role::Hcp),
        UserRole::Account(Role::Admin),
    ];

    /// Returns the name of the role.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            UserRole::Patient => "patient",
            UserRole::Account(role) => role.name(),
        }
    }

    /// Returns the role of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if name == UserRole::Patient.name() {
            return Some(UserRole::Patient);
        }
        Role::parse(name).map(UserRole::Account)
    }
}

by_name!(UserRole);

/// Role in which something was done, as the audit log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActorRole {
    /// A user's.
    User(UserRole),
    /// The service acted by itself.
    System,
    /// Somebody acted who runs commands on the machine.
    Operator,
}

impl ActorRole {
    /// Returns the name of the role.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ActorRole::User(role) => role.name(),
            ActorRole::System => "system",
            ActorRole::Operator => "operator",
        }
    }

    /// Returns the role of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let own = [ActorRole::System, ActorRole::Operator].into_iter().find(|role| role.name() == name);
        own.or_else(|| UserRole::parse(name).map(ActorRole::User))
    }
}

by_name!(ActorRole);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_read_back_from_its_name() {
        let accounts = Role::ALL.iter().copied().map(UserRole::Account);
        let users: Vec<UserRole> = [UserRole::Patient].into_iter().chain(accounts).collect();
        assert_eq!(users, UserRole::ALL);
        let actors = users.into_iter().map(ActorRole::User).chain([ActorRole::System, ActorRole::Operator]);
        for actor in actors {
            assert_eq!(ActorRole::parse(actor.name()), Some(actor));
        }
        assert_eq!(ActorRole::Operator.name(), "operator");
        assert_eq!(UserRole::parse("system"), None);
        assert_eq!(Role::parse("patient"), None);
    }

    #[test]
    fn a_name_is_the_same_in_json() {
        let state = PatientState::PreCreated;
        assert_eq!(serde_json::to_string(&state).unwrap(), "\"pre_created\"");
        assert_eq!(serde_json::from_str::<PatientState>("\"pre_created\"").unwrap(), state);
        let error = serde_json::from_str::<PatientState>("\"created\"").unwrap_err();
        assert_eq!(error.to_string(), "\"created\" is no PatientState");
    }
}
