//! Who a user of the Users Cloud is.

use crate::ids::{AccountId, PatientId, UserId};
use crate::names::{Role, UserRole};

/// A patient, or an account in its role. What is of the one cannot be asked of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// A patient.
    Patient(PatientId),
    /// A researcher, a practitioner or an administrator.
    Account(AccountId, Role),
}

impl User {
    /// Returns the user of an identifier and of the role that was written down with it.
    #[must_use]
    pub fn of(id: &UserId, role: UserRole) -> Self {
        match role {
            UserRole::Patient => User::Patient(PatientId::new(id.as_str())),
            UserRole::Account(role) => User::Account(AccountId::new(id.as_str()), role),
        }
    }

    /// Returns the identifier.
    #[must_use]
    pub fn id(&self) -> UserId {
        match self {
            User::Patient(patient) => UserId::from(patient),
            User::Account(account, _) => UserId::from(account),
        }
    }

    /// Returns the role.
    #[must_use]
    pub fn role(&self) -> UserRole {
        match self {
            User::Patient(_) => UserRole::Patient,
            User::Account(_, role) => UserRole::Account(*role),
        }
    }

    /// Returns the patient, where the user is one.
    #[must_use]
    pub fn patient(&self) -> Option<&PatientId> {
        match self {
            User::Patient(patient) => Some(patient),
            User::Account(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_no_patient_whatever_its_identifier() {
        let id = UserId::new("1b0e");
        let roles = [Role::Researcher, Role::Hcp, Role::Admin].map(UserRole::Account);
        for role in roles.into_iter().chain([UserRole::Patient]) {
            let user = User::of(&id, role);
            assert_eq!((user.id(), user.role()), (id.clone(), role));
            assert_eq!(user.patient().is_some(), role == UserRole::Patient);
        }
    }
}
