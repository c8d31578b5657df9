//! Single bits flipped in the files of a store by a program that knows none of their formats.
//!
//! Each round flips one bit anywhere in the files, asks everything that can be asked, stores rows over what is there, merges
//! and seals, and asks again. An answer is as before or an error, and every flip is found by what `doctor --verify` reads,
//! whether it has an effect or not; but for the maps of free space and of visible rows of PostgreSQL, which hold nothing that is
//! answered. What it counts it prints.

pub(super) mod content;
mod verified;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use content::{LATER, MADE, PATIENTS, PERSONS, STUDY, later_sync, make, make_users, periods};
use vitals::block::Block;
use vitals::derivation::Output;
use vitals::registry::{Channel, DataType};

use crate::engine::Address;
use crate::error::Result;
use crate::ids::{AccountId, GroupCode, PatientId};
use crate::{HealthDb, Objects, SyncOutcome, UsersDb, checksum, payload};
use verified::{is_found_of_health, is_found_of_users};

/// How long a store with a flipped bit may take until everything was asked and sent.
const LONGEST_EFFECT: std::time::Duration = std::time::Duration::from_mins(3);
/// Rounds of a usual run; `.ci/long` asks for ten times as many.
const USUAL_ROUNDS: usize = 200;
/// Of these rounds, one in so many goes on with a flipped database of PostgreSQL, which is copied for it.
const ONE_IN: usize = 10;
/// The end of all times that are asked for, µs.
const FAR_US: i64 = i64::MAX / 4;

type Answers = BTreeMap<String, Result<String>>;

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bit_of_a_store_of_files_changes_no_answer() {
    let rounds = testkit::Rounds::of_test("flips in files of SQLite", USUAL_ROUNDS);
    let (sound, tried) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let stores = open_in(sound.path()).await.expect("databases");
    make_users(&stores.users).await;
    make(&stores.health).await;
    stores.close().await;
    let expected = Expected::of(&sound, tried.path()).await;
    let files = Files::of(sound.path(), &["health.sqlite", "users.sqlite", "objects"]);
    let mut tally = Tally::default();
    for place in rounds.places(files.bits()) {
        copy(sound.path(), tried.path());
        let (file, place) = files.at(place);
        let kind = kind_of(&file);
        flip(&tried.path().join(&file), place);
        let Ok(stores) = open_in(tried.path()).await else {
            // What cannot be opened is named by every command.
            tally.note(&kind, &Effect::Refused, true);
            continue;
        };
        let is_found = stores.are_found_damaged().await;
        let effect = expected.effect(&stores).await;
        if let Effect::Changed(question) = &effect {
            println!("bit {place} of {} changed {question}", file.display());
        }
        if !is_found {
            println!("bit {place} of {} is not found", file.display());
        }
        tally.note(&kind, &effect, is_found);
        stores.close().await;
    }
    tally.judge();
}

/// The server's own page checksums are on, as the guide for operators asks. It keeps nothing in memory, so it reads what
/// was flipped.
#[tokio::test(flavor = "multi_thread")]
async fn flipped_bit_of_a_store_on_postgres_changes_no_answer() {
    let rounds = testkit::Rounds::of_test("flips in files of PostgreSQL", USUAL_ROUNDS);
    let Some(server) = testkit::OwnServer::start_without_cache() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let urls = [server.database(), server.database()];
    let stores = open_on(&urls, folder.path()).await;
    make_users(&stores.users).await;
    make(&stores.health).await;
    for url in &urls {
        server.execute(url, "CREATE EXTENSION amcheck");
    }
    let expected = answers(&stores).await;
    let mut folders = folders_of(&server, &urls);
    folders.push(Files::of(folder.path(), &["objects"]));
    let (mut tally, mut in_maps) = (Tally::default(), 0);
    for place in rounds.places(folders.iter().map(Files::bits).sum()) {
        let (of, file, place) = place_in(&folders, place);
        let path = folders[of].folder.join(&file);
        flip(&path, place);
        let found = answers(&stores).await;
        let effect = compared(&expected, &found);
        if is_a_map(&file) && effect == Effect::Nothing {
            flip(&path, place);
            in_maps += 1;
            continue;
        }
        let is_found = stores.are_found_damaged().await;
        if !is_found {
            println!("bit {place} of {} is not found", file.display());
        }
        flip(&path, place);
        tally.note(&kind_in(of, &file), &effect, is_found);
    }
    println!("{in_maps} in maps of free space and of visible rows, without effect");
    tally.judge();
}

/// What is stored over a flipped bit, merged and sealed takes no damage over.
#[tokio::test(flavor = "multi_thread")]
async fn flipped_bit_on_postgres_is_not_carried_on() {
    let rounds = testkit::Rounds::of_test("flips carried on by PostgreSQL, one in ten rounds", USUAL_ROUNDS);
    let Some(server) = testkit::OwnServer::start_without_cache() else { return };
    let (sound, tried) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let urls = [server.database(), server.database()];
    let stores = open_on(&urls, sound.path()).await;
    make_users(&stores.users).await;
    make(&stores.health).await;
    drop(stores);
    // Nobody is connected to these, so they can be copied at any time.
    let made = urls.map(|url| server.copy_of(&url));
    copy(sound.path(), tried.path());
    let whole = [made[0].clone(), server.copy_of(&made[1])];
    let expected = Expected::by_going_on(&open_on(&whole, tried.path()).await).await;
    let mut tally = Tally::default();
    for place in rounds.random_numbers().into_iter().take(rounds.count.div_ceil(ONE_IN)) {
        let urls = [made[0].clone(), server.copy_of(&made[1])];
        copy(sound.path(), tried.path());
        let mut folders = folders_of(&server, &urls[1..]);
        folders.push(Files::of(tried.path(), &["objects"]));
        let (of, file, place) = place_in(&folders, place % folders.iter().map(Files::bits).sum::<u64>());
        flip(&folders[of].folder.join(&file), place);
        let effect = async {
            match try_open_on(&urls, tried.path()).await {
                Ok(stores) => expected.effect(&stores).await,
                Err(_) => Effect::Refused,
            }
        };
        // Damage may be refused, and must not make an operation wait for good.
        let effect = runtime::timeout(LONGEST_EFFECT, effect).await;
        let effect = effect.unwrap_or_else(|_| panic!("bit {place} of {} ends no operation", file.display()));
        if let Effect::Changed(question) = &effect {
            println!("bit {place} of {} changed {question}", file.display());
        }
        tally.note(&kind_in(of + 1, &file), &effect, true);
        server.drop_database(&urls[1]);
    }
    tally.judge_changes();
}

/// Both databases, and the objects of the one with samples.
struct Stores {
    users: UsersDb,
    health: HealthDb,
}

impl Stores {
    async fn are_found_damaged(&self) -> bool {
        is_found_of_users(&self.users).await || is_found_of_health(&self.health).await
    }

    async fn close(&self) {
        let _ = self.users.close().await;
        let _ = self.health.close().await;
    }
}

/// Returns the files of our tables in databases of a server.
fn folders_of(server: &testkit::OwnServer, urls: &[String]) -> Vec<Files> {
    let files = urls.iter().map(|url| {
        let mut files = Files::of(&server.written_files(url), &[""]);
        files.files.retain(|(file, _)| is_of_a_table_of_ours(file));
        files
    });
    files.collect()
}

/// Returns which folder a place lies in, the file and the place there.
fn place_in(folders: &[Files], mut place: u64) -> (usize, PathBuf, u64) {
    for (of, files) in folders.iter().enumerate() {
        if place < files.bits() {
            let (file, place) = files.at(place);
            return (of, file, place);
        }
        place -= files.bits();
    }
    panic!("no folder has this bit");
}

/// The kind of a file of the users database, the health database, or among the objects.
fn kind_in(of: usize, file: &Path) -> String {
    ["users database", "health database"].get(of).map_or_else(|| kind_of(file), |kind| (*kind).to_owned())
}

/// What a sound store answers before and after more has come.
struct Expected {
    before: Answers,
    after: Answers,
}

impl Expected {
    async fn of(sound: &tempfile::TempDir, tried: &Path) -> Expected {
        copy(sound.path(), tried);
        let stores = open_in(tried).await.expect("databases");
        let expected = Expected::by_going_on(&stores).await;
        stores.close().await;
        expected
    }

    async fn by_going_on(stores: &Stores) -> Expected {
        let before = answers(stores).await;
        assert!(!stores.are_found_damaged().await, "everything is sound");
        assert_eq!(go_on(&stores.health).await, PATIENTS, "everything is sound");
        let after = answers(stores).await;
        assert!(before.values().chain(after.values()).all(Result::is_ok), "{before:?}");
        assert_ne!(shown(&before), shown(&after));
        Expected { before, after }
    }

    async fn effect(&self, stores: &Stores) -> Effect {
        let first = compared(&self.before, &answers(stores).await);
        if matches!(first, Effect::Changed(_)) {
            return first;
        }
        let stored = go_on(&stores.health).await;
        first.and(compared(&self.after_syncs_of(&stored), &answers(stores).await))
    }

    /// What is answered when these patients' syncs were stored; a sync that is refused stores nothing.
    fn after_syncs_of(&self, stored: &[&str]) -> Answers {
        let mut expected = Answers::new();
        for (answers, is_stored) in [(&self.before, false), (&self.after, true)] {
            let of_these = |question: &str| stored.iter().any(|patient| question.ends_with(patient)) == is_stored;
            let known = answers.iter().filter(|(question, _)| of_these(question));
            expected.extend(
                known.map(|(question, answer)| (question.clone(), Ok(answer.as_ref().expect("sound").clone()))),
            );
        }
        expected
    }
}

/// What a flipped bit did.
#[derive(Debug, PartialEq)]
enum Effect {
    Nothing,
    /// An error, or no database at all.
    Refused,
    /// What was asked.
    Changed(String),
}

impl Effect {
    fn and(self, later: Effect) -> Effect {
        match (self, later) {
            (Effect::Nothing, later) => later,
            (_, Effect::Changed(question)) => Effect::Changed(question),
            (earlier, _) => earlier,
        }
    }
}

/// Compares answers with those of a sound store.
fn compared(expected: &Answers, found: &Answers) -> Effect {
    let mut effect = Effect::Nothing;
    for (question, answer) in found {
        let is_as_before = match (answer, &expected[question]) {
            (Err(_), _) => {
                effect = Effect::Refused;
                continue;
            }
            (Ok(found), Ok(expected)) => found == expected,
            (Ok(_), Err(_)) => false,
        };
        if !is_as_before {
            return Effect::Changed(question.clone());
        }
    }
    effect
}

fn shown(answers: &Answers) -> Vec<&String> {
    answers.values().flatten().collect()
}

/// Counts by kind of file: nothing, refused, changed; and how many were found, and not.
#[derive(Default)]
struct Tally(BTreeMap<String, [usize; 5]>);

impl Tally {
    fn note(&mut self, kind: &str, effect: &Effect, is_found: bool) {
        let counts = self.0.entry(kind.to_owned()).or_default();
        match effect {
            Effect::Nothing => counts[0] += 1,
            Effect::Refused => counts[1] += 1,
            Effect::Changed(_) => counts[2] += 1,
        }
        counts[3] += usize::from(is_found);
        counts[4] += usize::from(!is_found);
    }

    fn judge(&self) {
        assert!(self.0.values().any(|counts| counts[1] > 0), "no flip was found at all");
        let missed: usize = self.0.values().map(|counts| counts[4]).sum();
        self.judge_changes();
        assert_eq!(missed, 0, "{missed} flips are not found");
    }

    fn judge_changes(&self) {
        for (kind, [nothing, refused, changed, found, missed]) in &self.0 {
            println!(
                "{kind}: {nothing} without effect, {refused} refused, {changed} changed answers; {found} found, {missed} missed"
            );
        }
        let changed: usize = self.0.values().map(|counts| counts[2]).sum();
        assert_eq!(changed, 0, "{changed} flips changed answers");
    }
}

/// Asks a store everything.
async fn answers(stores: &Stores) -> Answers {
    let mut answers = Answers::new();
    ask_users(&stores.users, &mut answers).await;
    let health = &stores.health;
    for name in PATIENTS {
        let patient = PatientId::new(name);
        for data_type in DataType::ALL {
            let rows = health.rows(&patient, data_type, 0, FAR_US).await.map(|blocks| digests(&blocks));
            note(&mut answers, format!("rows of {} of {name}", data_type.name()), rows);
        }
        note(&mut answers, format!("AF of {name}"), health.af_hours(&patient, 0, FAR_US).await);
        note(&mut answers, format!("NEWS of {name}"), health.news_between(&patient, 0, FAR_US).await);
        note(&mut answers, format!("newest NEWS of {name}"), health.newest_news(&patient).await);
        for output in [Output::Slots, Output::Section, Output::DayInputs, Output::Extra] {
            let derived = health.derived(&patient, output, (0, FAR_US)).await;
            note(&mut answers, format!("{output:?} of {name}"), derived);
        }
        note(&mut answers, format!("settings of {name}"), health.patient_settings(&patient).await);
        let profile = health.patient(&patient).await.map(|found| found.map(|found| found.profile));
        note(&mut answers, format!("profile of {name}"), profile);
        note(&mut answers, format!("latest values of {name}"), health.stored_latest(&patient).await);
    }
    answers
}

async fn ask_users(users: &UsersDb, answers: &mut Answers) {
    for name in PERSONS {
        let uuid = AccountId::new(format!("uuid-{name}"));
        note(answers, format!("account of {name}"), users.account(&uuid).await);
        note(answers, format!("groups of {name}"), users.groups_of(&uuid, None).await);
    }
    note(answers, "members".to_owned(), users.members(&GroupCode::new(STUDY)).await);
    for number in 0..20 {
        let uuid = PatientId::new(format!("uuid-patient-{number}"));
        note(answers, format!("person {number}"), users.patient(&uuid).await);
    }
}

/// Channel, rows and digest of blocks: written out, they would take most of a round.
fn digests(blocks: &[Block]) -> Vec<(Channel, usize, u32)> {
    let digest = |block: &Block| checksum::of_bytes(&payload::encode(block).expect("a payload"));
    blocks.iter().map(|block| (block.channel, block.rows(), digest(block))).collect()
}

fn note<T: Debug>(answers: &mut Answers, question: String, answer: Result<T>) {
    answers.insert(question, answer.map(|answer| format!("{answer:?}")));
}

/// Stores rows over what is there, merges and seals. Answers whose rows were stored; what cannot be merged or sealed stays as
/// it is.
async fn go_on(health: &HealthDb) -> Vec<&'static str> {
    let mut stored = Vec::new();
    for name in PATIENTS {
        if let Ok(SyncOutcome::Stored(_)) = health.store_sync(later_sync(name)).await {
            stored.push(name);
        }
    }
    if let Ok(hours) = health.closed_hours(LATER, 1_000).await {
        for (patient, data_type, hour_us) in hours {
            let _ = health.merge_hour(&patient, data_type, hour_us).await;
        }
    }
    for period in periods() {
        let _ = health.seal_period(&period, MADE, 3).await;
    }
    stored
}

async fn open_in(folder: &Path) -> Result<Stores> {
    let objects = Objects::folder(&folder.join("objects"))?;
    let health = HealthDb::open(Address::File(folder.join("health.sqlite")), objects).await?;
    Ok(Stores { users: UsersDb::open(Address::File(folder.join("users.sqlite"))).await?, health })
}

async fn open_on(urls: &[String; 2], folder: &Path) -> Stores {
    try_open_on(urls, folder).await.expect("databases")
}

async fn try_open_on([users, health]: &[String; 2], folder: &Path) -> Result<Stores> {
    let objects = Objects::folder(&folder.join("objects"))?;
    let health = HealthDb::open(Address::Postgres(health.clone()), objects).await?;
    Ok(Stores { users: UsersDb::open(Address::Postgres(users.clone())).await?, health })
}

/// The files of a folder, one behind the other.
struct Files {
    folder: PathBuf,
    files: Vec<(PathBuf, u64)>,
}

impl Files {
    fn of(folder: &Path, names: &[&str]) -> Files {
        let mut files = Vec::new();
        for name in names {
            add_files(folder, &folder.join(name), &mut files);
        }
        files.sort();
        Files { folder: folder.to_owned(), files }
    }

    fn bits(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes * 8).sum()
    }

    /// The file that a bit lies in, and its place there.
    fn at(&self, mut bit: u64) -> (PathBuf, u64) {
        for (file, bytes) in &self.files {
            if bit < bytes * 8 {
                return (file.clone(), bit);
            }
            bit -= bytes * 8;
        }
        panic!("no file has this bit");
    }
}

fn add_files(root: &Path, path: &Path, files: &mut Vec<(PathBuf, u64)>) {
    if path.is_file() {
        let bytes = path.metadata().expect("a file").len();
        files.push((path.strip_prefix(root).expect("below").to_owned(), bytes));
        return;
    }
    for entry in path.read_dir().expect("a folder").flatten() {
        add_files(root, &entry.path(), files);
    }
}

/// The server's own tables, which are most of a small database, have lower numbers.
fn is_of_a_table_of_ours(file: &Path) -> bool {
    const FIRST_NUMBER: u32 = 16_384;
    let name = file.to_string_lossy();
    let number = name.split(['_', '.']).next().and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| number >= FIRST_NUMBER)
}

/// Maps of free space and of visible rows: hints, which the server makes again.
fn is_a_map(file: &Path) -> bool {
    let name = file.to_string_lossy();
    ["_fsm", "_vm"].iter().any(|fork| name.contains(fork))
}

/// The type of a sealed file by its path, else the name of the file.
fn kind_of(file: &Path) -> String {
    let mut parts = file.iter().map(OsStr::to_string_lossy);
    let of_type = parts.find_map(|part| part.strip_prefix("type=").map(|name| format!("sealed {name}")));
    of_type.unwrap_or_else(|| file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::remove_dir_all(to).expect("removed");
    for (file, _) in Files::of(from, &[""]).files {
        let target = to.join(&file);
        std::fs::create_dir_all(target.parent().expect("a folder")).expect("made");
        std::fs::copy(from.join(&file), target).expect("copied");
    }
}

fn flip(path: &Path, bit: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("a file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).expect("a byte");
    byte[0] ^= 1 << (bit % 8);
    file.write_all_at(&byte, bit / 8).expect("written");
}
