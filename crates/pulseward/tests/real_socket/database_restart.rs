//! A restart of PostgreSQL under a running service: what is asked once the server is back is answered.

use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::OwnServer;

use crate::harness::{Patient, Researcher, Service, admin};

/// Requests of each kind, more than there are connections to one database.
const EACH: i64 = 20;
const PASSWORD: &str = "a password for tests";
const BEGIN_MS: i64 = 1_763_600_000_000;

struct Study {
    researcher: Researcher,
    patient: Patient,
    /// Token of the patient at the Users Cloud.
    user_token: String,
    sent: i64,
}

impl Study {
    /// Sends requests of each kind at once; returns their names and statuses.
    async fn ask_everything(&mut self) -> Vec<(&'static str, u16)> {
        let first = self.sent;
        self.sent += EACH;
        let Study { researcher, patient, user_token, .. } = &*self;
        let list = format!("/integration/v1/groups/{}/patients", researcher.group);
        let read = join_all((0..EACH).map(|_| researcher.get(&list, None)));
        let known = join_all((0..EACH).map(|_| researcher.get("/users/me", Some(user_token))));
        let synced = join_all((first..self.sent).map(|at| {
            let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + at * 1000], "bpm": [60]}}});
            async move { researcher.sync(patient, &body).await.unwrap() }
        }));
        let with_token = json!({"user_api_token": user_token});
        let entered = join_all((0..EACH).map(|_| researcher.post("/health/login", None, &with_token)));
        let with_password = json!({"email": "doctor@study.example", "password": PASSWORD});
        let signed_in = join_all((0..EACH / 4).map(|_| researcher.post("/users/login", None, &with_password)));
        let (read, known, synced, entered, signed_in) = tokio::join!(read, known, synced, entered, signed_in);
        let named = |name, answers: Vec<(u16, Value)>| answers.into_iter().map(move |(status, _)| (name, status));
        named("read", read)
            .chain(named("session", known))
            .chain(named("sync", synced))
            .chain(named("login to the Health Cloud", entered))
            .chain(named("login with a password", signed_in))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_after_a_restart_of_the_database_are_answered() {
    let Some(server) = OwnServer::start() else { return };
    let (users, health, folder) = (server.database(), server.database(), tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (key_file, objects) = (path("shared.key"), format!("file://{}", path("objects")));
    let store = ["--users-db", &users, "--health-db", &health, "--master-key-file", &key_file, "--objects", &objects];
    // Nothing in the background may find dead connections before the requests do.
    let roles = ["--public-url", "http://study.example", "--roles", "integration,users,health"];
    let service = Service::start_with(&folder.path().join("node"), &[&store[..], &roles].concat());
    let researcher = Researcher::new_with(&folder.path().join("node"), &store, &service.url).await;
    let doctor = ["create-account", "--email", "doctor@study.example", "--role", "hcp", "--password", PASSWORD];
    admin(&folder.path().join("node"), &[&doctor[..], &store].concat());
    let patient = researcher.enrol().await;
    let login = json!({"code": patient.code, "password": PASSWORD});
    let (status, login) = researcher.post("/users/login", None, &login).await;
    assert_eq!(status, 200, "{login}");
    let user_token = login["token"].as_str().unwrap().to_owned();
    let mut study = Study { researcher, patient, user_token, sent: 0 };

    let before = study.ask_everything().await;
    assert!(before.iter().all(|(_, status)| *status == 200), "{before:?}");
    let connections = server.connections();
    assert!(connections >= 16, "{connections} connections");
    for restart in 0..3 {
        server.restart();
        assert_eq!(server.connections(), 0);
        let mut failed = study.ask_everything().await;
        let asked = failed.len();
        failed.retain(|(_, status)| *status != 200);
        assert!(failed.is_empty(), "restart {restart}: {} of {asked} failed: {failed:?}", failed.len());
        assert!(server.connections() >= 8, "{} connections", server.connections());
    }
}
