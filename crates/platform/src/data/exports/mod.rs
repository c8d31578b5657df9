//! Raw-data exports: asked for here, written by the job `export`, fetched through a link that ends.
//!
//! An export touches both databases. First the work item is committed in the health database, which is where turns are
//! given, together with a message that enqueues for the users database its audit entry. Delivering the message frees
//! the item for work; see `core/delivery.rs`.

mod archive;
mod content;
pub(crate) mod counts;
mod csv_files;
mod dictionary;
mod file_name;
mod filling;
mod listed;
mod local_range;
mod manifest;
mod parquet_files;
mod request;
mod sink;
mod worker;

use std::time::Duration;

use boxed_futures::boxed_futures;
use store::{EXPORT_KIND, ExportId, ExportQueue, ExportState, ExportTurn, NewExport, PatientId};

pub use counts::EndedExports;
pub use listed::{ExportFilter, ListedExport};
pub use request::{ArchiveCompression, ArchiveFormat, ExportRequest};

use crate::core::access::Researcher;
use crate::core::audit::{Action, hcp_admin_entity, patient_entity};
use crate::core::error::{PlatformError, Result};
use crate::data::Data;

/// Time for which a link to an archive holds.
const LINK_LIFETIME: Duration = Duration::from_hours(1);
/// Time for which archives are kept.
pub(crate) const KEEP_ARCHIVES_MS: i64 = 7 * 86_400_000;

/// An export as the account that asked for it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportStatus {
    /// Record identifier, 24 hex digits.
    pub id: ExportId,
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
        /// Reason.
        error: String,
    },
}

#[boxed_futures]
impl Data {
    /// Returns the exports that have ended on this node since it started.
    pub fn ended_exports(&self) -> EndedExports {
        self.exports.ended()
    }

    /// Returns how many exports are in progress on all nodes, and since when.
    pub async fn export_queue(&self) -> Result<ExportQueue> {
        Ok(self.core.health().export_queue().await?)
    }

    /// Begins an export of a patient's raw data; answers its identifier. Too many when the last one was begun too
    /// short a time ago, whatever its types.
    pub async fn create_export(
        &self,
        researcher: &Researcher,
        patient: &PatientId,
        request: &ExportRequest,
    ) -> Result<ExportId> {
        // Before `begin_export`: a request that cannot be done must not use up the patient's turn.
        request.check()?;
        self.core.patient_access(researcher, patient).await?;
        researcher.require_manager()?;
        let hcp_admin = hcp_admin_entity(&researcher.account);
        let mut entry = self.core.entry(
            Action::export_through(researcher.entrance),
            researcher,
            patient_entity(patient),
            Some(hcp_admin),
        );
        entry.details = Some(request.to_json()?);
        let new = NewExport {
            id: self.core.new_export_id(),
            patient: patient.clone(),
            actor: researcher.account.clone(),
            request: request.to_json()?,
            entry,
            now_ms: self.core.now_ms(),
            interval_ms: self.core.settings().export_interval_s * 1000,
        };
        let id = new.id.clone();
        match self.core.health().begin_export(new).await? {
            ExportTurn::Begun => {}
            ExportTurn::TooSoon { wait_ms, interval_ms } => {
                let retry_after_s = (wait_ms.max(0) as u64).div_ceil(1000);
                return Err(PlatformError::ExportTooSoon { retry_after_s, interval_s: interval_ms / 1000 });
            }
            ExportTurn::UnknownPatient => return Err(PlatformError::NotFound("patient")),
        }
        // The entry is committed with the job; it is delivered now so that the log shows it when the answer comes.
        self.core.deliver_entries_of(patient).await?;
        self.core.signals().ring(EXPORT_KIND);
        Ok(id)
    }

    /// Returns how far an export is. Only the account that asked for it may know, and only while it has access to the
    /// patient.
    pub async fn export_status(&self, researcher: &Researcher, id: &ExportId) -> Result<ExportStatus> {
        let job = self.core.health().export(id).await?.ok_or(PlatformError::NotFound("export"))?;
        // The audit entry names this account: another member makes an export, and an entry, of their own.
        if job.actor != researcher.account {
            return Err(PlatformError::Forbidden("the caller has not asked for this export"));
        }
        // Checked again at each look: the account can have left the group since it asked.
        let patient = self.core.readable_patient(researcher, &job.patient).await?;
        researcher.require_manager()?;
        let progress = match job.state {
            ExportState::InProgress => ExportProgress::InProgress,
            ExportState::Failed { error } => ExportProgress::Failed { error },
            ExportState::Done { path, .. } => {
                let name = file_name::archive(patient.uuid(), &job.id);
                ExportProgress::Done { download_url: self.download_url(&path, &name, LINK_LIFETIME).await? }
            }
        };
        Ok(ExportStatus { id: job.id, progress })
    }

    /// Sets how many seconds lie between two exports of a patient, or of every patient without a setting of their own.
    pub async fn set_export_interval(&self, patient: Option<&PatientId>, interval_s: i64) -> Result<()> {
        if let Some(uuid) = patient
            && self.core.health().patient(uuid).await?.is_none()
        {
            return Err(PlatformError::NotFound("patient"));
        }
        Ok(self.core.health().set_export_interval(patient, interval_s).await?)
    }
}
