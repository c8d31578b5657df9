//! Raw-data exports: asked for here, written by the job `export`, fetched through a link that ends.
//!
//! An export touches both databases. First the work item is committed in the health database, which is where turns are
//! given; it carries its audit entry. Then the entry is written in the users database, then the item is freed for work.
//! Each step can be repeated, and a worker finishes what was left between two of them.

mod archive;
mod content;
mod csv_files;
mod dictionary;
mod file_name;
mod local_range;
mod manifest;
mod parquet_files;
mod request;
mod sink;
mod worker;

use std::time::Duration;

use store::{Entity, ExportState, ExportTurn, NewAuditEntry, NewExport, StoreError};

pub use request::{ArchiveCompression, ArchiveFormat, ExportRequest};
pub(crate) use worker::Export;

use crate::access::Researcher;
use crate::audit::{Action, patient_entity};
use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// How long a link to an archive holds.
const LINK_LIFETIME: Duration = Duration::from_hours(1);
/// How long archives are kept.
pub(crate) const KEEP_ARCHIVES_MS: i64 = 7 * 86_400_000;
/// Entries that are owed for longer than this are written by a worker: who asked has gone.
const OWED_FOR_MS: i64 = 30_000;

/// An export as whoever asked for it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportStatus {
    /// Record identifier, 24 hex digits.
    pub id: String,
    /// How far it is.
    pub progress: ExportProgress,
}

/// How far an export is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportProgress {
    /// It waits, or is being written.
    InProgress,
    /// The archive can be fetched.
    Done {
        /// Where, for an hour.
        download_url: String,
    },
    /// It was given up.
    Failed {
        /// Why.
        error: String,
    },
}

impl Platform {
    /// Begins an export of a patient's raw data; answers its identifier. Too many when the last one was begun too
    /// short a time ago, whatever its types.
    pub async fn create_export(
        &self,
        researcher: &Researcher,
        patient: &str,
        request: &ExportRequest,
    ) -> Result<String> {
        request.check()?;
        self.patient_access(researcher, patient).await?;
        researcher.require_manager()?;
        let hcp_admin = Entity { id: researcher.account.clone(), kind: "hcp_admin.id".to_owned() };
        let mut entry = self.entry(
            Action::export_through(researcher.entrance),
            researcher,
            patient_entity(patient),
            Some(hcp_admin),
        );
        entry.details = Some(request.to_json()?);
        let new = NewExport {
            id: self.new_record_id(),
            patient: patient.to_owned(),
            actor: researcher.account.clone(),
            request: request.to_json()?,
            owed_entry: serde_json::to_string(&entry).map_err(|error| PlatformError::Internal(error.to_string()))?,
            now_ms: self.now_ms(),
            interval_ms: self.settings.export_interval_s * 1000,
        };
        let id = new.id.clone();
        match self.health.begin_export(new).await? {
            ExportTurn::Begun => {}
            ExportTurn::TooSoon { wait_ms } => {
                return Err(PlatformError::TooMany { retry_after_s: (wait_ms.max(0) as u64).div_ceil(1000) });
            }
            ExportTurn::UnknownPatient => return Err(PlatformError::NotFound("patient")),
        }
        self.free_export(&id, entry).await?;
        self.wake_exports();
        Ok(id)
    }

    /// How far an export is. Only the account that asked for it may know, and only while it has access to the patient.
    pub async fn export_status(&self, researcher: &Researcher, id: &str) -> Result<ExportStatus> {
        let job = self.health.export(id).await?.ok_or(PlatformError::NotFound("export"))?;
        if job.actor != researcher.account {
            return Err(PlatformError::Forbidden("the caller has not asked for this export"));
        }
        self.patient_access(researcher, &job.patient).await?;
        researcher.require_manager()?;
        let progress = match job.state {
            ExportState::InProgress => ExportProgress::InProgress,
            ExportState::Failed { error } => ExportProgress::Failed { error },
            ExportState::Done { path, .. } => {
                let name = file_name::archive(&job.patient, &job.id);
                ExportProgress::Done { download_url: self.download_url(&path, &name, LINK_LIFETIME).await? }
            }
        };
        Ok(ExportStatus { id: job.id, progress })
    }

    /// Sets how many seconds lie between two exports of a patient, or of every patient for whom nothing else is set.
    pub async fn set_export_interval(&self, patient: Option<&str>, interval_s: i64) -> Result<()> {
        if let Some(uuid) = patient
            && self.health.patient(uuid).await?.is_none()
        {
            return Err(PlatformError::NotFound("patient"));
        }
        Ok(self.health.set_export_interval(patient, interval_s).await?)
    }

    /// Writes the entry of an export, once, and frees the export for work.
    async fn free_export(&self, id: &str, entry: NewAuditEntry) -> Result<()> {
        self.users.record_once(self.audit(vec![entry])).await?;
        Ok(self.health.export_entry_written(id, self.now_ms()).await?)
    }

    /// Does what a node that was killed has left undone between noting an export and freeing it; one that fails does
    /// not hold up the others.
    ///
    /// # Errors
    /// The first failure, when everything else has been tried.
    pub(crate) async fn free_owed_exports(&self) -> Result<()> {
        let mut first_failure = None;
        for owed in self.health.owed_export_entries(self.now_ms() - OWED_FOR_MS).await? {
            let entry = serde_json::from_str(&owed.entry);
            let entry = entry.map_err(|error| StoreError::Damaged(format!("the entry of an export: {error}")));
            let freed = match entry {
                Ok(entry) => self.free_export(&owed.id, entry).await,
                Err(error) => Err(error.into()),
            };
            match freed {
                Ok(()) => self.wake_exports(),
                Err(error) => first_failure = first_failure.or(Some(error)),
            }
        }
        first_failure.map_or(Ok(()), Err)
    }
}
