//! Prints what the physiology reaches on the recordings with outside truth: docs/validation.md.

#[path = "../tests/recordings/mod.rs"]
mod recordings;
#[path = "../tests/validation/report.rs"]
mod report;

fn main() -> std::process::ExitCode {
    match report::page() {
        Some(page) => {
            print!("{page}");
            std::process::ExitCode::SUCCESS
        }
        None => std::process::ExitCode::FAILURE,
    }
}
