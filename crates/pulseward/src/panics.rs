//! What is said of a panic: where, and in which thread. Never its message, which can repeat the data of a person that the
//! panicking code was working on.

use std::panic::PanicHookInfo;

/// Takes the place of the standard library's report on standard error.
pub fn say_where() {
    std::panic::set_hook(Box::new(report));
}

fn report(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("without a name");
    if tracing::dispatcher::has_been_set() {
        tracing::error!(place, thread, "something panicked");
    } else {
        // Before the log has been started.
        eprintln!("error: something panicked at {place} in the thread {thread}");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::Value;

    use super::*;
    use crate::config::{LogFormat, LogOptions};
    use crate::logging;

    const OF_A_PERSON: &str = "Thaddeus Oxenbury";

    /// Panics in two ways, in a process whose panics are reported as the program's are.
    async fn panic_twice() {
        say_where();
        let error = runtime::compute::<(), _>("read", || panic!("{OF_A_PERSON}")).await.unwrap_err();
        assert_eq!(error.to_string(), "read panicked");
        let of_any = runtime::compute::<(), _>("read", || std::panic::panic_any(OF_A_PERSON.to_owned()));
        assert_eq!(of_any.await.unwrap_err().to_string(), "read panicked");
    }

    #[tokio::test]
    #[ignore = "for a process of its own, which the tests below start"]
    async fn panics_before_the_log() {
        panic_twice().await;
    }

    #[tokio::test]
    #[ignore = "for a process of its own, which the tests below start"]
    async fn panics_under_the_log() {
        logging::start(&LogOptions { log: "info".to_owned(), log_format: LogFormat::Json }).unwrap();
        panic_twice().await;
    }

    /// Returns what a test of this module says on standard error in a process of its own.
    fn said_by(test: &str) -> Vec<String> {
        let arguments = ["--exact", &format!("panics::tests::{test}"), "--ignored", "--nocapture"];
        let output = Command::new(std::env::current_exe().unwrap()).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("Thaddeus") && !said.contains("Oxenbury"), "{said}");
        said.lines().map(str::to_owned).collect()
    }

    #[test]
    fn panic_is_reported_by_place_and_thread_alone() {
        let lines = said_by("panics_before_the_log");
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in lines {
            assert!(line.contains("src/panics.rs:") && line.ends_with("in the thread compute"), "{line}");
        }
    }

    #[test]
    fn panic_is_in_the_log_as_an_error() {
        let lines = said_by("panics_under_the_log");
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in lines {
            let line: Value = serde_json::from_str(&line).unwrap();
            assert_eq!((&line["level"], &line["thread"]), (&"ERROR".into(), &"compute".into()), "{line}");
            assert!(line["place"].as_str().unwrap().contains("src/panics.rs:"), "{line}");
        }
    }
}
