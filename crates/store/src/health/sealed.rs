//! Rows of sealed periods, for readers and for syncs that reach back into them.

use boxed_futures::boxed_futures;
use vitals::block::Block;
use vitals::registry::Channel;

use super::db::HealthDb;
use crate::error::{Result, of_rows};
use crate::segment::catalog::SegmentRow;
use crate::segment::read::SegmentReader;
use crate::segment::verify;

#[boxed_futures]
impl HealthDb {
    /// Opens a sealed file. One of before there were checksums of its blocks is read whole first, once in the life of the
    /// process.
    pub(crate) async fn open_sealed(&self, segment: &SegmentRow) -> Result<SegmentReader> {
        let SegmentRow { data_type, object, .. } = segment;
        let opened = async {
            if object.tail.is_none() {
                let compared = self.whole_files.check(&self.objects, object).await;
                of_rows(compared, data_type.name(), (object.first_us, object.last_us))?;
            }
            SegmentReader::open(&self.objects, object, *data_type).await
        };
        let opened = opened.await;
        self.noting_damage(&object.path, opened).await
    }

    /// Does the same for what writes the rows into another file: damage anywhere in the file must not be taken over.
    pub(crate) async fn open_to_merge(&self, segment: &SegmentRow) -> Result<SegmentReader> {
        let SegmentRow { data_type, object, .. } = segment;
        let compared = verify::compare(&self.objects, object).await;
        let compared = of_rows(compared, data_type.name(), (object.first_us, object.last_us));
        self.noting_damage(&object.path, compared).await?;
        SegmentReader::open(&self.objects, object, *data_type).await
    }

    /// Returns the rows that these segments hold in a range (µs, both ends included); of one channel, or of all.
    /// Several blocks of a channel follow each other in the order of time.
    pub(crate) async fn sealed_rows(
        &self,
        segments: &[SegmentRow],
        from_us: i64,
        to_us: i64,
        channel: Option<Channel>,
    ) -> Result<Vec<Block>> {
        let mut rows = Vec::new();
        for segment in segments {
            let reader = self.open_sealed(segment).await?;
            let channels = channel.as_ref().map(std::slice::from_ref);
            let mut pieces = reader.read(from_us..=to_us, channels)?;
            loop {
                let blocks = pieces.next().await;
                let Some(blocks) = self.noting_damage(&segment.object.path, blocks).await? else { break };
                rows.extend(blocks);
            }
        }
        Ok(rows)
    }
}
