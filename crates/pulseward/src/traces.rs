//! Traces that are sent to a collector, where the program was built with the feature `otlp`.

#[cfg(feature = "otlp")]
mod collector;
mod layer;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
mod published;

pub use layer::TraceLayer;
#[cfg(feature = "otlp")]
pub use otlp::Traces;

/// The traces of a program that cannot send any.
#[cfg(not(feature = "otlp"))]
pub struct Traces;

#[cfg(not(feature = "otlp"))]
impl Traces {
    /// Starts nothing.
    ///
    /// # Errors
    /// A collector is named: this build has no exporter.
    pub fn start(collector: Option<&str>) -> Result<Self, crate::failure::Failure> {
        if collector.is_some() {
            let message = "--otlp-url: this program cannot send traces; build it with `--features otlp`";
            return Err(crate::failure::Failure::Usage(message.to_owned()));
        }
        Ok(Traces)
    }

    /// Returns no layer.
    #[expect(clippy::unused_self, reason = "the same as where traces are sent")]
    pub fn layer(&self) -> Option<TraceLayer> {
        None
    }

    /// Ends nothing.
    #[expect(clippy::unused_async, reason = "the same as where traces are sent")]
    pub async fn end(self) {}
}
