//! The exports of an account.

use boxed_futures::boxed_futures;
use runtime::HashSet;
use store::{ExportId, ExportJob, ExportState, GroupCode, PatientId};

use super::request::ExportRequest;
use crate::core::access::Researcher;
use crate::core::error::Result;
use crate::data::Data;

/// Conditions on the exports of a list; all of them without any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportFilter {
    /// Those of this patient.
    pub patient: Option<PatientId>,
    /// Those of the patients of this group.
    pub group: Option<GroupCode>,
}

/// An export in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedExport {
    /// Record identifier, 24 hex digits.
    pub id: ExportId,
    /// The patient.
    pub patient: PatientId,
    /// Time at which it was asked for, ms.
    pub created_ms: i64,
    /// The request.
    pub request: ExportRequest,
    /// Its progress.
    pub state: ExportState,
}

impl ListedExport {
    fn of(job: ExportJob) -> Result<Self> {
        let ExportJob { id, patient, request, created_ms, state, .. } = job;
        Ok(ListedExport { id, patient, created_ms, request: ExportRequest::from_json(&request)?, state })
    }
}

#[boxed_futures]
impl Data {
    /// Returns the exports that the caller's account has asked for, newest first, as far as it has access to their patients.
    /// Not found or forbidden when that is so of the patient or group that is named.
    pub async fn exports(&self, researcher: &Researcher, filter: &ExportFilter) -> Result<Vec<ListedExport>> {
        let members: Option<HashSet<PatientId>> = match &filter.group {
            Some(code) => Some(self.core.readable_members(researcher, code).await?.into_uuids().into_iter().collect()),
            None => None,
        };
        if let Some(patient) = &filter.patient {
            self.core.patient_access(researcher, patient).await?;
        }
        researcher.require_manager()?;
        let mut jobs = self.core.health().exports_of(&researcher.account, filter.patient.as_ref()).await?;
        // The account can have left a group since it asked, as when it opens an archive.
        let within = match members {
            Some(members) => members,
            None => self.within_reach(researcher, jobs.iter().map(|job| job.patient.clone()).collect()).await?,
        };
        jobs.retain(|job| within.contains(&job.patient));
        jobs.into_iter().map(ListedExport::of).collect()
    }

    /// Returns those of some patients who are in a group that the caller may act on.
    async fn within_reach(&self, researcher: &Researcher, patients: HashSet<PatientId>) -> Result<HashSet<PatientId>> {
        let groups = self.people.groups(researcher).await?;
        let codes: HashSet<GroupCode> = groups.into_iter().map(|group| group.code).collect();
        let held = self.core.users().groups_holding(patients.into_iter().collect()).await?;
        Ok(held.into_iter().filter(|(_, code)| codes.contains(code)).map(|(patient, _)| patient).collect())
    }
}
