//! Everything that can be asked about one patient and their group.

use axum::body::Bytes;
use axum::http::StatusCode;

use crate::common::Story;

/// A request without its credential.
#[derive(Debug)]
pub struct Question {
    path: String,
    accept: &'static str,
}

/// Days that the data touch in the zones of the patients, and a day before them.
const DAYS: [&str; 4] = ["2025-11-18", "2025-11-19", "2025-11-20", "2025-11-21"];
/// Windows of a day and of half an hour, by zone and by local clock.
const DAY_WINDOWS: [&str; 4] = [
    "from_date=2025-11-19T00:00:00Z&to_date=2025-11-20T00:00:00Z",
    "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T20:00:00Z",
    "from_client_date=2025-11-19T00:00:00&to_client_date=2025-11-19T23:59:59.999",
    "from_client_date=2025-11-20T00:00:00&to_client_date=2025-11-20T23:59:59.999",
];
const FORMS: [&str; 4] =
    ["application/json", "text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"];
const DAY_TYPES: [&str; 6] = ["activity", "temperature", "tests", "rr-interval", "sleep", "heart-rate-variability"];

/// Returns all questions about a patient whose waveform begins at a time.
pub fn of(group: &str, uuid: &str, waveform_us: i64, turn: usize) -> Vec<Question> {
    let mut paths = vec![
        format!("/integration/v1/groups/{group}/patients?with_latest_values=1"),
        format!("/integration/v1/patients/{uuid}/latest-news-score"),
        format!("/integration/v1/patients/{uuid}/news-settings"),
        format!(
            "/integration/v1/patients/{uuid}/raw-data-compliance?utc_date_from=2025-11-19T01:02:03.004Z\
             &utc_date_to=2025-11-20T12:34:56.789Z"
        ),
        "/health/user-summaries?date_from=2025-11-18&date_to=2025-11-21&include_slots=1".to_owned(),
        "/health/user-summaries?date_from=2025-11-18&date_to=2025-11-21&per_page=2&page=2".to_owned(),
    ];
    for day in DAYS {
        for slots in [0, 1] {
            paths.push(format!("/integration/v1/groups/{group}/summaries?date={day}&include_slots={slots}"));
            paths.push(format!("/integration/v1/patients/{uuid}/summary/{day}?include_slots={slots}"));
        }
        paths.push(format!("/integration/v1/patients/{uuid}/summary/{day}?types=activity,spo2"));
        paths.push(format!("/integration/v1/patients/{uuid}/compliance/{day}"));
        paths.push(format!("/integration/v1/patients/{uuid}/raw-data-compliance/{day}"));
        paths.push(format!("/integration/v1/patients/{uuid}/raw-data-compliance/{day}?utc=yes"));
    }
    let mut questions: Vec<Question> = paths.into_iter().map(|path| Question { path, accept: "*/*" }).collect();
    let windows = DAY_TYPES.iter().flat_map(|data_type| DAY_WINDOWS.map(|window| (*data_type, window.to_owned())));
    let windows = windows.chain(waveform_windows(waveform_us).map(|window| ("ppg2", window)));
    for (number, (data_type, window)) in windows.enumerate() {
        // Each window in one form now, and in the others in other turns.
        let accept = FORMS[(number + turn) % FORMS.len()];
        questions.push(Question { path: format!("/health/v2/raw-metrics/{data_type}?{window}"), accept });
    }
    questions
}

/// Half an hour around the waveform, and one that cuts through it.
fn waveform_windows(begin_us: i64) -> impl Iterator<Item = String> {
    let begin_ms = begin_us / 1000;
    let windows = [(begin_ms - 10 * 60_000, begin_ms + 20 * 60_000), (begin_ms + 1_234, begin_ms + 5_678)];
    windows.into_iter().map(|(from_ms, to_ms)| format!("from_date={}&to_date={}", iso(from_ms), iso(to_ms)))
}

fn iso(ms: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(ms).expect("a time"))
}

impl Question {
    /// Asks; what has to exist is answered.
    pub async fn ask(&self, story: &Story, key: &str, token: &str) -> (StatusCode, Bytes) {
        let credential = if self.path.starts_with("/health") { token } else { key };
        let answer = story.bytes_of(&self.path, credential, self.accept).await;
        let may_be_absent = self.path.ends_with("/latest-news-score") && answer.0 == StatusCode::NOT_FOUND;
        assert!(answer.0 == StatusCode::OK || may_be_absent, "{self:?}: {answer:?}");
        answer
    }
}

/// Returns where two answers part, to find out why.
pub fn first_difference(one: &(StatusCode, Bytes), other: &(StatusCode, Bytes)) -> String {
    let at = one.1.iter().zip(&other.1).position(|(one, other)| one != other);
    let at = at.unwrap_or(one.1.len().min(other.1.len()));
    let around = |bytes: &Bytes| {
        let part = &bytes[at.saturating_sub(300)..(at + 200).min(bytes.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    format!("{} {}\n{} {}", one.0, around(&one.1), other.0, around(&other.1))
}
