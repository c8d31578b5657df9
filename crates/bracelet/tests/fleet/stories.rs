//! A fleet with stories sends late what its truth says, and writes the truth before.

use std::time::Duration;

use bracelet::fleet::Live;
use bracelet::{HOUR_MS, MINUTE_MS, Presence, StoryPlan};
use serde_json::Value;

use crate::stub::{NOW_MS, Stub, fleet, spans, start, unstopped};

fn plan(request: &str, days: u32, presence: Presence) -> StoryPlan {
    StoryPlan::new(request.parse().unwrap(), NOW_MS, days, presence)
}

fn lines(text: &str, record: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["record"] == record).collect()
}

/// A path in the temporary folder that no other test has.
fn truth_path(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("pulseward-truth-{name}-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[tokio::test]
async fn withheld_rows_of_the_past_arrive_behind_all_others_and_out_of_order() {
    let path = truth_path("past");
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 2, |config| {
        config.days = 6;
        config.stories = Some(plan("late-sync:2", 6, Presence::History));
        config.truth = Some(path.clone());
    });
    fleet.run(None, unstopped()).await.unwrap();
    let truth = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let stub = memory.lock().unwrap();
    let stories = lines(&truth, "story");
    assert_eq!(stories.len(), 2);
    for story in stories {
        let withheld = &story["withheld"][0];
        let (from_ms, to_ms) = (withheld["start_ms"].as_i64().unwrap(), withheld["end_ms"].as_i64().unwrap());
        let code = format!("V{}", &story["uuid"].as_str().unwrap()[1..]);
        let arrived = spans(&stub, &code);
        let is_late = |span: &(i64, i64)| span.0 >= from_ms && span.1 <= to_ms;
        let late: Vec<_> = arrived.iter().copied().filter(is_late).collect();
        assert_eq!(late.iter().map(|span| span.1 - span.0).sum::<i64>(), to_ms - from_ms, "{story}");
        assert!(!late.is_sorted(), "out of order: {late:?}");
        let first_late = arrived.iter().position(is_late).unwrap();
        assert!(arrived[..first_late].iter().any(|span| span.0 >= to_ms), "newer rows came before");
        let mut all = arrived;
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "nothing is lost");
    }
    assert!(lines(&truth, "delivery").iter().all(|line| line["sent_ms"] == NOW_MS));
}

#[tokio::test]
async fn withheld_rows_of_the_present_arrive_when_the_truth_says() {
    let path = truth_path("present");
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 4, |config| {
        // From the midnight of the running day on, all of it live: the clock of samples is half a day ahead of the stub.
        config.stories = Some(StoryPlan { to_ms: NOW_MS, ..plan("late-sync:4", 2, Presence::Live) });
        config.truth = Some(path.clone());
    });
    let step_ms = 30 * MINUTE_MS;
    let live = Live { tick: Duration::from_millis(3), step_ms, lag_ms: 24 * HOUR_MS, ticks: Some(48) };
    fleet.run(Some(live), unstopped()).await.unwrap();
    let truth = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let stub = memory.lock().unwrap();
    let mut compared = 0;
    for story in lines(&truth, "story") {
        let withheld = &story["withheld"][0];
        let span = |name: &str| withheld[name].as_i64().unwrap();
        let code = format!("V{}", &story["uuid"].as_str().unwrap()[1..]);
        let arrived = spans(&stub, &code);
        let mut newest_ms = 0;
        for (from_ms, to_ms) in arrived {
            let is_late = from_ms >= span("start_ms") && to_ms <= span("end_ms");
            if is_late && span("start_ms") >= NOW_MS - 24 * HOUR_MS && span("due_ms") < NOW_MS {
                assert!(newest_ms + step_ms >= span("due_ms"), "{story}: {from_ms} came at {newest_ms}");
                compared += 1;
            }
            newest_ms = newest_ms.max(to_ms);
        }
    }
    assert!(compared > 0, "{truth}");
}

#[tokio::test]
async fn an_existing_truth_is_kept_and_nobody_is_enrolled() {
    let path = truth_path("kept");
    std::fs::write(&path, "another run").unwrap();
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 1, |config| {
        config.stories = Some(plan("healthy", 2, Presence::History));
        config.truth = Some(path.clone());
    });
    let error = fleet.run(None, unstopped()).await.unwrap_err().to_string();
    assert!(error.contains("cannot write the truth"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "another run");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(memory.lock().unwrap().requests, 0);
}
