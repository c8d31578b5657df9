//! Pages on the demonstration that they recommend: every dated example finds something.

use reqwest::Method;
use serde_json::json;

use super::blocks::blocks_of;
use super::runner::{answers, can_run, run_guide};
use super::{readme, shown, yesterday};
use crate::demonstration::Demonstration;
use crate::harness::store_command;

/// What a browser and a patient do at the address of an application: log in, allow, and come back with a code.
const PATIENT_ALLOWS: &str = r#"$(python3 - "$AUTHORIZE" <<'END'
import http.cookiejar, re, sys, urllib.error, urllib.parse, urllib.request

class StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None

browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), StayHere)
address = sys.argv[1]
page = browser.open(address).read().decode()
login = {"action": "login", "name": "grace@example.org", "password": "a password of mine"}
for fields in login, {"action": "allow"}:
    fields["ticket"] = re.search('name="ticket" value="([^"]*)"', page)[1]
    try:
        page = browser.open(address.split("?")[0], urllib.parse.urlencode(fields).encode()).read().decode()
    except urllib.error.HTTPError as answer:
        back = urllib.parse.urlsplit(answer.headers["Location"])
asked = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)
answered = urllib.parse.parse_qs(back.query)
assert answered["state"] == asked["state"] and back.port == 7777, back
print(answered["code"][0])
END
)"#;

#[tokio::test(flavor = "multi_thread")]
async fn guides_have_results_on_todays_demonstration() {
    if !can_run() {
        return;
    }
    let demo = Demonstration::start();
    demo.derived(&yesterday()).await;
    readme::first_command(&demo);
    data_scientists(&demo);
    researchers(&demo);
    app_developers(&demo).await;
    logins(&demo);
    operations(&demo).await;
    lake(&demo).await;
}

/// What the guides ask of every reader.
fn common(demo: &Demonstration) -> [(&'static str, &str); 3] {
    [("PULSEWARD_URL", demo.url.as_str()), ("PULSEWARD_TOKEN", &demo.key), ("UUID", &demo.patient)]
}

fn data_scientists(demo: &Demonstration) {
    let reported = run_guide("docs/getting-started-data-scientist.md", &common(demo));
    for (what, unit) in [(" beats, RMSSD ", " ms"), (" minutes, heart rate ", "")] {
        let line = reported.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{reported}"));
        let (count, figure) = line.split_once(what).unwrap();
        assert!(count.parse::<u32>().unwrap() > 100, "{line}");
        let figure: f64 = figure.strip_suffix(unit).unwrap().parse().unwrap();
        assert!((10.0..200.0).contains(&figure), "{line}");
    }
}

fn researchers(demo: &Demonstration) {
    let yours = [&common(demo)[..], &[("GROUP", demo.group.as_str())]].concat();
    let reported = run_guide("docs/getting-started-researcher.md", &yours);
    let answers = answers(&reported);
    let of_day = answers.iter().filter(|answer| answer["heart_rate"]["avg_daily_heart_rate"].is_number()).count();
    let of_study = answers.iter().find(|answer| answer[&demo.patient].is_object());
    assert!(of_day > 0, "the day of a patient: {reported}");
    let rate = &of_study.unwrap_or_else(|| panic!("{reported}"))[&demo.patient]["heart_rate"]["avg_daily_heart_rate"];
    assert!(rate.is_number(), "the day of everybody: {reported}");
    let compliance = answers.iter().find_map(|answer| answer["compliance"].as_f64());
    assert!(compliance > Some(0.0), "{reported}");
    let counts = answers.iter().find_map(|answer| answer["raw_data_activity"].as_u64());
    assert!(counts > Some(0), "{reported}");
    let rows = answers.iter().filter(|answer| answer[0]["bpm"].is_number()).count();
    assert!(rows > 0, "raw samples: {reported}");
    let of_patient = format!("  {}: ", demo.patient);
    let line = reported.lines().find(|line| line.contains(&of_patient)).unwrap_or_else(|| panic!("{reported}"));
    assert!(!line.contains("None"), "{line}");
}

async fn app_developers(demo: &Demonstration) {
    let code = demo.voucher().await;
    let token = demo.health_token().await;
    let common = common(demo);
    let yours = [common[0], common[1], ("CODE", code.as_str()), ("TOKEN", &token)];
    let reported = run_guide("docs/getting-started-app-developer.md", &yours);
    let answers = answers(&reported);
    let pages = answers.iter().find(|answer| answer["total"].is_i64()).unwrap_or_else(|| panic!("{reported}"));
    let days = pages["data"].as_array().unwrap();
    assert!(days.iter().any(|day| day["heart_rate"]["avg_daily_heart_rate"].is_number()), "{reported}");
    assert!(answers.iter().any(|answer| answer[0]["bpm"].is_number()), "{reported}");
}

/// Each way to a token, with the patient of the demonstration.
fn logins(demo: &Demonstration) {
    let yours = [
        ("URL", demo.url.as_str()),
        ("PULSEWARD_TOKEN", &demo.key),
        ("UUID", &demo.patient),
        ("PULSEWARD_DATA", demo.folder.to_str().unwrap()),
        ("CODE", PATIENT_ALLOWS),
    ];
    let reported = run_guide("docs/logins-and-oauth.md", &yours);
    let answers = answers(&reported);
    let days = answers.iter().filter_map(|answer| answer["data"][0]["heart_rate"]["avg_daily_heart_rate"].as_f64());
    assert_eq!(days.count(), 2, "yesterday of the patient, for an app of theirs and for an application: {reported}");
}

/// Logs that an operator and an auditor read, after somebody has signed in on the portal.
async fn operations(demo: &Demonstration) {
    let login = demo.printed.lines().find_map(|line| line.strip_prefix("Login ")).unwrap();
    let (email, password) = login.trim().split_once("  ").unwrap();
    let body = json!({"email": email, "password": password.trim()});
    let session = reqwest::Client::new().post(format!("{}/portal/session", demo.url)).json(&body).send().await.unwrap();
    assert_eq!(session.status(), 200);
    let reported = run_guide("docs/operations.md", &[("PULSEWARD_DATA", demo.folder.to_str().unwrap())]);
    assert!(reported.contains("Verified Successfully"), "{reported}");
}

/// The listing that is shown, of a demonstration whose days are sealed.
async fn lake(demo: &Demonstration) {
    store_command(&demo.folder, &["seal", "--now"]);
    let blocks = blocks_of("docs/exports.md");
    let block = blocks.iter().find(|block| block.language == "json").unwrap();
    let listed = demo.ask(Method::GET, &format!("/v1/groups/{}/lake", demo.group)).await;
    for shown in shown::in_block(block) {
        assert!(shown::is_as_shown(&shown, &listed), "{shown}\n{listed:#}");
    }
}
