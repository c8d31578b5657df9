//! Bracelets that fall silent while the row of one patient cannot be written.

use store::{EventType, FailureMoment::BeforeItBegins, PatientId};

use super::study::Study;

const HOUR_MS: i64 = 3_600_000;

async fn silences(study: &Study, patient: &PatientId) -> usize {
    let events = study.service.platform.core.health().events().after(patient, 0, 100).await.unwrap();
    events.iter().filter(|event| event.event_type == EventType::DeviceChanged).count()
}

#[tokio::test]
async fn silence_that_cannot_be_written_hides_no_other_and_is_noted_by_the_next_run() {
    let study = Study::begin().await;
    let patients = [study.patient().await, study.patient().await, study.patient().await];
    for patient in &patients {
        study.service.sync_minute(patient).await;
    }
    study.drain(&["note_silence"]).await;
    study.service.pass_ms(HOUR_MS);
    study.break_health("bracelet_state.note_silence", BeforeItBegins);
    study.drain(&["note_silence"]).await;
    study.assert_all_failed();
    let mut noted = 0;
    for patient in &patients {
        noted += silences(&study, patient).await;
    }
    assert_eq!((noted, study.failing("note_silence").await), (2, 1));
    study.service.pass_ms(HOUR_MS);
    study.drain(&["note_silence"]).await;
    for patient in &patients {
        assert_eq!(silences(&study, patient).await, 1);
    }
}
