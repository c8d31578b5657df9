//! A file as sealing would write it, for use of its bytes elsewhere.

use vitals::block::Block;
use vitals::registry::DataType;

use super::encode::Encoder;
use super::name::SegmentName;
use super::period::SealedPeriod;
use crate::error::Result;
use crate::ids::PatientId;

/// A Parquet file of one patient, type and period. The same rows give the same bytes as their segment has.
pub struct PeriodFile {
    encoder: Encoder,
}

impl std::fmt::Debug for PeriodFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PeriodFile")
    }
}

impl PeriodFile {
    /// Makes a file without rows.
    pub fn new(patient: PatientId, data_type: DataType, period: SealedPeriod) -> Result<Self> {
        // Neither generation nor random number enters a file.
        let name = SegmentName { patient, data_type, period, generation: 0, random: 0 };
        Ok(PeriodFile { encoder: Encoder::new(&name)? })
    }

    /// Adds blocks of one or several channels, all of which begin after the blocks of earlier calls have ended; answers
    /// the bytes that are ready.
    pub fn add(&mut self, blocks: Vec<Block>) -> Result<Vec<u8>> {
        self.encoder.add(blocks)
    }

    /// Returns the last bytes.
    pub fn finish(self) -> Result<Vec<u8>> {
        Ok(self.encoder.finish()?.bytes)
    }
}
