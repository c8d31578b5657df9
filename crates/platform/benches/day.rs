//! What deriving a patient's day costs, in CPU time of the whole process: from stored rows to stored summary.
//!
//! `cargo bench -p platform --bench day`. Linux only: memory is read from `/proc`. With `-- parallel 1000`: how much
//! faster two threads derive full days of so many patients than one.
#![allow(clippy::print_stdout, reason = "a benchmark reports its results")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark may panic, and reads /proc")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use platform::{Environment, Platform, Settings};
use store::engine::Address;
use store::{HealthChange, HealthDb, Objects, PatientId, Profile, Sync, UsersDb};
use vitals::af::classify_by_hour;
use vitals::beats::{Beat, beats_of};
use vitals::block::{Block, Cells};
use vitals::hrv::five_minute_windows;
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

/// That of the service.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// 2025-11-19T00:00Z.
const MIDNIGHT_MS: i64 = 1_763_510_400_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 1440 * MINUTE_MS;
/// The five minutes that come late begin so far from each other, at first this long after midnight.
const LATE_EVERY_MS: i64 = 70 * MINUTE_MS;
const LATE_TIMES: i64 = 20;
const PATIENTS: usize = 7;

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "parallel");
    if arguments.next().is_some() {
        let patients = arguments.next().map_or(1_000, |patients| patients.parse().unwrap());
        let [one, two] = [1, 2].map(|threads| threads_of(threads).block_on(derive_many(patients)));
        println!(
            "{patients} full days: {one:.1} s with one thread, {two:.1} s with two: {:.2} times as fast",
            one / two
        );
        return;
    }
    threads_of(2).block_on(run());
}

fn threads_of(count: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(count).enable_all().build().unwrap()
}

/// Derives full days of many patients who are all due; returns how many seconds that takes.
async fn derive_many(patients: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let now_ms = Arc::new(AtomicI64::new(MIDNIGHT_MS + 2 * DAY_MS));
    let platform = open(folder.path(), &now_ms).await;
    let day = [activity(), beats(), stages(), temperature()];
    for patient in (0..patients).map(|number| format!("patient-{number}")) {
        put_patient(&platform, &patient).await;
        sync(&platform, &patient, day.to_vec()).await;
    }
    let begun = std::time::Instant::now();
    derive(&platform).await;
    assert_eq!(platform.data.patients_due().await.unwrap(), 0);
    begun.elapsed().as_secs_f64()
}

async fn run() {
    let folder = tempfile::tempdir().unwrap();
    let now_ms = Arc::new(AtomicI64::new(MIDNIGHT_MS + 2 * DAY_MS));
    let platform = open(folder.path(), &now_ms).await;
    let day = [activity(), beats(), stages(), temperature()];
    println!("rows of the day: {:?}", day.each_ref().map(Block::rows));

    let (mut whole, mut late, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for patient in (0..PATIENTS).map(|number| format!("patient-{number}")) {
        put_patient(&platform, &patient).await;
        let late_at = |time_ms: i64| {
            let (time, since_ms) = ((time_ms - MIDNIGHT_MS) / LATE_EVERY_MS, (time_ms - MIDNIGHT_MS) % LATE_EVERY_MS);
            (since_ms < 5 * MINUTE_MS && (1..=LATE_TIMES).contains(&time)).then_some(time)
        };
        sync(&platform, &patient, day.iter().map(|block| rows_where(block, |at| late_at(at).is_none())).collect())
            .await;
        let (resident, cpu_ms) = (reset_peak_mib(), cpu_ms());
        derive(&platform).await;
        whole.push(cpu_ms_since(cpu_ms));
        peaks.push(peak_mib() - resident);
        for time in 1..=LATE_TIMES {
            let rows = day.iter().map(|block| rows_where(block, |at| late_at(at) == Some(time)));
            sync(&platform, &patient, rows.collect()).await;
            let cpu_ms = self::cpu_ms();
            derive(&platform).await;
            late.push(cpu_ms_since(cpu_ms));
        }
    }
    report("full day, from stored rows to stored summary", &mut whole, "40 ms");
    report("late sync of five minutes", &mut late, "3 ms");
    println!("memory of a derivation, most: {:.1} MiB (goal 64 MiB)", peaks.iter().copied().fold(0.0, f64::max));

    let beats: Vec<Beat> = beats_of(&day[1], 0..day[1].rows());
    let mut af = Vec::new();
    let mut variability = Vec::new();
    for _ in 0..PATIENTS {
        let start_ms = cpu_ms();
        assert!(classify_by_hour(&beats).len() > 1500);
        af.push(cpu_ms_since(start_ms));
        let start_ms = cpu_ms();
        assert!(five_minute_windows(&beats).len() > 250);
        variability.push(cpu_ms_since(start_ms));
    }
    report("AF over 24 hours of beats", &mut af, "30 ms");
    report("HRV of the same", &mut variability, "no goal");
}

fn report(what: &str, ms: &mut [f64], goal: &str) {
    ms.sort_by(f64::total_cmp);
    println!(
        "{what}: median {:.2} ms of CPU, least {:.2}, most {:.2} (goal {goal})",
        ms[ms.len() / 2],
        ms[0],
        ms[ms.len() - 1]
    );
}

async fn open(folder: &std::path::Path, now_ms: &Arc<AtomicI64>) -> Platform {
    let objects = Objects::folder(&folder.join("objects")).unwrap();
    let users = UsersDb::open(Address::File(folder.join("users.sqlite"))).await.unwrap();
    let health = HealthDb::open(Address::File(folder.join("health.sqlite")), objects.clone()).await.unwrap();
    let clock = now_ms.clone();
    let clock = Arc::new(move || clock.load(Ordering::Relaxed));
    let random = Arc::new(|bytes: &mut [u8]| bytes.fill(7));
    Platform::new(Environment {
        users,
        health,
        objects,
        clock,
        random,
        master_key: [7; 32],
        settings: Settings::default(),
    })
}

async fn put_patient(platform: &Platform, patient: &str) {
    let profile = Profile {
        birthday: Some("1980-05-01".to_owned()),
        height: Some(170.0),
        weight: Some(65.0),
        time_zone: Some("Europe/Zurich".to_owned()),
        ..Profile::default()
    };
    let change = HealthChange::PutPatient {
        uuid: PatientId::new(patient),
        record_id: store::RecordId::new(patient),
        customer_code: None,
        profile,
        at_ms: MIDNIGHT_MS,
    };
    platform.core.health().apply(change).await.unwrap();
}

async fn sync(platform: &Platform, patient: &str, blocks: Vec<Block>) {
    let received_ms = platform.core.now_ms();
    let blocks = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    let sync = Sync { patient: PatientId::new(patient), received_ms, id: None, device: None, blocks };
    platform.core.health().store_sync(sync).await.unwrap();
}

async fn derive(platform: &Platform) {
    platform::jobs::drain(&platform.upkeep, &["derive"]).await.unwrap();
}

fn rows_where(block: &Block, is_wanted: impl Fn(i64) -> bool) -> Block {
    let mut rows: Vec<std::ops::Range<usize>> = Vec::new();
    for row in (0..block.rows()).filter(|row| is_wanted(block.times_us[*row] / 1000)) {
        match rows.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => rows.push(row..row + 1),
        }
    }
    if rows.is_empty() {
        return block.slice(0..0);
    }
    let parts: Vec<Block> = rows.into_iter().map(|rows| block.slice(rows)).collect();
    Block::concatenated(&parts.iter().collect::<Vec<_>>())
}

/// Numbers that look random and are the same in each run.
fn noise(state: &mut u64, below: i32) -> i32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % below as u64) as i32
}

fn block(data_type: DataType, times_ms: Vec<i64>, columns: &[(&str, Vec<i32>)]) -> Block {
    let mut block = Block::empty(data_type, Channel::default());
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), times_ms.len());
    block.times_us = times_ms.into_iter().map(|ms| ms * 1000).collect();
    for (name, cells) in columns {
        block.columns[data_type.column_index(name).unwrap()] = Cells::Values(cells.clone()).simplified();
    }
    block
}

/// Returns a calm day: vital signs wander slowly, as those of a patient do. Scores that changed every minute would
/// measure how fast entries are written.
fn activity() -> Block {
    let mut state = 1;
    let mut column = |base: i32, swing: f64, spread: i32| -> Vec<i32> {
        let value = |minute: i32| base + ((f64::from(minute) / 97.0).sin() * swing) as i32 + noise(&mut state, spread);
        (0..1440).map(value).collect()
    };
    let columns = [
        ("bpm", column(66, 10.0, 4)),
        ("bpm_q", column(3, 0.0, 2)),
        ("last_steps", column(20, 20.0, 40)),
        ("respiration_rate", column(155, 15.0, 8)),
        ("resp_q", column(3, 0.0, 2)),
        ("spo2", column(970, 5.0, 10)),
        ("spo2_q", column(3, 0.0, 2)),
        ("core_temp", column(3680, 20.0, 10)),
        ("nibp_systolic_combine", column(122, 6.0, 4)),
        ("nibp_diastolic_combine", column(75, 4.0, 4)),
        ("energy_exp", column(1900, 600.0, 300)),
        ("wearing", column(3, 0.0, 2)),
        ("battery", column(60, 30.0, 2)),
    ];
    block(DataType::Activity, (0..1440).map(|minute| MIDNIGHT_MS + minute * MINUTE_MS).collect(), &columns)
}

/// 100,000 intervals, one of a hundred of them off.
fn beats() -> Block {
    let mut state = 2;
    let (mut time_us, mut times_ms, mut intervals) = (MIDNIGHT_MS * 1000, Vec::new(), Vec::new());
    for beat in 0..100_000 {
        let slow = (f64::from(beat) / 9.0).sin() * 30_000.0;
        let off = if noise(&mut state, 100) == 0 { 300_000 } else { 0 };
        let interval_us = 864_000 + slow as i32 + noise(&mut state, 20_000) - 10_000 - off;
        time_us += i64::from(interval_us);
        times_ms.push(time_us / 1000);
        intervals.push(interval_us);
    }
    block(DataType::RrInterval, times_ms, &[("rr", intervals)])
}

fn stages() -> Block {
    let mut state = 3;
    let times_ms = (0..960).map(|epoch| MIDNIGHT_MS + epoch * 30_000).collect();
    let states = (0..960).map(|_| noise(&mut state, 4)).collect();
    block(DataType::Sleep, times_ms, &[("sleep_state", states)])
}

fn temperature() -> Block {
    let mut state = 4;
    let times_ms = (0..1440).map(|minute| MIDNIGHT_MS + minute * MINUTE_MS).collect();
    let mut column = || (0..1440).map(|_| 3200 + noise(&mut state, 200)).collect::<Vec<i32>>();
    block(DataType::Temperature, times_ms, &[("temp_sk1", column()), ("temp_sk2", column())])
}

/// CPU time of all threads so far, ms.
fn cpu_ms() -> f64 {
    let so_far = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    so_far.tv_sec as f64 * 1e3 + so_far.tv_nsec as f64 / 1e6
}

fn cpu_ms_since(start_ms: f64) -> f64 {
    cpu_ms() - start_ms
}

/// Forgets the highest resident size so far; answers the present one, MiB.
fn reset_peak_mib() -> f64 {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    status_mib("VmRSS:")
}

fn peak_mib() -> f64 {
    status_mib("VmHWM:")
}

fn status_mib(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
