//! A whole run of a fleet: enrol, send the past, send the present.

use tokio::sync::watch;

use super::config::Live;
use super::driver::{Fleet, stopped};
use super::tally::{FleetResult, Stopped};
use super::truth_file::TruthFile;
use crate::error::BraceletError;

impl Fleet {
    /// Does everything: enrols, sends the past, and the present until `stop` becomes true.
    pub async fn run(&self, live: Option<Live>, stop: watch::Receiver<bool>) -> Result<FleetResult, BraceletError> {
        // Before anybody is enrolled: a run whose truth is lost is of no use.
        let mut truth = self.config.truth.as_deref().map(TruthFile::create).transpose()?;
        let result = self.run_all(live, stop, truth.as_mut()).await;
        // Whatever came of the run: what was sent late was sent.
        if let Some(truth) = &mut truth {
            truth.write_deliveries(&self.deliveries)?;
        }
        result
    }

    async fn run_all(
        &self,
        live: Option<Live>,
        stop: watch::Receiver<bool>,
        truth: Option<&mut TruthFile>,
    ) -> Result<FleetResult, BraceletError> {
        let fleet = self.until(&stop);
        let group = fleet.group().await?;
        // Before anything else: who stops the fleet wants to find what it has left.
        self.progress.note(&format!("the patients are in the study {group}"));
        let enrolled = tokio::select! {
            biased;
            enrolled = fleet.enrol() => Some(enrolled?),
            () = stopped(stop.clone()) => None,
        };
        let Some(sessions) = enrolled else {
            let (done, planned) = (self.tally.enrolled(), self.config.patients);
            let stopped = Stopped { done, planned, steps: "patients enrolled" };
            return Ok(FleetResult { patients: done, stopped: Some(stopped), ..self.result(&[]) });
        };
        // Before the first row: who looks at alarms while the fleet runs can compare them already.
        if let (Some(truth), Some(plan)) = (truth, &self.config.stories) {
            truth.write_patients(plan, self.config.seed, &sessions)?;
        }
        let end_ms = (self.clock)() - live.map_or(0, |live| live.lag_ms);
        // Rows lie on whole seconds, and a window that begins within one would lose it.
        let end_ms = end_ms.div_euclid(1_000) * 1_000;
        let planned = self.send_history(&sessions, end_ms, &stop).await?;
        let done = self.tally.windows();
        // Without the stop what is missing was given up, and is counted as failed.
        if *stop.borrow() && done < planned {
            let stopped = Stopped { done, planned, steps: "syncs of the history" };
            return Ok(FleetResult { stopped: Some(stopped), ..self.result(&sessions) });
        }
        if let Some(live) = live {
            self.send_live(&sessions, live, end_ms, &stop).await?;
        }
        Ok(self.result(&sessions))
    }
}
