//! The pass over everything stored, day by day: each sealed file and each row is read and compared with its checksum, so that
//! damage is found while there still is a copy, and not by the reader who needs the rows.

use std::time::Duration;

use boxed_futures::boxed_futures;
use runtime::Instant;
use store::{PagesPart, ScrubFinding, ScrubStage, ScrubState, StoreError, Walk, WalkPart, WalkPosition};

use crate::core::error::{PlatformError, Result};
use crate::core::work::{Ended, Work};
use crate::upkeep::Upkeep;
use crate::upkeep::sealed_files::finding;

/// The next pass begins so long after the last one has ended.
const PASS_EVERY_MS: i64 = 86_400_000;
/// A run ends after this, so that another node can take the pass over.
const LONGEST_RUN: Duration = Duration::from_mins(1);
/// Rows that are looked at in one statement.
const ROWS_AT_ONCE: i64 = 256;
/// Bytes of sealed files after which it is noted how far the pass is.
const BYTES_AT_ONCE: u64 = 8 << 20;
/// The longest sleep between two looks at whether the work is still wanted.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// What a part of the pass came to.
#[derive(Debug, Default)]
struct Part {
    files: u64,
    rows: u64,
    bytes: u64,
    found: Vec<ScrubFinding>,
    /// Behind what the stage goes on; none at its end.
    next: Option<String>,
}

#[boxed_futures]
impl Upkeep {
    /// Returns how far the pass over everything stored is; none before the first one.
    pub async fn scrub_state(&self) -> Result<Option<ScrubState>> {
        Ok(self.core.health().scrub_state().await?)
    }

    /// Goes on with the pass for a while, at the rate that is set.
    pub(crate) async fn scrub(&self, work: &Work) -> Result<Ended> {
        let rate = self.core.settings().scrub_bytes_per_s;
        let Some(mut state) = self.pass_to_go_on_with().await?.filter(|_| rate > 0) else { return Ok(Ended::Done) };
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_RUN {
            let part_begun = Instant::now();
            let bytes = self.scrub_part(&mut state).await?;
            if state.ended_ms.is_some() {
                return Ok(Ended::Done);
            }
            let due = Duration::from_secs_f64(bytes as f64 / rate as f64);
            while part_begun.elapsed() < due {
                work.check()?;
                runtime::sleep(LONGEST_SLEEP.min(due.saturating_sub(part_begun.elapsed()))).await;
            }
            work.check()?;
        }
        Ok(Ended::AgainIn(Duration::ZERO))
    }

    /// Returns the pass that is under way, or a new one when it is time for it.
    async fn pass_to_go_on_with(&self) -> Result<Option<ScrubState>> {
        let (health, now_ms) = (self.core.health(), self.core.now_ms());
        let Some(state) = health.scrub_state().await? else {
            // The first pass is a day off: a store that is new has nothing to check.
            health.save_scrub(ScrubState { ended_ms: Some(now_ms), ..pass(0, now_ms) }).await?;
            return Ok(None);
        };
        Ok(match state.ended_ms {
            None => Some(state),
            Some(ended_ms) if now_ms < ended_ms + PASS_EVERY_MS => None,
            Some(_) => Some(pass(state.pass + 1, now_ms)),
        })
    }

    /// Looks at the next part and notes what was found; answers how many bytes it had.
    async fn scrub_part(&self, state: &mut ScrubState) -> Result<u64> {
        let health = self.core.health();
        let part = match state.stage {
            ScrubStage::SealedFiles => self.scrub_files(&state.position).await?,
            stage => self.rows_part(stage, &state.position).await?,
        };
        state.files += part.files as i64;
        state.rows += part.rows as i64;
        state.bytes += part.bytes as i64;
        if let Some(position) = part.next {
            state.position = position;
        } else {
            state.position.clear();
            match ScrubStage::ALL.iter().skip_while(|stage| **stage != state.stage).nth(1) {
                Some(next) => state.stage = *next,
                None => state.ended_ms = Some(self.core.now_ms()),
            }
        }
        for finding in &part.found {
            tracing::error!(%finding, "what is stored is damaged");
        }
        // Before the place: a pass that is killed between the two finds them again.
        health.note_findings(state.pass, &part.found, self.core.now_ms()).await?;
        if state.ended_ms.is_some() {
            // Not before: until then the pass has not come to where earlier ones found something.
            match health.forget_findings(state.pass, self.core.now_ms()).await {
                // The pass has ended all the same, or it would never come to its end.
                Err(error) if error.is_damage() => tracing::error!(%error, "old findings could not be forgotten"),
                forgotten => forgotten?,
            }
        }
        health.save_scrub(state.clone()).await?;
        Ok(part.bytes)
    }

    /// Reads sealed files whole, in the order of their paths.
    async fn scrub_files(&self, behind: &str) -> Result<Part> {
        let (rows, found) = self.files_behind(behind).await?;
        let mut part = Part { found, ..Part::default() };
        for row in rows {
            part.files += 1;
            part.bytes += row.object.bytes;
            part.next = Some(row.object.path.clone());
            self.check_file(&row).await?;
            if part.bytes >= BYTES_AT_ONCE {
                break;
            }
        }
        Ok(part)
    }

    /// Looks at every row of the health database and every page of both at once, without a rate; answers how many rows there
    /// are, and what is damaged. `progress` hears of the number of rows. What is found is noted as a pass notes it, and
    /// what is right again is forgotten.
    pub async fn verify_rows(&self, mut progress: impl FnMut(u64)) -> Result<(u64, Vec<ScrubFinding>)> {
        let (mut rows, mut found) = (0, Vec::new());
        for stage in ScrubStage::ALL.iter().filter(|stage| **stage != ScrubStage::SealedFiles) {
            let mut position = Some(String::new());
            while let Some(behind) = position {
                let part = self.rows_part(*stage, &behind).await?;
                rows += part.rows;
                progress(rows);
                found.extend(part.found);
                position = part.next;
            }
        }
        self.note_all(&found).await?;
        Ok((rows, found))
    }

    /// Notes what a look at everything has found in the place of what was noted before.
    async fn note_all(&self, found: &[ScrubFinding]) -> Result<()> {
        let health = self.core.health();
        // A pass that is under way forgets what earlier ones have noted, and this is no earlier one.
        let number = match health.scrub_state().await {
            Err(error) if error.is_damage() => return Ok(()),
            state => state?.map_or(0, |state| state.pass) + 1,
        };
        match health.age_findings(number).await {
            Err(error) if error.is_damage() => {}
            aged => aged?,
        }
        health.note_findings(number, found, self.core.now_ms()).await?;
        match health.forget_findings(number, self.core.now_ms()).await {
            Err(error) if error.is_damage() => Ok(()),
            forgotten => Ok(forgotten?),
        }
    }

    /// Looks at the next rows or pages of a stage.
    async fn rows_part(&self, stage: ScrubStage, behind: &str) -> Result<Part> {
        let health = self.core.health();
        match stage {
            ScrubStage::SealedFiles => Ok(Part::default()),
            ScrubStage::Chunks => self.walk(Walk::Chunks, stage, behind).await,
            ScrubStage::Derived => self.walk(Walk::Derived, stage, behind).await,
            ScrubStage::Settings => self.walk(Walk::Settings, stage, behind).await,
            ScrubStage::Patients => self.walk(Walk::Patients, stage, behind).await,
            ScrubStage::HealthPages => Ok(pages_part("health", health.check_pages(behind).await?)),
            ScrubStage::UsersPages => Ok(pages_part("users", self.core.users().check_pages(behind).await?)),
        }
    }

    async fn walk(&self, walk: Walk, stage: ScrubStage, behind: &str) -> Result<Part> {
        let behind = if behind.is_empty() { WalkPosition::default() } else { position_of(behind)? };
        let walked = self.core.health().verify_part(walk, behind, ROWS_AT_ONCE).await?;
        let WalkPart { rows, bytes, findings, next } = walked;
        let found = findings.into_iter().map(|one| finding(stage.name(), one)).collect();
        let next = next.map(|next| serde_json::to_string(&next)).transpose();
        let next = next.map_err(|error| PlatformError::Internal(error.to_string()))?;
        Ok(Part { files: 0, rows, bytes, found, next })
    }
}

/// Returns a pass at its beginning.
fn pass(number: i64, now_ms: i64) -> ScrubState {
    ScrubState {
        pass: number,
        stage: ScrubStage::SealedFiles,
        position: String::new(),
        begun_ms: now_ms,
        ended_ms: None,
        files: 0,
        rows: 0,
        bytes: 0,
    }
}

fn pages_part(database: &'static str, PagesPart { bytes, damaged, next }: PagesPart) -> Part {
    let found = damaged.into_iter().map(|page| ScrubFinding::Page(database, page)).collect();
    Part { bytes, found, next, ..Part::default() }
}

fn position_of(text: &str) -> Result<WalkPosition> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(format!("the place of a pass: {error}")).into())
}
