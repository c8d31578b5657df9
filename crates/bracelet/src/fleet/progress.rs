//! Receivers of the progress of a fleet.

/// Receives the progress of a fleet. The binary decides what a terminal shows of it.
pub trait Progress: Send + Sync {
    /// A new part of the work begins; `total` steps of it are known to come.
    fn phase(&self, name: &str, total: Option<u64>);
    /// Steps are done.
    fn advance(&self, steps: u64);
    /// Something that a person should read, such as a failure.
    fn note(&self, message: &str);
}

/// Reports to nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _name: &str, _total: Option<u64>) {}
    fn advance(&self, _steps: u64) {}
    fn note(&self, _message: &str) {}
}

/// A bar that hides itself when standard error is no terminal; notes are lines in both cases.
impl Progress for indicatif::ProgressBar {
    fn phase(&self, name: &str, total: Option<u64>) {
        self.reset();
        match total {
            Some(total) => self.set_length(total),
            None => self.unset_length(),
        }
        self.set_message(name.to_owned());
    }

    fn advance(&self, steps: u64) {
        self.inc(steps);
    }

    fn note(&self, message: &str) {
        self.suspend(|| eprintln!("{message}"));
    }
}
