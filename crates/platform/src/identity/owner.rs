//! Who has logged in, as answers have it: what credentials are checked against stays behind.

use store::{Account, AccountId, GroupCode, Patient, PatientId, PatientState, Profile, RecordId, Role, VoucherCode};

use crate::core::error::Result;
use crate::core::person::Person;

/// Who has logged in.
#[derive(Clone)]
pub enum Owner {
    /// A patient.
    Patient(Box<PatientOwner>),
    /// A researcher, a practitioner or an administrator.
    Account(Box<OwnAccount>),
}

/// A patient who has logged in, composed of both databases.
#[derive(Clone)]
pub struct PatientOwner {
    /// Identity, in both databases.
    pub uuid: PatientId,
    /// Record identifier.
    pub record_id: RecordId,
    /// State of the enrolment.
    pub state: PatientState,
    /// Eight characters to activate and to log in with.
    pub voucher_code: VoucherCode,
    /// Address to log in with, in lower case.
    pub email: Option<String>,
    /// Whether the password was set by staff.
    pub must_change_password: bool,
    /// Creation, ms.
    pub created_ms: i64,
    /// Last change, ms.
    pub updated_ms: i64,
    /// Their names and so on.
    pub person: Person,
    /// Their body.
    pub profile: Profile,
    /// Five capitals of the group that the patient was enrolled in.
    pub customer_code: Option<GroupCode>,
}

/// An account, as its owner sees it.
#[derive(Clone)]
pub struct OwnAccount {
    /// Identity towards clients.
    pub uuid: AccountId,
    /// Record identifier.
    pub id: RecordId,
    /// Address to log in with, in lower case.
    pub email: String,
    /// Role, which decides what the account may do.
    pub role: Role,
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Whether an operator chose the password, so that the owner has to choose another.
    pub must_change_password: bool,
    /// End of the subscription, ms; absent without one.
    pub subscription_until_ms: Option<i64>,
    /// Creation, ms.
    pub created_ms: i64,
    /// Last change, ms.
    pub updated_ms: i64,
}

impl PatientOwner {
    /// Composes a patient of what both databases know.
    pub(crate) fn of(patient: Patient, profile: Profile, customer_code: Option<GroupCode>) -> Result<Self> {
        Ok(PatientOwner {
            person: Person::from_json(&patient.person)?,
            uuid: patient.uuid,
            record_id: patient.record_id,
            state: patient.state,
            voucher_code: patient.voucher_code,
            email: patient.email,
            must_change_password: patient.must_change_password,
            created_ms: patient.created_ms,
            updated_ms: patient.updated_ms,
            profile,
            customer_code,
        })
    }
}

impl From<Account> for OwnAccount {
    fn from(account: Account) -> Self {
        OwnAccount {
            uuid: account.uuid,
            id: account.id,
            email: account.email,
            role: account.role,
            first_name: account.first_name,
            last_name: account.last_name,
            must_change_password: account.must_change_password,
            subscription_until_ms: account.subscription_until_ms,
            created_ms: account.created_ms,
            updated_ms: account.updated_ms,
        }
    }
}
