//! What leaves the machine of a span: only attributes that this list names, under the names of the conventions.

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Fields of spans, and the attributes that they become. Not among them: the subject of a job, which can be a patient.
const ATTRIBUTES: [(&str, &str); 8] = [
    ("method", "http.request.method"),
    ("route", "http.route"),
    ("status", "http.response.status_code"),
    ("request_id", "pulseward.request_id"),
    ("kind", "pulseward.job.kind"),
    ("attempt", "pulseward.job.attempt"),
    ("database", "db.namespace"),
    ("operation", "db.operation.name"),
];

/// An exporter that sends no more than is meant to be seen by others.
#[derive(Debug)]
pub struct Published<Exporter>(pub Exporter);

impl<Exporter: SpanExporter> SpanExporter for Published<Exporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.export(batch.into_iter().map(published).collect()).await
    }

    fn shutdown_with_timeout(&self, timeout: std::time::Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn published(mut span: SpanData) -> SpanData {
    let field = |name: &str| span.attributes.iter().find(|field| field.key.as_str() == name);
    let text = |name: &str| field(name).map(|field| field.value.to_string()).unwrap_or_default();
    let name = match &*span.name {
        "request" => format!("{} {}", text("method"), text("route")),
        "job" => format!("job {}", text("kind")),
        "store" => text("operation"),
        other => other.to_owned(),
    };
    let kind = if &*span.name == "request" { SpanKind::Server } else { SpanKind::Internal };
    if matches!(field("status").map(|field| &field.value), Some(Value::I64(500..))) {
        span.status = Status::error("");
    }
    let named = |field: KeyValue| {
        let (_, name) = ATTRIBUTES.iter().find(|(own, _)| field.key.as_str() == *own)?;
        Some(KeyValue::new(*name, field.value))
    };
    span.attributes = std::mem::take(&mut span.attributes).into_iter().filter_map(named).collect();
    (span.name, span.span_kind) = (name.into(), kind);
    span
}
