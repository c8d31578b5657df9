//! Raw samples of a patient, in pieces small enough to stream.

use std::time::Duration;

use boxed_futures::boxed_futures;
use futures::Stream;
use futures::stream::{self, StreamExt as _};
use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::{LocalClock, SECOND_US};

use crate::core::Core;
use crate::core::access::Readable;
use crate::core::error::Result;
use crate::data::Data;
use store::{PatientId, RowsAhead, StoreError};

/// A range of time whose ends are both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Milliseconds since 1970 UTC.
    Utc {
        /// First millisecond.
        from_ms: i64,
        /// Last millisecond.
        to_ms: i64,
    },
    /// Milliseconds since 1970-01-01T00:00 of each sample's own local clock.
    Local {
        /// First millisecond.
        from_ms: i64,
        /// Last millisecond.
        to_ms: i64,
    },
}

/// Part of a range in UTC; with an offset, only the samples whose local clock has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    from_us: i64,
    to_us: i64,
    offset_s: Option<i32>,
}

/// Time until the first rows: damage, and a bucket that does not answer, are reported within five seconds.
const LONGEST_FIRST_PIECE: Duration = Duration::from_millis(4_500);
/// Time that looking at later rows may take before that. The longest answer takes a small part of it from a disk.
const LONGEST_LOOK_AHEAD: Duration = Duration::from_secs(2);

/// Span that is read at once: a few thousand rows of the fastest signal, so that an answer takes little memory.
const fn step_us(data_type: DataType) -> i64 {
    if data_type.is_waveform() { 15 * SECOND_US } else { 3600 * SECOND_US }
}

#[boxed_futures]
impl Data {
    /// Returns the samples of a range in the order of time: a stream of pieces, each with one block for a channel. The
    /// first has been read, and what the others will read was compared with its checksums, when this answers.
    pub async fn samples(
        &self,
        patient: &Readable<PatientId>,
        data_type: DataType,
        range: Range,
    ) -> Result<impl Stream<Item = Result<Vec<Block>>> + Send + use<>> {
        let parts = match range {
            Range::Utc { from_ms, to_ms } => {
                vec![Part { from_us: from_ms * 1000, to_us: to_ms * 1000 + 999, offset_s: None }]
            }
            Range::Local { from_ms, to_ms } => local_parts(&self.core, patient, data_type, from_ms, to_ms).await?,
        };
        let steps: Vec<Part> = parts.into_iter().flat_map(|part| in_steps(part, step_us(data_type))).collect();
        let health = self.core.health().clone();
        let patient = patient.uuid().clone();
        let ahead = match steps[..] {
            [first, .., last] => {
                Some(RowsAhead { patient: patient.clone(), data_type, from_us: first.from_us, to_us: last.to_us })
            }
            _ => None,
        };
        let read = move |part: Part| {
            let (health, patient) = (health.clone(), patient.clone());
            async move {
                let blocks = health.rows(&patient, data_type, part.from_us, part.to_us).await?;
                Ok(match part.offset_s {
                    None => blocks,
                    Some(offset_s) => blocks.into_iter().map(|block| with_offset(block, offset_s)).collect(),
                })
            }
        };
        // The next step is read when the client has taken the last one, so a slow client holds little memory.
        let mut pieces = Box::pin(stream::iter(steps).then(read));
        let first = async {
            if let Some(ahead) = ahead {
                // What is missing or damaged is reported before the first row: later it could only break the answer off.
                self.core.health().check_ahead(&ahead, LONGEST_LOOK_AHEAD).await?;
            }
            pieces.next().await.transpose()
        };
        let slow = |_| StoreError::Unavailable("the first rows did not come in time".to_owned());
        let first = runtime::timeout(LONGEST_FIRST_PIECE, first).await.map_err(slow)??;
        Ok(stream::iter(first.map(Ok)).chain(pieces))
    }
}

fn in_steps(part: Part, step_us: i64) -> impl Iterator<Item = Part> {
    let mut from_us = part.from_us;
    std::iter::from_fn(move || {
        if from_us > part.to_us {
            return None;
        }
        let to_us = (from_us + step_us - 1).min(part.to_us);
        let step = Part { from_us, to_us, ..part };
        from_us = to_us + 1;
        Some(step)
    })
}

async fn local_parts(
    core: &Core,
    patient: &Readable<PatientId>,
    data_type: DataType,
    from_ms: i64,
    to_ms: i64,
) -> Result<Vec<Part>> {
    let (from_local_us, to_local_us) = (from_ms * 1000, to_ms * 1000 + 999);
    let quarters = core.health().local_quarters(patient.uuid(), data_type, from_local_us, to_local_us).await?;
    let mut parts: Vec<Part> = Vec::new();
    for quarter in quarters {
        // Each quarter has the offset its rows were stored with; an hour shown twice by the clock is two parts.
        let offset_us = i64::from(quarter.offset_s) * SECOND_US;
        let part = Part {
            from_us: quarter.start_us.max(from_local_us - offset_us),
            to_us: (quarter.start_us + vitals::zone::QUARTER_US - 1).min(to_local_us - offset_us),
            offset_s: Some(quarter.offset_s),
        };
        match parts.last_mut() {
            // A day would otherwise be read as ninety-six ranges.
            Some(last) if last.offset_s == part.offset_s && last.to_us + 1 == part.from_us => last.to_us = part.to_us,
            _ => parts.push(part),
        }
    }
    Ok(parts)
}

/// Returns the rows whose local clock has an offset.
fn with_offset(block: Block, offset_s: i32) -> Block {
    let mut kept: Vec<Block> = Vec::new();
    for (run, zone) in block.zones.iter() {
        let mut clock = LocalClock::new(zone);
        let mut start = run.start;
        while start < run.end {
            let matches = clock.offset_seconds(block.times_us[start]) == offset_s;
            let end = (start..run.end)
                .find(|row| (clock.offset_seconds(block.times_us[*row]) == offset_s) != matches)
                .unwrap_or(run.end);
            if matches {
                kept.push(block.slice(start..end));
            }
            start = end;
        }
    }
    match kept.len() {
        0 => Block::empty(block.data_type, block.channel),
        1 if kept[0].rows() == block.rows() => block,
        _ => Block::concatenated(&kept.iter().collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::zone::ZoneRuns;

    #[test]
    fn ranges_are_cut_without_gap_or_overlap() {
        let part = Part { from_us: 5, to_us: 26, offset_s: None };
        let steps: Vec<(i64, i64)> = in_steps(part, 10).map(|step| (step.from_us, step.to_us)).collect();
        assert_eq!(steps, [(5, 14), (15, 24), (25, 26)]);
        assert_eq!(in_steps(Part { from_us: 2, to_us: 1, offset_s: None }, 10).count(), 0);
    }

    #[test]
    fn only_rows_of_the_offset_are_kept() {
        let mut block = Block::empty(DataType::Sleep, vitals::registry::Channel::default());
        block.times_us = vec![1_763_596_800_000_000, 1_763_596_801_000_000, 1_763_596_802_000_000];
        block.zones = ZoneRuns::constant("UTC".into(), 1);
        block.zones.push("Europe/Zurich".into(), 1);
        block.zones.push("UTC".into(), 1);
        assert_eq!(with_offset(block.clone(), 0).times_us, [1_763_596_800_000_000, 1_763_596_802_000_000]);
        assert_eq!(with_offset(block.clone(), 3600).rows(), 1);
        assert!(with_offset(block, 7200).is_empty());
    }
}
