//! Example rows of the users database, which the tests of several tables store first.

use super::{Stores, audit};
use crate::ids::{MessageId, PatientId, SerialNumber};
use crate::{
    Account, AccountId, Activation, ApiKeyId, Bracelet, BraceletId, Group, GroupCode, GroupId, HealthChange,
    HealthMessage, Patient, PatientState, PortalSessionId, Role, TotpConfirmation,
};

pub(super) fn account(name: &str) -> Account {
    Account {
        uuid: AccountId::new(format!("uuid-{name}")),
        id: crate::ids::RecordId::new(format!("id-{name}")),
        email: format!("{name}@example.org"),
        role: Role::Researcher,
        first_name: Some(name.to_owned()),
        last_name: None,
        password_hash: "hash".to_owned(),
        must_change_password: false,
        subscription_until_ms: Some(1000),
        disabled_ms: None,
        created_ms: 1,
        updated_ms: 1,
    }
}

pub(super) fn group(code: &str, created_ms: i64) -> Group {
    Group {
        code: GroupCode::new(code),
        id: GroupId::new(format!("id-{code}")),
        hcp_code: crate::ids::HcpCode::new(format!("HCP-{code}-abc123")),
        name: "Sleep".to_owned(),
        description: String::new(),
        created_ms,
    }
}

pub(super) fn patient(name: &str) -> Patient {
    Patient {
        uuid: PatientId::new(format!("uuid-{name}")),
        record_id: crate::ids::RecordId::new(format!("id-{name}")),
        state: PatientState::PreCreated,
        voucher_code: crate::ids::VoucherCode::new(name.to_uppercase()),
        voucher_expires_ms: 1000,
        email: None,
        password_hash: None,
        must_change_password: false,
        person: "{}".to_owned(),
        created_ms: 2,
        updated_ms: 2,
    }
}

pub(super) fn message(id: &str, created_ms: i64) -> HealthMessage {
    let change = HealthChange::EndSessionsOfKey { key_id: ApiKeyId::new("k"), at_ms: created_ms };
    HealthMessage { id: MessageId::new(id), change, entries: Vec::new(), created_ms }
}

pub(super) fn activation(name: &str, email: Option<&str>) -> Activation {
    Activation {
        uuid: PatientId::new(format!("uuid-{name}")),
        email: email.map(str::to_owned),
        password_hash: "hash".to_owned(),
        known: "{}".to_owned(),
        person: "{\"first_name\":\"Grace\"}".to_owned(),
        now_ms: 9,
    }
}

pub(super) fn bracelet(name: &str, registered_by: &str) -> Bracelet {
    Bracelet {
        id: BraceletId::new(format!("id-{name}")),
        serial_number: SerialNumber::new(name),
        device_type: "wrist".to_owned(),
        firmware_version: None,
        registered_by: AccountId::new(format!("uuid-{registered_by}")),
        created_ms: 3,
        worn_by: None,
    }
}

pub(super) async fn with_ada_in(stores: &Stores, codes: &[&str]) {
    stores.users.add_account(account("ada")).await.expect("an account");
    for (at, code) in codes.iter().enumerate() {
        let created =
            stores.users.add_group(group(code, at as i64), &AccountId::new("uuid-ada"), audit(Vec::new(), 0)).await;
        created.expect("a group");
    }
}

/// A code of a step, shown in no session, and one recovery code.
pub(super) fn shown(step: i64) -> TotpConfirmation {
    TotpConfirmation { step, recovery_codes: vec![vec![7]], kept_session: PortalSessionId::new("") }
}
