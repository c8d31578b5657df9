//! What an operator asks when he wants to know whether all is well: damage, what is missing, growth.

use std::collections::{BTreeMap, HashMap};

use futures::StreamExt;
use sha2::{Digest, Sha256};
use store::segment::SegmentRow;

use crate::environment::Platform;
use crate::error::Result;
use crate::ids::hex;

/// Days over which growth is measured.
const RECENT_DAYS: i64 = 30;
const DAY_US: i64 = 86_400_000_000;

/// How much a group's patients have stored. Who is in several groups counts in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupStorage {
    /// Its code.
    pub code: String,
    /// Patients with samples.
    pub patients: u64,
    /// Bytes, compressed as they lie.
    pub bytes: u64,
    /// Samples.
    pub rows: u64,
    /// Bytes a day, of what was measured in the last thirty days.
    pub bytes_per_day: u64,
}

/// What a check of every segment has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Segments that were read.
    pub segments: u64,
    /// Their size.
    pub bytes: u64,
    /// Paths of segments that are not there.
    pub missing: Vec<String>,
    /// Paths of segments that are not what was written.
    pub damaged: Vec<String>,
}

impl Platform {
    /// How much is stored, by group, in the order of the codes.
    pub async fn storage_by_group(&self) -> Result<Vec<GroupStorage>> {
        let recent_since_us = self.now_ms() * 1000 - RECENT_DAYS * DAY_US;
        let mut amounts: HashMap<String, (u64, u64, u64)> = HashMap::new();
        for amount in self.health.stored_amounts(recent_since_us).await? {
            let of_patient = amounts.entry(amount.patient).or_default();
            of_patient.0 += amount.bytes;
            of_patient.1 += amount.rows;
            of_patient.2 += amount.recent_bytes;
        }
        let mut groups: BTreeMap<String, GroupStorage> = BTreeMap::new();
        for (code, patient) in self.users.groups_of_patients().await? {
            let group = groups.entry(code.clone()).or_insert_with(|| GroupStorage { code, ..GroupStorage::default() });
            if let Some((bytes, rows, recent_bytes)) = amounts.get(&patient) {
                group.patients += 1;
                group.bytes += bytes;
                group.rows += rows;
                group.bytes_per_day += recent_bytes / RECENT_DAYS as u64;
            }
        }
        Ok(groups.into_values().collect())
    }

    /// Reads every segment and compares it with what the catalog says. `progress` hears of each.
    pub async fn verify_segments(&self, mut progress: impl FnMut(u64)) -> Result<Verification> {
        let mut found = Verification::default();
        let mut behind = String::new();
        loop {
            let rows = self.health.segments_by_path(&behind).await?;
            let Some(last) = rows.last() else { return Ok(found) };
            behind.clone_from(&last.object.path);
            for row in &rows {
                self.verify_segment(row, &mut found).await?;
                progress(found.segments);
            }
        }
    }

    async fn verify_segment(&self, row: &SegmentRow, found: &mut Verification) -> Result<()> {
        let object = &row.object;
        found.segments += 1;
        let Some(read) = self.objects.read(&object.path, None).await? else {
            // Sealed anew since it was listed, and swept.
            if self.health.known_paths(vec![object.path.clone()]).await?.contains(&object.path) {
                found.missing.push(object.path.clone());
            }
            return Ok(());
        };
        let (mut hash, mut bytes) = (Sha256::new(), read.bytes);
        while let Some(piece) = bytes.next().await {
            let piece = piece?;
            found.bytes += piece.len() as u64;
            hash.update(&piece);
        }
        if hex(&hash.finalize()) != object.sha256 {
            found.damaged.push(object.path.clone());
        }
        Ok(())
    }
}
