//! Spans below a request's and a job's: which operations of the databases a trace shows, and under what.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping

mod common;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::Request;
use common::{START_MS, Story};
use serde_json::{Value, json};
use store::{ActorRole, Audit, AuditEntryId, Entity, EntityId, NewAuditEntry, Role, UserId, UserRole};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// A subscriber that comes or goes changes for all threads which spans are made at all, so tests take turns.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Every span that began, with those above it: `request /health/v1/sync > store health sync.store_sync`.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<String>>>);

/// Name and fields of a span.
struct Label(String);

impl Visit for Label {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !["method", "request_id", "subject", "attempt"].contains(&field.name()) {
            write!(self.0, " {value:?}").unwrap();
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl<S: tracing::Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Captured {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut label = Label(span.name().to_owned());
        attributes.record(&mut label);
        span.extensions_mut().insert(label);
        let path: Vec<String> =
            span.scope().from_root().map(|span| span.extensions().get::<Label>().unwrap().0.clone()).collect();
        self.0.lock().unwrap().push(path.join(" > "));
    }
}

impl Captured {
    /// Captures what this thread does from now on.
    fn begin() -> (Self, DefaultGuard) {
        let captured = Captured::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(captured.clone()));
        (captured, guard)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn one_row() -> Value {
    json!({"temperature": {"timestamp": [START_MS], "temp_sk1": 33.1}})
}

fn assert_has(spans: &[String], expected: &str) {
    assert!(spans.iter().any(|span| span == expected), "{expected}\n{spans:#?}");
}

#[tokio::test]
async fn store_operations_are_under_the_request_that_asks_for_them() {
    let _turn = TURN.lock().await;
    let story = Story::begin().await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({})).await;
    let (captured, _guard) = Captured::begin();
    let groups = format!("/integration/v1/groups?token={key}");
    // Both at once, so that each is polled while the other one waits.
    let (synced, _) = futures::join!(
        story.post_as("/health/v1/sync", &patient.health_token, json!({"data": one_row()})),
        story.get(&groups)
    );
    let spans = captured.take();
    synced.ok();
    for expected in [
        "request /health/v1/sync > store health sessions.calling_session",
        "request /health/v1/sync > receive body",
        "request /health/v1/sync > read body",
        "request /health/v1/sync > store health sync.store_sync",
        "request /integration/v1/groups > store users api_keys.key_holder",
        "request /integration/v1/groups > store users groups.groups_of",
    ] {
        assert_has(&spans, expected);
    }
    let stray = spans.iter().filter(|span| span.starts_with("store"));
    assert_eq!(stray.count(), 0, "{spans:#?}");
}

/// Entries of an account, two pages and a rest.
async fn record_entries(story: &Story, email: &str) {
    let ada = story.platform.identity.account_by_email(email).await.unwrap();
    let entry = |number: i64| NewAuditEntry {
        id: AuditEntryId::new(format!("{number:024x}")),
        action_type: "PATIENT_UPDATE".to_owned(),
        user_id: UserId::from(&ada.uuid),
        user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
        primary: Entity { id: EntityId::new("u"), kind: "patient.id".to_owned() },
        secondary: None,
        details: None,
        salt: [1; 16],
    };
    // Two pages and a rest: the last is read while the answer is being sent.
    let entries = (0..2_500).map(entry).collect();
    story
        .platform
        .core
        .users()
        .record(Audit {
            entries,
            security: Vec::new(),
            clock: Arc::new(|| START_MS),
            key: platform::audit_key(&[7; 32]),
        })
        .await
        .unwrap();
}

#[tokio::test]
async fn store_operations_of_a_streamed_answer_are_under_its_request() {
    let _turn = TURN.lock().await;
    let story = Story::begin().await;
    let key = story.key_of("ada@study.example", Role::Researcher).await;
    record_entries(&story, "ada@study.example").await;
    let (captured, _guard) = Captured::begin();
    let path = format!("/integration/v1/patients/audit/logs?token={key}&from={START_MS}&to={START_MS}");
    let answer = story.open(Request::get(path).body(Body::empty()).unwrap()).await;
    let before = captured.take();
    axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let page = "request /integration/v1/patients/audit/logs > store users audit_reader.next_page";
    assert_has(&before, page);
    // That the key was used is noted in parallel with the request, now or a little later.
    let mut pages = captured.take();
    pages.retain(|span| span != "store users api_keys.note_key_used");
    assert_eq!(pages, [page, page]);
}

/// A line, with the id of the request that it belongs to.
type LineOfRequest = (String, Option<String>);

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<LineOfRequest>>>);

/// One field of a span or a line.
struct Wanted(&'static str, Option<String>);

impl Visit for Wanted {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == self.0 {
            self.1 = Some(format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

/// The id of a request, kept with its span.
struct RequestId(Option<String>);

impl<S: tracing::Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut wanted = Wanted("request_id", None);
        attributes.record(&mut wanted);
        context.span(id).unwrap().extensions_mut().insert(RequestId(wanted.1));
    }

    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        let mut message = Wanted("message", None);
        event.record(&mut message);
        let mut spans = context.event_scope(event).into_iter().flatten();
        let id = spans.find_map(|span| span.extensions().get::<RequestId>().and_then(|id| id.0.clone()));
        self.0.lock().unwrap().push((message.1.unwrap_or_default(), id));
    }
}

#[tokio::test]
async fn answer_that_is_broken_off_is_logged_with_its_request_id_at_every_level() {
    let _turn = TURN.lock().await;
    for level in [LevelFilter::INFO, LevelFilter::ERROR] {
        let story = Story::begin().await;
        let key = story.key_of("ada@study.example", Role::Researcher).await;
        record_entries(&story, "ada@study.example").await;
        let lines = Lines::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(lines.clone().with_filter(level)));
        let path = format!("/integration/v1/patients/audit/logs?token={key}&from={START_MS}&to={START_MS}");
        let answer = story.open(Request::get(path).body(Body::empty()).unwrap()).await;
        let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
        // The head has been sent; the rest cannot be read.
        story.platform.core.users().close().await.unwrap();
        assert!(axum::body::to_bytes(answer.into_body(), usize::MAX).await.is_err(), "{level}");
        drop(guard);
        let lines = lines.0.lock().unwrap().clone();
        let broken: Vec<_> = lines.iter().filter(|(line, _)| line == "an answer was broken off").collect();
        assert_eq!(broken, [&("an answer was broken off".to_owned(), Some(id))], "{level}: {lines:?}");
    }
}

#[tokio::test]
async fn store_operations_of_a_job_are_under_its_span() {
    let _turn = TURN.lock().await;
    let story = Story::begin().await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({})).await;
    let (captured, _guard) = Captured::begin();
    story.sync(&patient, one_row()).await;
    let spans = captured.take();
    assert_has(&spans, "job derive > derive > store health inputs.derivation_start");
    assert_has(&spans, "job derive > store health commit.commit_derivations");
}
