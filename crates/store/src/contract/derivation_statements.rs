//! How many statements the commit of a derivation sends to PostgreSQL.

use testkit::Postgres;
use vitals::derivation::{DerivedRow, Output};
use vitals::measured::Measured;
use vitals::news_timeline::{NewsEntry, SettingsAt};
use vitals::registry::DataType;
use vitals::summary::Section;
use vitals::zone::LocalDay;

use super::Stores;
use super::derivations::{claim_of, due, enrol, news, nothing, section, slots};
use crate::engine::Address;
use crate::events::{EventType, NewEvent};
use crate::ids::PatientId;
use crate::{Claim, CommitOutcome, DerivationCommit, Dirty};

const DAY: LocalDay = LocalDay(20_000);
/// Rows that one statement takes.
const MANY: i64 = 16;

/// Commits what `change` makes of a claim; returns what the server was asked for it.
async fn asked(
    stores: &Stores,
    server: &Postgres,
    change: impl Fn(&Claim) -> DerivationCommit,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let claim = claim_of(stores, "ada").await;
    let commit = change(&claim);
    let begun = Postgres::log_mark();
    assert_eq!(stores.health.commit_derivations(vec![commit]).await?, [CommitOutcome::Committed]);
    let statements = server.statements(begun, Postgres::log_mark());
    Ok(statements.into_iter().map(|statement| statement.text).collect())
}

/// Entries of the NEWS history from a number of times, or their removal.
fn entries(count: i64, is_there: bool) -> Vec<DerivedRow> {
    let entry = |time_ms| NewsEntry::at(time_ms, &Measured::default(), &SettingsAt::default(), None);
    (0..count).map(|time_ms| news(time_ms, is_there.then(|| entry(time_ms)))).collect()
}

/// Returns a commit of a patient without marks.
fn of_unmarked(claim: &Claim) -> DerivationCommit {
    DerivationCommit { dirty: Some(Dirty::default()), ..nothing(claim) }
}

/// Rows of every output, in one statement.
fn all_outputs(claim: &Claim) -> DerivationCommit {
    let row = |output| DerivedRow { output, key: 0, version: 1, body: Some(vec![1]) };
    let mut rows = vec![slots(DAY, DataType::Activity, Some(vec![1, 2, 3])), section(DAY, Section::Spo2, Some("{}"))];
    rows.extend([Output::DayInputs, Output::AfHour, Output::Extra].map(row));
    let missing = MANY - rows.len() as i64;
    rows.extend(entries(missing, true));
    assert!(Output::ALL.iter().all(|output| rows.iter().any(|row| row.output == *output)));
    DerivationCommit {
        rows,
        events: (0..MANY).map(|at| NewEvent::without_data(EventType::DayUpdated, at)).collect(),
        ..of_unmarked(claim)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_a_commit_do_not_grow_with_what_was_derived() -> Result<(), Box<dyn std::error::Error>> {
    let (Some(users), Some(server)) = (Postgres::start(), Postgres::start()) else { return Ok(()) };
    server.log_statements();
    let address = |server: &Postgres| Address::Postgres(server.url.clone());
    let stores = Stores::open(address(&users), address(&server), tempfile::tempdir()?).await;
    enrol(&stores, "ada").await;
    let one = |claim: &Claim| DerivationCommit {
        rows: vec![section(DAY, Section::Spo2, Some("{}"))],
        events: vec![NewEvent::without_data(EventType::DayUpdated, 1)],
        ..of_unmarked(claim)
    };
    let of_one = asked(&stores, &server, one).await?;
    // BEGIN, the patient's row, what was derived, the event, COMMIT.
    assert_eq!(of_one.len(), 5, "{of_one:#?}");
    let of_all = asked(&stores, &server, all_outputs).await?;
    assert_eq!(of_all.len(), of_one.len(), "{of_all:#?}");

    let remove_one =
        |claim: &Claim| DerivationCommit { rows: vec![section(DAY, Section::Spo2, None)], ..of_unmarked(claim) };
    let of_one = asked(&stores, &server, remove_one).await?;
    let remove_many = |claim: &Claim| DerivationCommit { rows: entries(MANY, false), ..of_unmarked(claim) };
    let of_many = asked(&stores, &server, remove_many).await?;
    assert_eq!(of_many.len(), of_one.len(), "{of_many:#?}");
    assert_eq!(stores.health.news_between(&PatientId::new("ada"), 0, MANY).await?, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_a_commit_do_not_grow_with_the_marks_that_it_ends() -> Result<(), Box<dyn std::error::Error>> {
    let (Some(users), Some(server)) = (Postgres::start(), Postgres::start()) else { return Ok(()) };
    server.log_statements();
    let address = |server: &Postgres| Address::Postgres(server.url.clone());
    let stores = Stores::open(address(&users), address(&server), tempfile::tempdir()?).await;
    enrol(&stores, "ada").await;
    let mut counts = Vec::new();
    for marks in [1, MANY] {
        let ranges: Vec<_> = (0..marks).map(|at| due(at * 1_000, 1)).collect();
        for range in &ranges {
            stores.health.mark_due(&PatientId::new("ada"), *range).await?;
        }
        let end = |claim: &Claim| DerivationCommit { done: ranges.clone(), ..nothing(claim) };
        counts.push(asked(&stores, &server, end).await?.len());
        assert_eq!(stores.health.due_of(&PatientId::new("ada"), 1).await?, []);
    }
    assert_eq!(counts[0], counts[1]);
    Ok(())
}
