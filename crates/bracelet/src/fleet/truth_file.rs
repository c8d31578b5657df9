//! The file of the truth: what is known before anything is sent, then what was sent late.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::session::Session;
use crate::body::Window;
use crate::error::BraceletError;
use crate::stories::casting::StoryPlan;
use crate::story_truth::{KnownPatient, patient_lines, run_line};

/// The truth of one run.
#[derive(Debug)]
pub(super) struct TruthFile {
    file: File,
    path: PathBuf,
}

impl TruthFile {
    /// Makes the file. An existing one is refused: the patients of its run are still in a service, and nothing else
    /// knows what is true of them.
    pub fn create(path: &Path) -> Result<Self, BraceletError> {
        let file = File::create_new(path)
            .map_err(|reason| BraceletError::TruthFile { path: path.display().to_string(), reason })?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Writes what is true of all patients.
    pub fn write_patients(
        &mut self,
        plan: &StoryPlan,
        seed: u64,
        sessions: &[Arc<Session>],
    ) -> Result<(), BraceletError> {
        let mut lines = vec![run_line(plan, seed, sessions.len() as u64)];
        for session in sessions {
            lines.extend(patient_lines(KnownPatient { patient: &session.patient, uuid: &session.uuid }, plan)?);
        }
        self.write(&lines)
    }

    /// Writes what was sent late, by patient and time.
    pub fn write_deliveries(&mut self, deliveries: &Deliveries) -> Result<(), BraceletError> {
        self.write(&deliveries.lines())
    }

    fn write(&mut self, lines: &[Value]) -> Result<(), BraceletError> {
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<Vec<String>>().concat();
        // To the disk: the truth is worth most where the run that it is of was broken off.
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_all())
            .map_err(|reason| BraceletError::TruthFile { path: self.path.display().to_string(), reason })
    }
}

/// Windows that were sent late, and when.
#[derive(Debug, Default)]
pub(super) struct Deliveries(Mutex<Vec<Delivery>>);

#[derive(Debug, Clone)]
struct Delivery {
    number: u64,
    uuid: String,
    window: Window,
    sent_ms: i64,
}

impl Deliveries {
    /// Notes that a window was accepted, if it was one of those withheld.
    pub fn note(&self, session: &Session, window: Window, sent_ms: i64) {
        let is_late = session.patient.stories.iter().any(|story| story.arrival_ms(window.from_ms).is_some());
        if is_late {
            let (number, uuid) = (session.patient.index, session.uuid.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Delivery { number, uuid, window, sent_ms });
        }
    }

    fn lines(&self) -> Vec<Value> {
        let mut deliveries = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Patients send at the same time, in an order that no seed decides.
        deliveries.sort_by_key(|delivery| (delivery.number, delivery.window.from_ms));
        let line = |delivery: &Delivery| {
            json!({
                "record": "delivery", "number": delivery.number, "uuid": delivery.uuid,
                "start_ms": delivery.window.from_ms, "end_ms": delivery.window.to_ms, "sent_ms": delivery.sent_ms,
            })
        };
        deliveries.iter().map(line).collect()
    }
}
