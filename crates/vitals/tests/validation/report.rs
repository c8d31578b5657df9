//! Every figure that the physiology reaches on recordings with outside truth, as a table in Markdown.
//!
//! `cargo run -p vitals --example validation` prints it, docs/validation.md holds it, and a test checks that they agree.

use serde_json::Value;
use vitals::activity::{find_steps, magnitude};
use vitals::af::{AfWindow, Classification, classify};
use vitals::beats::Beat;
use vitals::hrv::{Cleaned, clean, frequency_domain, lomb_bands, time_domain};
use vitals::news2::{
    Consciousness, Measurement, Measurements, Settings, Spo2Bands, Spo2Scale, evaluate, score_consciousness,
    score_oxygen, score_pulse, score_respiration, score_spo2, score_systolic, score_temperature,
};
use vitals::signal::median;
use vitals::signal::spectrum::Welch;
use vitals::sleep::{Stage, StageEpoch, cole_kripke, sadeh, sessions};
use vitals::stress_index::stress_index;
use vitals::waveform::{find_pulses, find_r_peaks, pulse_rate, respiration_rate};

use super::recordings::{json, numbers, rows};

const HEAD: &str = "# Validation

What the computations of `vitals` reach on recorded data with outside truth, against the tolerances that were set for
them. Printed by

```sh
cargo run -p vitals --example validation > docs/validation.md
```

which looks for the recordings at `PULSEWARD_REAL_DATA`, else in `../shared/data/real` next to the repository; they are no
part of it. A test fails when this page and the command disagree. Formulas marked **ours** in `docs/physiology.md` have
no outside truth: they are tested by properties (order, scale, nulls, limits), not here. **Nothing here is a diagnosis**,
and agreement with these recordings promises nothing about others.

| What | Recordings | Asked for | Reached |
|---|---|---|---|
";

/// Records of intervals with oracle values.
const OPEN: [&str; 9] = ["101_6", "101_8", "101_9", "21_7", "21_8", "21_9", "84_1", "84_2", "84_3"];

/// Returns the page; None where the recordings are not there.
pub fn page() -> Option<String> {
    let mut page = HEAD.to_owned();
    for rows in [variability()?, toolbox()?, news()?, fibrillation()?, sleep()?, steps()?, waveforms()?] {
        for [what, recordings, asked, reached] in rows {
            page.extend(["| ", what.as_str(), " | ", &recordings, " | ", &asked, " | ", &reached, " |\n"]);
        }
    }
    Some(page)
}

type Rows = Vec<[String; 4]>;

fn row(what: &str, recordings: &str, asked: &str, reached: String) -> [String; 4] {
    [what.to_owned(), recordings.to_owned(), asked.to_owned(), reached]
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The greatest relative difference so far. What is below a millionth differs between machines and says no more.
#[derive(Default)]
struct Worst(f64);

impl Worst {
    fn note(&mut self, ours: f64, truth: f64) {
        self.0 = self.0.max((ours - truth).abs() / truth.abs().max(1e-12));
    }

    fn text(&self) -> String {
        if self.0 < 1e-6 { "below 1e-6".to_owned() } else { format!("{:.2} %", 100.0 * self.0) }
    }
}

fn variability() -> Option<Rows> {
    let (mut time_worst, mut stress_worst, mut welch_worst, mut systole) =
        (Worst::default(), Worst::default(), Worst::default(), Worst::default());
    let (mut windows, mut long) = (0, 0);
    let mut welch = Welch::default();
    let names = OPEN.iter().map(|name| format!("cpsc2021_{name}"));
    for name in names.chain(["nsr001".to_owned(), "pyhrv_sample_long".to_owned()]) {
        let record = json(&format!("rr/{name}_hrv_oracle.json"))?;
        for window in record["windows"].as_array()? {
            windows += 1;
            let nn_ms: Vec<f64> = window["nn_ms"].as_array()?.iter().map(number).collect();
            let intervals = Cleaned::assume_normal(&nn_ms);
            let (time, truth) = (time_domain(&intervals)?, &window["oracle"]["ref_time"]);
            time_worst.note(time.mean_rr_ms, number(&truth["mean"]));
            time_worst.note(time.sdnn_ms, number(&truth["sdnn"]));
            time_worst.note(time.rmssd_ms, number(&truth["rmssd"]));
            time_worst.note(time.pnn50_percent, number(&truth["pnn50"]));
            let stress = stress_index(&nn_ms)?;
            for (ours, key) in [
                (stress.mode_s, "mo_s"),
                (stress.mode_share_percent, "amo_pct"),
                (stress.range_s, "mxdmn_s"),
                (stress.si, "si"),
            ] {
                stress_worst.note(ours, number(&truth[key]));
            }
            let (bands, truth) = (frequency_domain(&mut welch, &intervals)?, &window["oracle"]["ref_welch"]);
            for (ours, key) in [(bands.vlf_ms2, "vlf"), (bands.lf_ms2, "lf"), (bands.hf_ms2, "hf")] {
                welch_worst.note(ours, number(&truth[key]));
            }
            if nn_ms.iter().sum::<f64>() > 290_000.0 {
                long += 1;
                let truth = &window["oracle"]["systole_welch"];
                systole.note(bands.lf_ms2, number(&truth["lf_power"]));
                systole.note(bands.hf_ms2, number(&truth["hf_power"]));
            }
        }
    }
    let of_windows = format!("{windows} windows of 11 records");
    Some(vec![
        row("HRV: mean, SDNN, RMSSD, pNN50", &of_windows, "1e-6 each", format!("worst {}", time_worst.text())),
        row("stress index and its parts", &of_windows, "1e-6 each", format!("worst {}", stress_worst.text())),
        row("VLF, LF, HF by the same recipe", &of_windows, "1e-6 each", format!("worst {}", welch_worst.text())),
        row(
            "LF, HF by another package",
            &format!("{long} windows of five minutes"),
            "0.5 % each",
            format!("worst {}", systole.text()),
        ),
    ])
}

/// Intervals of nsr001 between two normal beats as the toolbox took them: (end in s after the first beat, ms).
fn normal_intervals() -> Option<Vec<(f64, f64)>> {
    const RATE_HZ: f64 = 125.0;
    let rows = rows("rr/nsr001_beats.csv.gz")?;
    let beats: Vec<&Vec<String>> = rows.iter().filter(|row| row[1] != "~").collect();
    let sample = |row: &[String]| row[0].parse::<f64>().unwrap_or(f64::NAN);
    let first = sample(beats.first()?);
    let normal = beats.windows(2).filter(|pair| pair[0][1] == "N" && pair[1][1] == "N");
    let interval = |pair: &[&Vec<String>]| {
        ((sample(pair[1]) - first) / RATE_HZ, (sample(pair[1]) - sample(pair[0])) * 1000.0 / RATE_HZ)
    };
    Some(normal.map(interval).collect())
}

fn toolbox() -> Option<Rows> {
    let intervals = normal_intervals()?;
    let mut ratios: [Vec<f64>; 4] = Default::default();
    for row in rows("rr/nsr001_clifford_toolbox_reference.csv")? {
        let cell = |column: usize| row[column].parse::<f64>().unwrap_or(f64::NAN);
        let (start_s, end_s) = (cell(1), cell(2));
        let inside = intervals.iter().filter(|(time, _)| (start_s..end_s).contains(time));
        let beats: Vec<Beat> =
            inside.map(|&(time, rr_ms)| Beat { time_ms: (time * 1000.0) as i64, rr_ms, good: true }).collect();
        let cleaned = clean(&beats);
        let (Some(time), Some(lomb)) = (time_domain(&cleaned), lomb_bands(&cleaned)) else { continue };
        let pairs = [
            (time.mean_rr_ms, cell(3)),
            (time.sdnn_ms, cell(10)),
            (time.rmssd_ms, cell(11)),
            (lomb.lf_hf().unwrap_or(f64::NAN), cell(20)),
        ];
        for (list, (ours, theirs)) in ratios.iter_mut().zip(pairs) {
            list.extend(Some(ours / theirs).filter(|ratio| ratio.is_finite()));
        }
    }
    let windows = format!("{} windows of nsr001", ratios[0].len());
    let mut line = |at: usize, name: &str, asked: &str| {
        let off = 100.0 * (median(&mut ratios[at]).unwrap_or(f64::NAN) - 1.0);
        row(&format!("{name} by a published toolbox"), &windows, asked, format!("median {:.3} % off", off.abs()))
    };
    Some(vec![
        line(0, "mean interval", "median 0.1 %"),
        line(1, "SDNN", "median 0.1 %"),
        line(2, "RMSSD", "median 0.1 %"),
        line(3, "LF/HF (Lomb–Scargle)", "median 5 %"),
    ])
}

fn news() -> Option<Rows> {
    let cells = rows("news2/subscores.csv")?;
    let is_equal = |row: &&Vec<String>| {
        let text = row[1].as_str();
        let number = text.parse().unwrap_or(f64::NAN);
        let score = match row[0].as_str() {
            "respiration_rate" => score_respiration(number),
            "spo2_scale1" => score_spo2(number, Spo2Bands::ScaleOne),
            "spo2_scale2_air" => score_spo2(number, Spo2Bands::ScaleTwoOnAir),
            "spo2_scale2_oxygen" => score_spo2(number, Spo2Bands::ScaleTwoOnOxygen),
            "oxygen" => Some(score_oxygen(text == "oxygen")),
            "systolic" => score_systolic(number),
            "heart_rate" => score_pulse(number),
            "consciousness" => Consciousness::from_letter(text).map(score_consciousness),
            _ => score_temperature(number),
        };
        score.is_some() && score == row[2].parse().ok()
    };
    let equal = cells.iter().filter(is_equal).count();
    let vectors = rows("news2/total_vectors.csv")?;
    let totals = vectors.iter().filter(|row| total_is_equal(row)).count();
    Some(vec![
        row("NEWS2 sub-scores", "the table of 2017", "all equal", format!("{equal} of {}", cells.len())),
        row("NEWS2 totals and risks", "generated vectors", "all equal", format!("{totals} of {}", vectors.len())),
    ])
}

fn total_is_equal(row: &[String]) -> bool {
    let at = |column: usize| {
        let value = row[column].parse().ok()?;
        Some(Measurement { value, time_ms: 0, good: true })
    };
    let measurements = Measurements {
        respiration_rate: at(0),
        spo2: at(1),
        blood_pressure: at(4),
        heart_rate: at(5),
        temperature: at(7),
    };
    let settings = Settings {
        spo2_scale: row[2].parse().ok().and_then(Spo2Scale::from_number).unwrap_or_default(),
        oxygen: row[3] == "1",
        consciousness: Consciousness::from_letter(&row[6]).unwrap_or_default(),
    };
    let found = evaluate(0, &measurements, &settings);
    found.total.is_some()
        && found.total == row[15].parse().ok()
        && found.single_three() == (row[16] == "1")
        && found.risk().is_some_and(|risk| risk.name() == row[17])
}

/// Intervals of a record, and whether each lies between beats that are annotated as fibrillation.
fn annotated(name: &str, rate_hz: f64) -> Option<Vec<(Beat, bool)>> {
    let rows = rows(name)?;
    let beats: Vec<_> = rows.iter().filter(|row| row.get(1).is_none_or(|symbol| symbol != "~")).collect();
    let ms = |row: &[String]| row[0].parse::<f64>().unwrap_or(f64::NAN) * 1000.0 / rate_hz;
    let af = |row: &[String]| row.get(2).is_some_and(|rhythm| rhythm == "AFIB" || rhythm == "AFL");
    let interval = |pair: &[&Vec<String>]| {
        let time_ms = ms(pair[1]);
        let beat = Beat { time_ms: time_ms.round() as i64, rr_ms: time_ms - ms(pair[0]), good: true };
        (beat, af(pair[0]) && af(pair[1]))
    };
    Some(beats.windows(2).map(interval).collect())
}

fn windows_of(intervals: &[(Beat, bool)]) -> Vec<(AfWindow, bool)> {
    let beats: Vec<Beat> = intervals.iter().map(|(beat, _)| *beat).collect();
    let windows = classify(&beats);
    let wholly = intervals.chunks_exact(vitals::af::WINDOW_BEATS).map(|chunk| chunk.iter().all(|(_, af)| *af));
    windows.into_iter().zip(wholly).collect()
}

fn fibrillation() -> Option<Rows> {
    let is_af = |window: &AfWindow| window.classification == Classification::Af;
    let (mut wholly, mut found, mut other, mut alarms) = (0, 0, 0, 0);
    for name in OPEN {
        let windows = windows_of(&annotated(&format!("rr/cpsc2021_{name}_beats.csv"), 200.0)?);
        if name.starts_with("21_") {
            other += windows.len();
            alarms += windows.iter().filter(|(window, _)| is_af(window)).count();
        } else {
            wholly += windows.iter().filter(|(_, wholly)| *wholly).count();
            found += windows.iter().filter(|(window, wholly)| *wholly && is_af(window)).count();
        }
    }
    let healthy = windows_of(&annotated("rr/nsr001_beats.csv.gz", 128.0)?);
    let false_ones = healthy.iter().filter(|(window, _)| is_af(window)).count();
    Some(vec![
        row(
            "AF: windows wholly in fibrillation",
            "patients 84 and 101",
            "all but one found",
            format!("{found} of {wholly}"),
        ),
        row("AF: windows of a patient without", "patient 21", "none", format!("{alarms} of {other}")),
        row("AF: windows of a healthy day", "nsr001", "at most 3", format!("{false_ones} of {}", healthy.len())),
    ])
}

fn sleep() -> Option<Rows> {
    let stage = |row: &Vec<String>| match row[1].as_str() {
        "0" => Stage::Awake,
        "3" => Stage::Deep,
        "4" => Stage::Rem,
        _ => Stage::Light,
    };
    let night: Vec<StageEpoch> = rows("sleep/psg_yasa_full6h_30s.csv")?
        .iter()
        .enumerate()
        .map(|(epoch, row)| StageEpoch { time_ms: epoch as i64 * 30_000, stage: stage(row) })
        .collect();
    let oracle = json("sleep/psg_yasa_full6h_oracle.json")?;
    let found = *sessions(&night).first()?;
    let sums = found.stages?;
    let truth = |keys: &[&str]| keys.iter().map(|key| number(&oracle["yasa_0.8.1"][*key]) * 60.0).sum::<f64>() as i64;
    let pairs = [
        (found.sleep_duration_s, truth(&["TST"])),
        (found.time_to_sleep_s(), truth(&["SOL"])),
        (found.wake_after_onset_s, truth(&["WASO"])),
        (sums.light_s, truth(&["N1", "N2"])),
        (sums.deep_s, truth(&["N3"])),
        (sums.rem_s, truth(&["REM"])),
        (i64::from(found.awakenings), oracle["awakenings"].as_i64()?),
    ];
    let equal = pairs.iter().filter(|(ours, truth)| ours == truth).count();
    let mut table = vec![row(
        "sums of a staged night",
        "one night of six hours",
        "exact",
        format!("{equal} of {} equal", pairs.len()),
    )];
    let scored = rows("sleep/synthetic_counts_oracle.csv")?;
    let counts = numbers(&scored, 1);
    for (name, ours, column) in [("Cole–Kripke", cole_kripke(&counts), 2), ("Sadeh", sadeh(&counts), 4)] {
        let theirs = numbers(&scored, column);
        let known: Vec<bool> =
            ours.iter().zip(&theirs).filter_map(|(ours, truth)| ours.map(|ours| ours == (*truth > 0.5))).collect();
        let equal = known.iter().filter(|equal| **equal).count();
        table.push(row(name, "synthetic counts", "99.9 % of epochs", format!("{equal} of {}", known.len())));
    }
    Some(table)
}

fn steps() -> Option<Rows> {
    let truth = json("acc/steps_truth.json")?;
    let mut table = Vec::new();
    let mut errors = Vec::new();
    for (name, file, key) in [
        ("oxstep_user1_hand", "user1_hand_100hz", "true_steps"),
        ("oxstep_user1_armband", "user1_armband_100hz", "true_steps"),
        ("oxstep_pixel_swingingarm_1", "pixel_swingingarm_1", "true_steps_derived_from_foot_switches"),
    ] {
        let rows = rows(&format!("acc/oxstep_{file}.csv.gz"))?;
        let axis = |column| numbers(&rows, column);
        let lengths_g: Vec<f64> =
            magnitude(&axis(1), &axis(2), &axis(3)).iter().map(|metres| metres / 9.806_65).collect();
        let times_ms = axis(0);
        let rate_hz = (times_ms.len() - 1) as f64 * 1000.0 / (times_ms.last()? - times_ms.first()?);
        let found = find_steps(&lengths_g, rate_hz)?.times_s.len() as f64;
        let counted = number(&truth[name][key]);
        let error = 100.0 * (found / counted - 1.0);
        errors.push(error.abs());
        table.push(row("steps", name, "8 %", format!("{found} of {counted}, {error:+.1} %")));
    }
    let middle = median(&mut errors)?;
    table.push(row("steps", "the three walks", "median 5 %", format!("median {middle:.1} %")));
    Some(table)
}

fn waveforms() -> Option<Rows> {
    let mut table = Vec::new();
    let mut records: Vec<(String, String, String, f64)> = OPEN
        .iter()
        .map(|name| {
            let signal = format!("ecg/cpsc2021_{name}_ecg_200hz_uV.csv.gz");
            ((*name).to_owned(), signal, format!("rr/cpsc2021_{name}_beats.csv"), 200.0)
        })
        .collect();
    let mitdb = "ecg/mitdb_100_first10min";
    records.push(("100".to_owned(), format!("{mitdb}_ecg_360hz_uV.csv.gz"), format!("{mitdb}_beats.csv"), 360.0));
    let (mut matched, mut beats, mut peaks, mut worst) = (0, 0, 0, 1.0_f64);
    for (_, signal, truth, rate_hz) in records {
        let truth: Vec<usize> = numbers(&rows(&truth)?, 0).iter().map(|sample| *sample as usize).collect();
        let found = find_r_peaks(&numbers(&rows(&signal)?, 0), rate_hz)?;
        let hits = matches(&found, &truth, rate_hz);
        worst = worst.min(hits as f64 / truth.len() as f64).min(hits as f64 / found.len() as f64);
        (matched, beats, peaks) = (matched + hits, beats + truth.len(), peaks + found.len());
    }
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of as f64;
    table.push(row(
        "R peaks: sensitivity",
        "10 ECGs",
        "99 %",
        format!("{:.2} %: {matched} of {beats}", percent(matched, beats)),
    ));
    table.push(row(
        "R peaks: precision",
        "10 ECGs",
        "99 %",
        format!("{:.2} %: {matched} of {peaks}", percent(matched, peaks)),
    ));
    table.push(row("R peaks: the worst record", "10 ECGs", "95 %", format!("{:.2} %", 100.0 * worst)));

    let ppg = numbers(&rows("ppg/bidmc01_open_125hz.csv.gz")?, 2);
    let truth = json("ppg/bidmc01_open_truth_oracle.json")?;
    let (mut heart, mut breath) = (Vec::new(), Vec::new());
    let windows = truth["windows"].as_array()?;
    for window in windows {
        let sample = |key: &str| (number(&window[key]) * 125.0) as usize;
        let pulses = find_pulses(&ppg[sample("start_s")..sample("end_s")], 125.0)?;
        heart.extend(pulse_rate(&pulses).map(|rate| (rate - number(&window["hr_ecg"])).abs()));
        let fused = respiration_rate(&pulses).and_then(|found| found.fused);
        breath.extend(fused.map(|rate| (rate - number(&window["rr_ref_spectral"])).abs()));
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    for (name, asked, errors) in [("pulse rate by PPG", "3 /min", heart), ("respiration by PPG", "3.5 /min", breath)] {
        let kept = format!("{} of {} windows of one recording", errors.len(), windows.len());
        table.push(row(name, &kept, &format!("mean error {asked}"), format!("{:.1} /min", mean(&errors))));
    }
    Some(table)
}

/// Beats that a peak lies within 150 ms of.
fn matches(found: &[usize], truth: &[usize], rate_hz: f64) -> usize {
    let near = (0.15 * rate_hz) as usize;
    let (mut matched, mut next) = (0, 0);
    for beat in truth {
        while next < found.len() && found[next] + near < *beat {
            next += 1;
        }
        if next < found.len() && found[next] <= beat + near {
            matched += 1;
            next += 1;
        }
    }
    matched
}
