//! Rows of sealed periods, for readers and for syncs that reach back into them.

use vitals::block::Block;
use vitals::registry::{Channel, DataType};

use super::HealthDb;
use crate::error::Result;
use crate::segment::{SegmentReader, SegmentRow};

impl HealthDb {
    /// The rows that these segments hold in a range (µs, both ends included); of one channel, or of all. Several
    /// blocks of a channel follow each other in the order of time.
    pub(crate) async fn sealed_rows(
        &self,
        segments: &[SegmentRow],
        data_type: DataType,
        from_us: i64,
        to_us: i64,
        channel: Option<Channel>,
    ) -> Result<Vec<Block>> {
        let mut rows = Vec::new();
        for segment in segments {
            let object = &segment.object;
            let reader = SegmentReader::open(&self.objects, &object.path, object.bytes, data_type).await?;
            let channels = channel.as_ref().map(std::slice::from_ref);
            let mut pieces = reader.read(from_us..=to_us, channels)?;
            while let Some(blocks) = pieces.next().await? {
                rows.extend(blocks);
            }
        }
        Ok(rows)
    }
}
