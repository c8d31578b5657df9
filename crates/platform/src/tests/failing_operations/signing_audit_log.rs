//! How old the last signature of the audit log is, when signing goes well and when it does not.

use store::FailureMoment::BeforeItBegins;

use super::study::Study;
use crate::test_service::NOON_MS;

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn age_of_the_last_signature_is_remembered_from_the_job_and_once_from_the_start() {
    let study = Study::begin().await;
    let upkeep = &study.service.platform.upkeep;
    assert_eq!(upkeep.audit_signed_ms(), None, "nothing was looked up");
    study.service.pass_ms(HOUR_MS);
    upkeep.recall_audit_signed().await.unwrap();
    assert_eq!(upkeep.audit_signed_ms(), Some(NOON_MS), "entries wait since the log was sealed");
    assert_eq!(study.drain(&["sign_audit_log"]).await, 1);
    assert_eq!(upkeep.audit_signed_ms(), Some(NOON_MS + HOUR_MS));

    study.patient().await;
    study.service.pass_ms(HOUR_MS);
    study.break_users("audit_seal.audit_end", BeforeItBegins);
    study.drain(&["sign_audit_log"]).await;
    study.assert_all_failed();
    assert_eq!(upkeep.audit_signed_ms(), Some(NOON_MS + HOUR_MS), "it was not signed");

    study.service.pass_ms(HOUR_MS);
    study.drain(&["sign_audit_log"]).await;
    assert_eq!(upkeep.audit_signed_ms(), Some(NOON_MS + 3 * HOUR_MS));
    // The log has not grown: nothing is written, and all of it is signed.
    study.service.pass_ms(HOUR_MS);
    study.drain(&["sign_audit_log"]).await;
    assert_eq!(upkeep.audit_signed_ms(), Some(NOON_MS + 4 * HOUR_MS));
    // What was seen since the start counts more.
    study.service.pass_ms(HOUR_MS);
    upkeep.recall_audit_signed().await.unwrap();
    assert_eq!(upkeep.audit_signed_ms(), Some(NOON_MS + 4 * HOUR_MS));
}

#[tokio::test]
async fn log_that_has_not_grown_since_its_checkpoint_is_signed_at_the_start() {
    let study = Study::begin().await;
    let upkeep = &study.service.platform.upkeep;
    upkeep.write_checkpoint().await.unwrap();
    study.service.pass_ms(48 * HOUR_MS);
    let newest = upkeep.newest_checkpoint().await.unwrap();
    assert_eq!((newest.signed_ms, newest.is_overdue), (NOON_MS + 48 * HOUR_MS, false));
}
