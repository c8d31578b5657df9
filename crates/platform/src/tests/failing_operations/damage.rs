//! Sealed files that are missing or damaged: what is known of them, and how they come back.

use std::path::PathBuf;

use store::events::Followed;
use store::{DamageTarget, ObjectFault, Objects, PatientId};
use vitals::derivation::Output;

use super::study::Study;
use crate::core::settings::{ObjectCopies, Settings};
use crate::people::erasure::Place;
use crate::test_service::minutes_to_noon;
use crate::upkeep::seal::Until;

const DAY_MS: i64 = 86_400_000;

/// A study with copies of its objects in another folder, and a patient with a sealed file.
struct Sealed {
    study: Study,
    patient: PatientId,
    path: String,
    copies: tempfile::TempDir,
}

impl Sealed {
    async fn begin() -> Self {
        let copies = tempfile::tempdir().unwrap();
        let object_copies = Some(ObjectCopies::lying_in(Objects::folder(copies.path()).unwrap()));
        let study = Study::with(Settings { object_copies, ..Settings::default() }).await;
        let patient = study.patient().await;
        study.service.sync(&patient, vec![minutes_to_noon(&[60, 61, 62])]).await;
        study.service.platform.upkeep.seal(Until::Now, |_| {}).await.unwrap();
        let sealed = study.service.platform.core.health().segments_by_path("").await.unwrap();
        let path = sealed[0].object.path.clone();
        Sealed { study, patient, path, copies }
    }

    fn file(&self) -> PathBuf {
        self.study.service.platform.core.objects().as_folder().unwrap().join(&self.path)
    }

    fn copy(&self) -> PathBuf {
        self.copies.path().join(&self.path)
    }

    /// Puts a copy of the file where copies lie.
    fn make_copy(&self) {
        std::fs::create_dir_all(self.copy().parent().unwrap()).unwrap();
        std::fs::copy(self.file(), self.copy()).unwrap();
    }

    async fn counts(&self) -> [u64; 2] {
        let damage = self.study.service.platform.upkeep.damage().await.unwrap();
        [ObjectFault::Missing, ObjectFault::Damaged].map(|fault| damage.count(fault))
    }

    async fn read(&self) -> store::Result<usize> {
        let health = self.study.service.platform.core.health();
        let blocks = health.rows(&self.patient, vitals::registry::DataType::Activity, 0, i64::MAX / 2).await?;
        Ok(blocks.iter().map(vitals::block::Block::rows).sum())
    }
}

fn flip(path: &std::path::Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn reader_of_a_missing_file_notes_it_once_and_a_file_that_is_back_is_forgotten() {
    let sealed = Sealed::begin().await;
    assert_eq!((sealed.counts().await, sealed.read().await.unwrap()), ([0, 0], 3));
    let away = sealed.file().with_extension("away");
    std::fs::rename(sealed.file(), &away).unwrap();
    for _ in 0..3 {
        assert!(sealed.read().await.is_err());
    }
    assert_eq!(sealed.counts().await, [1, 0]);
    sealed.study.drain(&["look_at_damaged_files"]).await;
    assert_eq!(sealed.counts().await, [1, 0], "there is no copy");
    std::fs::rename(&away, sealed.file()).unwrap();
    sealed.study.drain(&["look_at_damaged_files"]).await;
    assert_eq!((sealed.counts().await, sealed.read().await.unwrap()), ([0, 0], 3));
}

#[tokio::test]
async fn missing_file_comes_back_from_its_copy_by_itself() {
    let sealed = Sealed::begin().await;
    sealed.make_copy();
    std::fs::remove_file(sealed.file()).unwrap();
    sealed.study.service.platform.upkeep.look_for_missing().await.unwrap();
    assert_eq!(sealed.counts().await, [1, 0]);
    sealed.study.drain(&["look_at_damaged_files"]).await;
    assert_eq!((sealed.counts().await, sealed.read().await.unwrap()), ([0, 0], 3));
}

#[tokio::test]
async fn copy_that_is_damaged_as_well_replaces_nothing() {
    let sealed = Sealed::begin().await;
    sealed.make_copy();
    flip(&sealed.copy());
    let before = std::fs::read(sealed.file()).unwrap();
    let copies = Objects::folder(sealed.copies.path()).unwrap();
    let upkeep = &sealed.study.service.platform.upkeep;
    let refused = upkeep.bring_back(&sealed.path, &copies).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("either")));
    assert_eq!(std::fs::read(sealed.file()).unwrap(), before);
    assert!(upkeep.bring_back("v1/unknown.parquet", &copies).await.is_err());
}

#[tokio::test]
async fn receipt_of_an_erasure_names_the_copies_of_sealed_files() {
    let sealed = Sealed::begin().await;
    sealed.make_copy();
    let people = &sealed.study.service.platform.people;
    let receipt = people.erase_patient_as_operator(&sealed.patient).await.unwrap();
    let copies = receipt.remains.iter().find(|left| left.place == Place::ObjectCopies);
    assert_eq!(copies.map(|left| left.until_ms), Some(None));
    assert_eq!((sealed.file().exists(), sealed.copy().exists()), (false, true), "as the receipt says");
    let study = Study::begin().await;
    let patient = study.patient().await;
    let receipt = study.service.platform.people.erase_patient_as_operator(&patient).await.unwrap();
    assert!(receipt.remains.iter().all(|left| left.place != Place::ObjectCopies), "{receipt:?}");
}

#[tokio::test]
async fn erased_patient_leaves_no_note_of_a_damaged_file() {
    let sealed = Sealed::begin().await;
    std::fs::remove_file(sealed.file()).unwrap();
    assert!(sealed.read().await.is_err());
    sealed.study.service.platform.people.erase_patient_as_operator(&sealed.patient).await.unwrap();
    assert_eq!(sealed.counts().await, [0, 0]);
    assert_eq!(sealed.study.service.platform.core.health().damaged_objects("", 9).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn pass_over_everything_finds_what_nobody_has_asked_for_and_brings_it_back() {
    let sealed = Sealed::begin().await;
    let (study, upkeep) = (&sealed.study, &sealed.study.service.platform.upkeep);
    study.drain(&["scrub"]).await;
    flip(&sealed.file());
    study.drain(&["scrub"]).await;
    assert_eq!(sealed.counts().await, [0, 0], "the first pass is a day off");
    study.service.pass_ms(DAY_MS);
    study.drain(&["scrub"]).await;
    assert_eq!(sealed.counts().await, [0, 1]);
    let state = upkeep.scrub_state().await.unwrap().unwrap();
    assert_eq!((state.pass, state.files, state.ended_ms.is_some()), (1, 1, true), "{state:?}");
    assert!(state.rows > 0 && state.bytes > 0, "{state:?}");
    assert!(sealed.read().await.is_err());

    // The copy is there now.
    flip(&sealed.file());
    sealed.make_copy();
    flip(&sealed.file());
    study.service.pass_ms(DAY_MS);
    study.drain(&["scrub"]).await;
    assert_eq!((sealed.counts().await, sealed.read().await.unwrap()), ([0, 0], 3));
    assert_eq!(upkeep.scrub_state().await.unwrap().unwrap().pass, 2);
}

#[tokio::test]
async fn patient_has_an_event_of_damage_and_one_of_its_end() {
    let sealed = Sealed::begin().await;
    let study = &sealed.study;
    flip(&sealed.file());
    study.service.platform.upkeep.verify_segments(|_| {}).await.unwrap();
    for _ in 0..2 {
        study.drain(&["look_at_damaged_files"]).await;
    }
    flip(&sealed.file());
    study.drain(&["look_at_damaged_files"]).await;
    assert_eq!(events_of_damage(study).await, [("data.damaged", "activity"), ("data.restored", "activity")].map(named));
}

fn named((name, what): (&str, &str)) -> (String, serde_json::Value) {
    (name.to_owned(), what.into())
}

/// Events of damage and of its end, and what it was of.
async fn events_of_damage(study: &Study) -> Vec<(String, serde_json::Value)> {
    let log = study.service.platform.core.health().events();
    let Followed::Page(page) = log.read_after(&log.oldest().await.unwrap(), 99).await.unwrap() else {
        panic!("a page")
    };
    let of_damage = page.events.iter().filter(|event| event.event_type.name().starts_with("data."));
    of_damage.map(|event| (event.event_type.name().to_owned(), event.body["type"].clone())).collect()
}

#[tokio::test]
async fn damaged_rows_are_events_and_counted_until_a_pass_finds_them_right() {
    let study = Study::with(Settings::default()).await;
    let patient = study.patient().await;
    study.service.sync(&patient, vec![minutes_to_noon(&[60, 61, 62])]).await;
    study.drain(&["derive", "scrub"]).await;
    let platform = &study.service.platform;
    let pass = async || {
        study.service.pass_ms(DAY_MS);
        study.drain(&["scrub"]).await;
        platform.upkeep.damaged_rows().await.unwrap().stretches
    };
    assert_eq!(pass().await, 0);
    platform.core.health().damage(&patient, DamageTarget::Derived(Output::Section)).await.unwrap();
    let stretches = pass().await;
    assert!(stretches > 0);
    let damaged = events_of_damage(&study).await;
    assert_eq!(damaged.len() as u64, stretches, "{damaged:?}");
    assert!(damaged.iter().all(|(name, _)| name == "data.damaged"), "{damaged:?}");
    assert_eq!((pass().await, events_of_damage(&study).await.len()), (stretches, damaged.len()), "known already");
    platform.data.recompute(Some(&patient), |_, _| {}).await.unwrap();
    assert_eq!(pass().await, 0);
    assert_eq!(events_of_damage(&study).await.len(), 2 * damaged.len());
}

#[tokio::test]
async fn damaged_page_of_the_users_database_is_found_by_a_pass_and_ends_nothing() {
    let study = Study::with(Settings::default()).await;
    let patient = study.patient().await;
    study.drain(&["derive", "scrub"]).await;
    let upkeep = &study.service.platform.upkeep;
    let objects = study.service.platform.core.objects().as_folder().unwrap().to_owned();
    let file = objects.with_file_name("users.sqlite");
    // Everything in the file, whose last page no request here reads.
    assert!(study.service.platform.core.users().empty_log().await.unwrap());
    let mut bytes = std::fs::read(&file).unwrap();
    let end = bytes.len();
    bytes[end - 100] ^= 1;
    let written = std::os::unix::fs::FileExt::write_all_at(
        &std::fs::OpenOptions::new().write(true).open(&file).unwrap(),
        &bytes[end - 100..end - 99],
        end as u64 - 100,
    );
    written.unwrap();
    study.service.pass_ms(DAY_MS);
    study.drain(&["scrub"]).await;
    let state = upkeep.scrub_state().await.unwrap().unwrap();
    assert_eq!((state.pass, state.ended_ms.is_some()), (1, true), "{state:?}");
    let found = upkeep.damaged_rows().await.unwrap();
    assert_eq!((found.stretches, found.example.as_deref()), (1, Some("users pages")), "{found:?}");
    let (_, listed) = upkeep.verify_rows(|_| {}).await.unwrap();
    assert!(listed.len() == 1 && listed[0].to_string().starts_with("the users database: page "), "{listed:?}");
    drop(patient);
}

/// Two sealed files of two patients, in the order in which a pass comes to them.
async fn two_files(sealed: &Sealed) -> [PathBuf; 2] {
    let (study, platform) = (&sealed.study, &sealed.study.service.platform);
    let other = study.patient().await;
    study.service.sync(&other, vec![minutes_to_noon(&[70])]).await;
    platform.upkeep.seal(Until::Now, |_| {}).await.unwrap();
    let rows = platform.core.health().segments_by_path("").await.unwrap();
    let folder = platform.core.objects().as_folder().unwrap().to_owned();
    <[PathBuf; 2]>::try_from(rows.iter().map(|row| folder.join(&row.object.path)).collect::<Vec<_>>()).unwrap()
}

async fn pass(study: &Study) {
    study.service.pass_ms(DAY_MS);
    study.drain(&["scrub"]).await;
}

/// The first is a link to itself, which nobody can open.
#[tokio::test]
async fn file_that_gives_an_error_is_damaged_and_those_behind_it_are_looked_at() {
    let sealed = Sealed::begin().await;
    let study = &sealed.study;
    let [first, second] = two_files(&sealed).await;
    study.drain(&["scrub"]).await;
    let root = study.service.platform.core.objects().as_folder().unwrap().to_owned();
    let copy = sealed.copies.path().join(second.strip_prefix(&root).unwrap());
    std::fs::remove_file(&first).unwrap();
    std::os::unix::fs::symlink(&first, &first).unwrap();
    flip(&second);
    pass(study).await;
    assert_eq!(sealed.counts().await, [0, 2]);
    assert!(study.service.platform.upkeep.scrub_state().await.unwrap().unwrap().ended_ms.is_some());

    flip(&second);
    study.drain(&["look_at_damaged_files"]).await;
    assert_eq!(sealed.counts().await, [0, 1], "the second is whole again");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::copy(&second, &copy).unwrap();
    std::fs::remove_file(&second).unwrap();
    pass(study).await;
    assert_eq!(sealed.counts().await, [0, 1], "the second is brought back");

    let away = study.service.take_objects_away();
    pass(study).await;
    assert_eq!(sealed.counts().await, [0, 1], "objects that are away are not damaged");
    away.bring_back();
}

/// The patient's log of the first cannot be written.
#[tokio::test]
async fn file_without_its_event_keeps_no_other_from_its_own() {
    let sealed = Sealed::begin().await;
    let study = &sealed.study;
    let files = two_files(&sealed).await;
    for file in &files {
        flip(file);
    }
    study.drain(&["scrub"]).await;
    for _ in 0..2 {
        study.service.platform.core.health().plan_failure("damage.announce", store::FailureMoment::BeforeItBegins);
    }
    pass(study).await;
    assert_eq!(sealed.counts().await, [0, 2]);
    assert_eq!(events_of_damage(study).await.len(), 1, "the first has none yet");
    study.drain(&["look_at_damaged_files"]).await;
    assert_eq!(events_of_damage(study).await.len(), 2);
}
