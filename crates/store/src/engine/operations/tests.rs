use super::*;
use crate::engine::planned_failures::FailureMoment;

async fn names_of<F: AsyncFn() -> Result<()>>(operations: &Operations, work: F) -> Result<()> {
    operations.observe(std::any::type_name::<F>(), work()).await
}

#[test]
fn short_name_is_modules_and_function_without_types() {
    for (type_name, expected) in [
        ("store::users::totp::<impl store::users::UsersDb>::totp_of::{{closure}}::{{closure}}", "totp.totp_of"),
        ("store::health::sync::<impl store::health::HealthDb>::store_sync::{{closure}}", "sync.store_sync"),
        ("store::health::HealthDb::patients::{{closure}}", "health.patients"),
        ("store::engine::Db::read_by_name<fn(i64) -> alloc::vec::Vec<(i64, i64)>>::{{closure}}", "engine.read_by_name"),
        ("store::events::EventLog::append::{{closure}}", "events.append"),
        ("store::users::audit_reader::AuditReader::next::{{closure}}", "audit_reader.next"),
        ("()", "other"),
    ] {
        assert_eq!(short_name(type_name), expected, "{type_name}");
    }
}

#[tokio::test]
async fn operation_is_counted_under_its_function_with_its_failures() {
    let operations = Operations::new("users");
    names_of(&operations, async || Ok(())).await.unwrap();
    for _ in 0..2 {
        names_of(&operations, async || Err(StoreError::Gone("a patient"))).await.unwrap_err();
    }
    let counts = operations.counts();
    assert_eq!(counts.len(), 1, "{counts:?}");
    let name = "engine.operations.tests.operation_is_counted_under_its_function_with_its_failures";
    assert_eq!(counts[0].name, name);
    assert_eq!(counts[0].durations.count(), 3);
    assert_eq!(counts[0].failures, [("gone", 2)]);
}

#[tokio::test]
async fn operation_whose_caller_goes_away_is_cancelled() {
    let operations = Operations::new("users");
    let work = names_of(&operations, std::future::pending);
    assert!(futures::poll!(Box::pin(work)).is_pending());
    let counts = operations.counts();
    assert_eq!(counts[0].failures, [("cancelled", 1)]);
    assert_eq!(counts[0].durations.count(), 0);
}

#[test]
fn full_table_counts_what_comes_later_as_other() {
    let operations = Operations::new("users");
    for number in 0..4 * PLACES {
        let name: &'static str = Box::leak(format!("store::users::m::f{number}").into_boxed_str());
        operations.of_type(name).durations.add(std::time::Duration::ZERO);
    }
    let counts = operations.counts();
    assert!(counts.len() > PLACES / 2 && counts.len() <= PLACES + 1, "{}", counts.len());
    let counted: u64 = counts.iter().map(|operation| operation.durations.count()).sum();
    assert_eq!(counted, 4 * PLACES as u64);
    assert_eq!(counts.last().map(|other| other.name.as_str()), Some(OTHER));
}

#[test]
fn copies_of_one_name_are_one_operation() {
    let operations = Operations::new("users");
    for _ in 0..3 {
        let name: &'static str = Box::leak("store::users::m::f".to_owned().into_boxed_str());
        operations.of_type(name).durations.add(std::time::Duration::from_millis(1));
    }
    let counts = operations.counts();
    assert_eq!((counts.len(), counts[0].durations.count(), counts[0].durations.sum_us), (1, 3, 3_000));
}

#[tokio::test]
async fn planned_failure_is_of_one_operation_once_and_says_whether_it_was_committed() {
    let operations = Operations::new("users");
    let name = "engine.operations.tests.planned_failure_is_of_one_operation_once_and_says_whether_it_was_committed";
    let committed = std::cell::Cell::new(0);
    let work = async || {
        committed.set(committed.get() + 1);
        Ok(())
    };
    operations.planned_failures.plan("another.operation", FailureMoment::BeforeItBegins);
    operations.planned_failures.plan(name, FailureMoment::BeforeItBegins);
    operations.planned_failures.plan(name, FailureMoment::AfterItCommits);
    for (is_ok, commits) in [(false, 0), (false, 1), (true, 2)] {
        assert_eq!(names_of(&operations, work).await.is_ok(), is_ok);
        assert_eq!(committed.get(), commits);
    }
    assert_eq!(operations.planned_failures.outstanding(), ["another.operation"]);
    assert_eq!(operations.counts()[0].failures, [("unavailable", 2)], "it is counted as any other");
}
