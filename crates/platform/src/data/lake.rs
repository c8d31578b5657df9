//! The open lake: sealed segments as files that any tool reads, listed with addresses that end.
//!
//! Anyone who has an address has the data, so listing is an export like any other: only who may export may list, and
//! the audit log reports each patient whose files are named.

use std::collections::BTreeMap;
use std::time::Duration;

use boxed_futures::boxed_futures;
use serde_json::json;
use store::segment::{LakeSegment, OpenPeriod, SealedPeriod};
use store::{GroupCode, PatientId, StoreError};

use crate::core::access::Researcher;
use crate::core::audit::{Action, hcp_admin_entity, patient_entity};
use crate::core::error::{PlatformError, Result};
use crate::data::Data;
use crate::data::lake_listings::FoundOpen;

/// How long an address in a listing holds.
const LINK_LIFETIME: Duration = Duration::from_hours(1);
/// Files of a page at most.
pub const LARGEST_LAKE_PAGE: i64 = 1000;

/// A file of the lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeFile {
    /// The segment, and whose it is.
    pub segment: LakeSegment,
    /// Its period in UTC, `2026-11-20` or `2026-11`.
    pub period: String,
    /// Where it can be fetched for an hour.
    pub url: String,
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakePage {
    /// The files, in the order in which they were published.
    pub files: Vec<LakeFile>,
    /// What to ask for next: what is published later has a greater number.
    pub next_since: i64,
    /// Whether there is more now.
    pub more: bool,
    /// Patients who have files that cannot be listed: what is stored about them is damaged.
    pub unreadable: Vec<PatientId>,
    /// From when on rows of each type are not in files, or not all of them, as the first page of the listing has found it.
    pub open: Vec<OpenPeriod>,
}

#[boxed_futures]
impl Data {
    /// The segments of a group's patients that were published after a number, at most so many. Those that are damaged in
    /// the catalog are left out, and their patients named.
    pub async fn lake_page(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        since: Option<i64>,
        limit: i64,
    ) -> Result<LakePage> {
        let patients = self.core.readable_members(researcher, group_code).await?.into_uuids();
        researcher.require_manager()?;
        let (account, now_ms) = (&researcher.account, self.core.now_ms());
        let known = since.and_then(|since| self.listings.find(account, group_code, since, now_ms));
        let open = match known {
            Some(known) => known,
            // Before the files: what is sealed meanwhile is then named twice and not nowhere.
            None => FoundOpen { periods: self.core.health().open_periods(patients.clone()).await?, at_ms: now_ms },
        };
        let limit = limit.clamp(1, LARGEST_LAKE_PAGE);
        let after = since.unwrap_or(-1);
        let (segments, damaged) = self.core.health().lake_segments(patients, after, limit).await?;
        let error = PlatformError::from(StoreError::Damaged("a row of the catalog".to_owned()));
        for patient in &damaged {
            self.log_unreadable(patient, "lake", &error);
        }
        let more = segments.len() as i64 == limit;
        // An empty page answers the number that was asked with, so that a client can go on asking with it.
        let next_since = segments.last().map_or(after.max(0), |last| last.published);
        // Before the addresses are made: anyone who has one can fetch the file without another entry.
        self.note_listing(researcher, group_code, &segments).await?;
        let mut files = Vec::with_capacity(segments.len());
        for segment in segments {
            let data_type = segment.segment.data_type;
            let period = SealedPeriod::of(data_type, segment.segment.period_start_us).date_text(data_type);
            let name = format!("{}_{}_{period}.parquet", segment.segment.patient, data_type.name());
            let url = self.download_url(&segment.segment.object.path, &name, LINK_LIFETIME).await?;
            files.push(LakeFile { segment, period, url });
        }
        let periods = open.periods.clone();
        if more {
            self.listings.expect(account, group_code, next_since, open);
        }
        Ok(LakePage { files, next_since, more, unreadable: damaged.into_iter().collect(), open: periods })
    }

    /// Writes an entry for each patient with files on a page.
    async fn note_listing(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        segments: &[LakeSegment],
    ) -> Result<()> {
        let mut counts: BTreeMap<&PatientId, usize> = BTreeMap::new();
        for segment in segments {
            *counts.entry(&segment.segment.patient).or_default() += 1;
        }
        let hcp_admin = hcp_admin_entity(&researcher.account);
        let entries: Vec<_> = counts
            .into_iter()
            .map(|(patient, files)| {
                let primary = patient_entity(patient);
                let mut entry = self.core.entry(
                    Action::export_through(researcher.entrance),
                    researcher,
                    primary,
                    Some(hcp_admin.clone()),
                );
                entry.details = Some(json!({"lake": group_code, "files": files}).to_string());
                entry
            })
            .collect();
        if !entries.is_empty() {
            self.core.users().record(self.core.audit(entries)).await?;
        }
        Ok(())
    }
}
