//! From spans to a collector: which spans are traced, how they are batched, and that none is left behind at the end.

use std::time::Duration;

use opentelemetry::trace::{Link, SpanKind, TraceContextExt as _, TraceId, TraceState, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample};
use runtime::Task;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};

use super::collector::{self, Collector};
use super::layer::TraceLayer;
use super::published::Published;
use crate::failure::Failure;

/// Time for which the end of the program waits for the last traces to be taken.
const LONGEST_END: Duration = Duration::from_secs(5);
/// The crates whose spans are traced. Spans of libraries could hold addresses and headers.
const TRACED: [&str; 4] = ["api", "platform", "pulseward", "store"];
/// The spans that a trace begins with. Others without a parent belong to looking for work, twice a second.
const ROOTS: [&str; 2] = ["request", "job"];

/// The way of traces to a collector, or none.
pub struct Traces(Option<Sending>);

struct Sending {
    provider: SdkTracerProvider,
    task: Task<()>,
}

impl Traces {
    /// Begins to send traces to the collector at this address, if there is one.
    ///
    /// # Errors
    /// When the address is none.
    pub fn start(collector: Option<&str>) -> Result<Self, Failure> {
        let Some(address) = collector else { return Ok(Traces(None)) };
        let cannot = |error: &dyn std::fmt::Display| Failure::Other(format!("traces cannot be sent: {error}"));
        let (collector, sending) = Collector::new(address)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(collector.url())
            .with_timeout(collector::LONGEST_REQUEST)
            .with_http_client(collector)
            .build()
            .map_err(|error| cannot(&error))?;
        let task = runtime::spawn("send traces", sending.map_err(|error| cannot(&error))?);
        let attributes = [KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
        let provider = SdkTracerProvider::builder()
            .with_resource(Resource::builder().with_service_name("pulseward").with_attributes(attributes).build())
            .with_sampler(Sampler::ParentBased(Box::new(Roots)))
            .with_batch_exporter(Published(exporter))
            .build();
        Ok(Traces(Some(Sending { provider, task })))
    }

    /// Returns what turns spans into traces. Events are left to the log.
    pub fn layer(&self) -> Option<TraceLayer> {
        let Sending { provider, .. } = self.0.as_ref()?;
        let traced = Targets::new().with_targets(TRACED.map(|name| (name, LevelFilter::DEBUG)));
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method's lifetimes are too narrow for a filter"
        )]
        let spans_alone = filter_fn(|metadata| metadata.is_span());
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("pulseward"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(traced.and(spans_alone));
        Some(layer.boxed())
    }

    /// Sends what has not been sent yet.
    pub async fn end(self) {
        let Some(Sending { provider, task }) = self.0 else { return };
        let ended = runtime::blocking("last traces", move || provider.shutdown_with_timeout(LONGEST_END)).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!("the last traces were not taken by the collector");
        }
        task.abort();
    }
}

/// Traces requests and runs of jobs, and nothing else by itself.
#[derive(Clone, Debug)]
struct Roots;

impl ShouldSample for Roots {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        _: TraceId,
        name: &str,
        _: &SpanKind,
        _: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        let decision = if ROOTS.contains(&name) { SamplingDecision::RecordAndSample } else { SamplingDecision::Drop };
        let trace_state =
            parent.map_or_else(TraceState::default, |parent| parent.span().span_context().trace_state().clone());
        SamplingResult { decision, attributes: Vec::new(), trace_state }
    }
}
