//! Stores that an older program has made, with rows of its time, opened by this one.

use vitals::derivation::{DerivedRow, Output, Setting, day_and, keys_of_days, types_to_derive_again, versions};
use vitals::registry::DataType;
use vitals::zone::LocalDay;

use super::example_rows::activation;
use super::{Stores, on_both_engines};
use crate::engine::{Address, Db, Limits, Migrations};
use crate::health::MIGRATIONS as OF_HEALTH;
use crate::ids::{AccountId, MessageId, PatientId, SessionId, UserId};
use crate::users::MIGRATIONS as OF_USERS;
use crate::{HealthChange, HealthDb, HealthMessage, Objects, Profile, UsersDb};

on_both_engines! {
    a_health_store_of_before_derivations_keeps_every_row
    a_health_store_of_any_age_is_opened
    syncs_of_before_the_event_log_are_numbered_on
    a_users_store_of_before_the_event_log_counts_on
    keys_of_before_keep_the_groups_that_they_act_on
    a_users_store_of_any_age_is_opened
}

const DAY: LocalDay = LocalDay(20_400);
const QUARTER_US: i64 = 1_762_560_000_000_000;

const PATIENTS: &str = "INSERT INTO patient (uuid, record_id, height, created_ms, updated_ms, arrivals, fold_token,
    fold_lease_until_ms) VALUES ('ada', 'id-ada', 170, 1, 2, 7, 0, 0), ('bob', 'id-bob', NULL, 1, 2, 0, 0, 0)";
const TALLY: &str = "INSERT INTO tally (patient, data_type, quarter_us, offset_s, samples)
    VALUES ('ada', 1, 1762560000000000, 3600, 900)";
const SETTING: &str =
    "INSERT INTO patient_setting (patient, name, valid_from_ms, body) VALUES ('ada', 'weight', 5, '62.5')";
const DERIVED: &str = "INSERT INTO derived (patient, output, key, version, body) VALUES ($1, $2, $3, $4, $5)";
const DUE: &str = "INSERT INTO due (patient, arrival, data_type, first_us, last_us, ready_ms)
    VALUES ('ada', 7, 1, 1762560000000000, 1762560899999999, $1)";

/// Returns where nothing is yet.
fn fresh_address(stores: &Stores, name: &str) -> Address {
    if stores.health.db.is_sqlite() {
        return Address::File(stores.folder.path().join(name));
    }
    Address::Postgres(testkit::Postgres::start().expect("a server, which the other databases are on").url)
}

/// Returns a database as a program made it that knew the first migrations only.
async fn older(address: &Address, all: Migrations, first: usize) -> Db {
    let known = Migrations(&all.0[..first]);
    Db::open("older", address.clone(), Limits::default(), known).await.expect("a database")
}

async fn run(db: &Db, text: &'static str) {
    db.write(async move |tx| tx.execute(text, &[]).await).await.expect(text);
}

async fn put_derived(db: &Db, output: Output, key: i64, body: &'static [u8]) {
    let put = async move |tx: &crate::engine::Tx<'_>| {
        tx.execute(DERIVED, &[&"ada", &output.number(), &key, &3_i64, &body.to_vec()]).await
    };
    db.write(put).await.expect("a row");
}

async fn health_of_today(stores: &Stores, address: Address) -> HealthDb {
    let objects = Objects::folder(&stores.folder.path().join("older-objects")).expect("a folder");
    HealthDb::open(address, objects).await.expect("a database")
}

async fn assert_rows_are_kept(health: &HealthDb) {
    let ada = PatientId::new("ada");
    let patient = health.patient(&ada).await.expect("an answer").expect("ada");
    assert_eq!((patient.record_id.as_str(), patient.profile.height), ("id-ada", Some(170.0)));
    assert_eq!((patient.created_ms, patient.updated_ms), (1, 2));
    assert!(health.patient(&PatientId::new("bob")).await.expect("an answer").is_some());
    let counted = health.count_quarters(&ada, QUARTER_US, QUARTER_US + 1).await.expect("counts");
    assert_eq!(counted, [(DataType::from_number(1).expect("a type"), 900)]);
    let setting = Setting { name: "weight".to_owned(), valid_from_ms: 5, body: "62.5".to_owned() };
    assert_eq!(health.patient_settings(&ada).await.expect("a list"), [setting]);
    assert_eq!(health.arrivals(&ada).await.expect("a number"), 7);
}

async fn a_health_store_of_before_derivations_keeps_every_row(stores: Stores) {
    let address = fresh_address(&stores, "eleven.sqlite");
    let made = older(&address, OF_HEALTH, 11).await;
    for text in [PATIENTS, TALLY, SETTING] {
        run(&made, text).await;
    }
    put_derived(&made, Output::Section, day_and(DAY, 2), b"{\"a\":1}").await;
    // Days alone were the keys of this output.
    put_derived(&made, Output::DayInputs, i64::from(DAY.0) - 1, b"before").await;
    put_derived(&made, Output::DayInputs, i64::from(DAY.0), b"facts").await;
    put_derived(&made, Output::AfHour, 1_762_560_000_000, b"hour").await;
    made.close().await.expect("closed");

    // A second start changes nothing more.
    for _ in 0..2 {
        let health = health_of_today(&stores, address.clone()).await;
        assert_rows_are_kept(&health).await;
        let ada = PatientId::new("ada");
        let row = |output, key, body: &[u8]| DerivedRow { output, key, version: 3, body: Some(body.to_vec()) };
        let facts = row(Output::DayInputs, day_and(DAY, 0), b"facts");
        let of_day = health.derived(&ada, Output::DayInputs, keys_of_days(DAY, DAY)).await.expect("rows");
        assert_eq!(of_day, std::slice::from_ref(&facts));
        let all = [
            row(Output::Section, day_and(DAY, 2), b"{\"a\":1}"),
            row(Output::DayInputs, day_and(LocalDay(DAY.0 - 1), 0), b"before"),
            facts,
            row(Output::AfHour, 1_762_560_000_000, b"hour"),
        ];
        assert_eq!(health.all_derived(&ada).await.expect("rows"), all);
        let found = health.patients_of_other_versions(&versions(), None, 9).await.expect("a list");
        assert_eq!(found, [(ada, String::new()), (PatientId::new("bob"), String::new())]);
        assert!(types_to_derive_again(&found[0].1).contains(&DataType::Activity));
        health.close().await.expect("closed");
    }
}

async fn a_health_store_of_any_age_is_opened(stores: Stores) {
    for first in 1..OF_HEALTH.0.len() {
        let address = fresh_address(&stores, &format!("health-{first}.sqlite"));
        let made = older(&address, OF_HEALTH, first).await;
        for text in [PATIENTS, TALLY, SETTING] {
            run(&made, text).await;
        }
        let session = "INSERT INTO session (id, patient, scope, first_issued_ms, issued_ms, expires_ms)
            VALUES ('s', 'ada', 'patient.read', 1, 2, 30)";
        if first == 1 {
            run(&made, session).await;
        }
        made.close().await.expect("closed");
        let health = health_of_today(&stores, address).await;
        assert_rows_are_kept(&health).await;
        if first == 1 {
            let session = health.session(&SessionId::new("s")).await.expect("an answer").expect("a session");
            assert_eq!((session.family.as_str(), session.refresh_until_ms), ("s", 1));
        }
        health.close().await.expect("closed");
    }
}

async fn syncs_of_before_the_event_log_are_numbered_on(stores: Stores) {
    let address = fresh_address(&stores, "nine.sqlite");
    let made = older(&address, OF_HEALTH, 9).await;
    run(&made, PATIENTS).await;
    for ready_ms in [80, 60] {
        made.write(async move |tx| tx.execute(DUE, &[&i64::from(ready_ms)]).await).await.expect("a mark");
    }
    made.close().await.expect("closed");

    let health = health_of_today(&stores, address).await;
    let ada = PatientId::new("ada");
    let dirty = health.dirty_of(&ada, 100).await.expect("an answer").expect("ada");
    assert_eq!((dirty.ready.len(), dirty.from), (2, 7));
    assert_eq!((health.count_due(59).await.expect("a count"), health.count_due(60).await.expect("a count")), (0, 1));
    assert_eq!(health.arrivals(&ada).await.expect("a number"), 7);
}

const PERSON: &str =
    "INSERT INTO patient (uuid, record_id, state, voucher_code, voucher_expires_ms, must_change_password,
    person, created_ms, updated_ms) VALUES ('uuid-ada', 'id-ada', 'pre_created', 'ADA', 1000, FALSE, '{}', 2, 2)";

const ACCOUNT: &str = "INSERT INTO account (uuid, id, email, role, password_hash, created_ms, updated_ms)
    VALUES ('uuid-rita', 'id-rita', 'rita@example.org', 'researcher', 'hash', 1, 1)";
const KEYS: &str = "INSERT INTO api_key (id, key_hash, prefix, account, created_ms)
    VALUES ('all', $1, 'pwk_a', 'uuid-rita', 1), ('some', $2, 'pwk_b', 'uuid-rita', 2)";
const KEY_GROUP: &str = "INSERT INTO api_key_group (api_key, group_code) VALUES ('some', 'AAAAA')";

async fn assert_person_is_kept(users: &UsersDb) {
    let ada = users.patient(&PatientId::new("uuid-ada")).await.expect("an answer").expect("ada");
    assert_eq!(ada, super::example_rows::patient("ada"));
}

async fn a_users_store_of_before_the_event_log_counts_on(stores: Stores) {
    let address = fresh_address(&stores, "users-four.sqlite");
    let made = older(&address, OF_USERS, 4).await;
    run(&made, PERSON).await;
    run(&made, "UPDATE patient SET changes = 3").await;
    made.close().await.expect("closed");

    let users = UsersDb::open(address).await.expect("a database");
    assert_person_is_kept(&users).await;
    let uuid = PatientId::new("uuid-ada");
    let change = HealthChange::PutPatient {
        uuid: uuid.clone(),
        record_id: crate::ids::RecordId::new("id-ada"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 9,
    };
    let message = HealthMessage { id: MessageId::new("m"), change, entries: Vec::new(), created_ms: 9 };
    assert!(users.activate_patient(activation("ada", None), message).await.expect("an answer"));
    let pending = users.messages_of(&uuid).await.expect("a list");
    // 4 is the event of the activation itself. A number of before would be dropped by the health database as made.
    assert_eq!(pending.iter().map(|message| message.key.sequence).collect::<Vec<_>>(), [5]);
}

async fn keys_of_before_keep_the_groups_that_they_act_on(stores: Stores) {
    let address = fresh_address(&stores, "users-six.sqlite");
    let made = older(&address, OF_USERS, 6).await;
    run(&made, ACCOUNT).await;
    made.write(async |tx| tx.execute(KEYS, &[&vec![1_u8], &vec![2_u8]]).await).await.expect("keys");
    run(&made, KEY_GROUP).await;
    made.close().await.expect("closed");
    let users = UsersDb::open(address).await.expect("a database");
    let keys = users.api_keys(&AccountId::new("uuid-rita")).await.expect("a list");
    let scoped: Vec<_> = keys.iter().map(|key| (key.id.as_str(), key.is_scoped)).collect();
    assert_eq!(scoped, [("all", false), ("some", true)]);
}

async fn a_users_store_of_any_age_is_opened(stores: Stores) {
    for first in 1..OF_USERS.0.len() {
        let address = fresh_address(&stores, &format!("users-{first}.sqlite"));
        let made = older(&address, OF_USERS, first).await;
        run(&made, PERSON).await;
        if first == 1 {
            run(
                &made,
                "INSERT INTO session (id, owner, first_issued_ms, issued_ms, expires_ms) VALUES ('s', 'o', 1, 2, 30)",
            )
            .await;
        }
        made.close().await.expect("closed");
        let users = UsersDb::open(address).await.expect("a database");
        assert_person_is_kept(&users).await;
        if first == 1 {
            let session = users.session(&SessionId::new("s")).await.expect("an answer").expect("a session");
            assert_eq!((session.owner, session.family.as_str()), (UserId::new("o"), "s"));
        }
        users.close().await.expect("closed");
    }
}
