//! Store operations by name: how often each ran, how long it took, how it failed, and a span around it.
//!
//! An operation has no name of its own. The type of its closure has one, `module::function::{{closure}}`, and it is made
//! into `module.function` once. After that an operation is found by the address of that text in a table that is only
//! ever added to, so that counting costs two looks at the clock and two additions, and neither a lock nor memory.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use runtime::Instant;
use tracing::Instrument as _;

use super::durations::{DurationCounts, Durations};
#[cfg(any(test, feature = "planned-failures"))]
use super::planned_failures::PlannedFailures;
use crate::error::{Result, StoreError};

/// Places in the table: a few times as many as a database has operations. Where they are used up, what comes later is
/// counted as [`OTHER`].
const PLACES: usize = 1024;
/// Longest way through the table.
const MOST_STEPS: usize = 64;
/// The name of what found no place.
const OTHER: &str = "other";

/// Ways in which an operation fails, as metrics name them.
const FAILURES: [&str; 7] = ["unavailable", "conflict", "gone", "damaged", "database", "lease_lost", "cancelled"];
/// The caller went away before the operation had ended.
const CANCELLED: usize = 6;

/// The operations of one database.
#[derive(Debug)]
pub(super) struct Operations {
    database: &'static str,
    places: Box<[OnceLock<Place>]>,
    by_name: Mutex<BTreeMap<String, Arc<Operation>>>,
    other: Operation,
    #[cfg(any(test, feature = "planned-failures"))]
    pub(super) planned_failures: PlannedFailures,
}

#[derive(Debug)]
struct Place {
    /// Address and length of the type's name. The compiler may keep several copies of one name.
    key: (usize, usize),
    operation: Arc<Operation>,
}

#[derive(Debug, Default)]
struct Operation {
    name: String,
    durations: Durations,
    failures: [AtomicU64; FAILURES.len()],
}

/// What one operation has done on this node since it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCounts {
    /// Module and function, such as `sessions.find_session`.
    pub name: String,
    /// Time that it took where the caller waited for its end, however it ended.
    pub durations: DurationCounts,
    /// Number of times that it failed in each way that has occurred: `unavailable`, `conflict`, `gone`, `damaged`,
    /// `database`, `lease_lost`, `cancelled`.
    pub failures: Vec<(&'static str, u64)>,
}

impl Operations {
    pub fn new(database: &'static str) -> Self {
        let other = Operation { name: OTHER.to_owned(), ..Operation::default() };
        let places = std::iter::repeat_with(OnceLock::new).take(PLACES).collect();
        Operations {
            database,
            places,
            by_name: Mutex::default(),
            other,
            #[cfg(any(test, feature = "planned-failures"))]
            planned_failures: PlannedFailures::default(),
        }
    }

    /// Returns the name of the database.
    pub fn database(&self) -> &'static str {
        self.database
    }

    /// Runs an operation, counted and in a span under the name of the function that wrote the closure of this type.
    pub async fn observe(&self, closure: &'static str, work: impl Future<Output = Result<()>>) -> Result<()> {
        let operation = self.of_type(closure);
        #[cfg(any(test, feature = "planned-failures"))]
        let work = self.planned_failures.run(&operation.name, work);
        let span = tracing::debug_span!("store", database = self.database, operation = operation.name);
        // Dropped without an end where the caller goes away at the await below, which no statement after it could
        // count.
        let running = Running { operation, has_ended: false };
        let begun = Instant::now();
        let answer = work.instrument(span).await;
        running.ended(begun, answer.as_ref().err());
        answer
    }

    /// Returns all operations that have run, by name.
    pub fn counts(&self) -> Vec<OperationCounts> {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let operations = by_name.values().map(|operation| operation.counts());
        operations.chain(Some(self.other.counts()).filter(|other| other.durations.count() > 0)).collect()
    }

    fn of_type(&self, type_name: &'static str) -> &Operation {
        let key = (type_name.as_ptr().addr(), type_name.len());
        let first = spread(key.0);
        for step in 0..MOST_STEPS {
            let place = &self.places[(first + step) % PLACES];
            // Of two that come at once, the second finds what the first has put there.
            let place = place.get_or_init(|| Place { key, operation: self.named(&short_name(type_name)) });
            if place.key == key {
                return &place.operation;
            }
        }
        // A full table must not cost more and more steps, and what is counted together is better than not counted.
        &self.other
    }

    fn named(&self, name: &str) -> Arc<Operation> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
        // Names become labels of metrics, which are written without escapes.
        debug_assert!(name.chars().all(is_plain), "the compiler writes types otherwise: {name}");
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let operation = by_name.entry(name.to_owned());
        operation.or_insert_with(|| Arc::new(Operation { name: name.to_owned(), ..Operation::default() })).clone()
    }
}

impl Operation {
    fn counts(&self) -> OperationCounts {
        let failures = FAILURES.iter().zip(&self.failures).map(|(kind, count)| (*kind, count.load(Ordering::Relaxed)));
        OperationCounts {
            name: self.name.clone(),
            durations: self.durations.counts(),
            failures: failures.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

/// An operation under way.
struct Running<'operation> {
    operation: &'operation Operation,
    has_ended: bool,
}

impl Running<'_> {
    fn ended(mut self, begun: Instant, error: Option<&StoreError>) {
        self.has_ended = true;
        self.operation.durations.add(begun.elapsed());
        if let Some(error) = error {
            self.operation.failures[failure(error)].fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.operation.failures[CANCELLED].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns the place of an error in [`FAILURES`].
fn failure(error: &StoreError) -> usize {
    match error {
        StoreError::Unavailable(_) => 0,
        StoreError::Conflict(_) => 1,
        StoreError::Gone(_) => 2,
        StoreError::Damaged(_) | StoreError::DamagedRows(_) => 3,
        StoreError::Database(_) | StoreError::SchemaVersion { .. } => 4,
        StoreError::LeaseLost => 5,
    }
}

/// Returns a first place for an address. Addresses of texts differ in few and low bits.
fn spread(address: usize) -> usize {
    // The golden ratio of 2^64: its multiples lie far apart.
    (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(16) as usize % PLACES
}

/// Returns the name of an operation: modules below the database's, and functions, without the types that they belong
/// to.
fn short_name(type_name: &str) -> String {
    let parts = without_brackets(type_name);
    let parts = parts.split("::").skip(1).filter(|part| part.starts_with(|first: char| first.is_ascii_lowercase()));
    let mut parts: Vec<&str> = parts.collect();
    if parts.len() > 2 && ["users", "health"].contains(&parts[0]) {
        parts.remove(0);
    }
    if parts.is_empty() { OTHER.to_owned() } else { parts.join(".") }
}

/// Returns a type's name without what is in angle brackets: types of implementations and of parameters.
fn without_brackets(type_name: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    // The arrow of a function's type closes nothing.
    for letter in type_name.replace("->", "").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            letter if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests;
