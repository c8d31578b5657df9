//! Fields of log lines without colours.
//!
//! Each request makes a span, so that a line about a failure names the request, and the fields of a span are written when it
//! begins. The library writes each of them with styles and escapes; for the plain texts and numbers that most of them are,
//! that was a twentieth of what a small request costs.

use std::error::Error;
use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput as _};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// Writes fields as the library's own formatter does without colours, plain texts and numbers in a shorter way.
pub(super) struct PlainFields;

impl<'writer> FormatFields<'writer> for PlainFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = PlainVisitor { writer, is_first: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct PlainVisitor<'writer> {
    writer: Writer<'writer>,
    is_first: bool,
    result: fmt::Result,
}

impl PlainVisitor<'_> {
    fn record_plain(&mut self, field: &Field, write: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        let is_first = std::mem::take(&mut self.is_first);
        self.result = self.result.and_then(|()| {
            if !is_first {
                self.writer.write_char(' ')?;
            }
            self.writer.write_str(field.name())?;
            self.writer.write_char('=')?;
            write(&mut self.writer)
        });
    }

    fn record_otherwise(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        let mut visitor = DefaultVisitor::new(self.writer.by_ref(), std::mem::take(&mut self.is_first));
        record(&mut visitor);
        self.result = self.result.and(visitor.finish());
    }
}

impl Visit for PlainVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if !is_plain_name(field) || value.bytes().any(needs_escape) {
            return self.record_otherwise(|visitor| visitor.record_str(field, value));
        }
        self.record_plain(field, |writer| {
            writer.write_char('"')?;
            writer.write_str(value)?;
            writer.write_char('"')
        });
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if !is_plain_name(field) {
            return self.record_otherwise(|visitor| visitor.record_u64(field, value));
        }
        self.record_plain(field, |writer| write!(writer, "{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_otherwise(|visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_otherwise(|visitor| visitor.record_debug(field, value));
    }
}

/// The message has no name in a line; names of the `log` crate and raw identifiers are not written as they are.
fn is_plain_name(field: &Field) -> bool {
    let name = field.name();
    name != "message" && !name.starts_with("log.") && !name.starts_with("r#")
}

fn needs_escape(byte: u8) -> bool {
    !byte.is_ascii_graphic() && byte != b' ' || matches!(byte, b'"' | b'\\')
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::format::DefaultFields;
    use tracing_subscriber::fmt::{MakeWriter, layer};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'writer> MakeWriter<'writer> for Written {
        type Writer = Written;

        fn make_writer(&'writer self) -> Written {
            self.clone()
        }
    }

    /// Log lines of one span and its events, as this formatter of fields writes them.
    fn lines<F: for<'writer> FormatFields<'writer> + Send + Sync + 'static>(fields: F) -> String {
        let written = Written::default();
        let lines = layer().with_ansi(false).without_time().with_writer(written.clone()).fmt_fields(fields);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            let status = tracing::field::Empty;
            let span = tracing::error_span!("request", method = %"GET", route = "/v1/groups", status, last = status);
            let _entered = span.enter();
            tracing::info!("one line");
            span.record("status", 503_u64);
            span.record("last", "a \"quoted\" text\u{1b}[31m of Zoë\n\\");
            tracing::error!(r#type = "heart-rate", message = "a \"message\"", log.line = 3, empty = "", count = -3);
            let nothing = io::Error::other(io::Error::other("the cause"));
            tracing::warn!(error = &nothing as &(dyn Error + 'static), took_s = 0.5, is_late = true);
        });
        String::from_utf8(written.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn lines_are_those_of_the_library() {
        let ours = lines(PlainFields);
        assert_eq!(ours, lines(DefaultFields::new()));
        assert!(ours.contains(r#"request{method=GET route="/v1/groups" status=503 last="a \"quoted\""#), "{ours}");
    }
}
