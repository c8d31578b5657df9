//! Data files as Parquet: one for each type and stored period, as segments are.
//!
//! A period that is sealed in the present format, wholly asked for and not touched since is copied as it lies in the object store. Any other is
//! encoded as sealing would encode it, so that it makes no difference to the archive what was sealed when.

use futures::StreamExt;
use store::StoreError;
use store::segment::{PeriodFile, SegmentReader, SegmentRow};
use vitals::block::Block;
use vitals::registry::DataType;

use super::archive::Archive;
use super::filling::{Filling, Rows};
use super::local_range::TouchedPeriod;
use crate::core::error::Result;

/// Adds the files of a type.
pub(super) async fn add(filling: &mut Filling<'_>, data_type: DataType) -> Result<()> {
    for touched in filling.range.touched_periods(filling.core, filling.patient, data_type).await? {
        let health = filling.core.health();
        let content = health.period_content(filling.patient.uuid(), data_type, touched.period).await?;
        let sealed = match content.segment.filter(|_| touched.is_whole && content.chunks.is_empty()) {
            Some(segment) => {
                let reader = SegmentReader::open(filling.core.objects(), &segment.object, data_type).await?;
                // A file of an older format would make it visible when its period was sealed.
                reader.is_of_present_format().then_some((segment, reader))
            }
            None => None,
        };
        // A whole sealed period is copied as it lies: to decode and encode it again would only cost CPU.
        match sealed {
            Some((segment, reader)) => copy(filling, &touched, &segment, &reader).await?,
            None => encode(filling, data_type, &touched).await?,
        }
    }
    Ok(())
}

fn file_name(data_type: DataType, touched: &TouchedPeriod) -> String {
    format!("{}/{}.parquet", data_type.name(), touched.period.date_text(data_type))
}

async fn copy(
    filling: &mut Filling<'_>,
    touched: &TouchedPeriod,
    segment: &SegmentRow,
    reader: &SegmentReader,
) -> Result<()> {
    let data_type = segment.data_type;
    let object = &segment.object;
    let mut bytes = filling.core.health().read_sealed_file(&object.path).await?.bytes;
    let name = file_name(data_type, touched);
    let begun = name.clone();
    filling.sink.write(move |archive| archive.begin_stored(&begun)).await?;
    while let Some(piece) = bytes.next().await {
        (filling.interruption)()?;
        let piece = piece?;
        filling.sink.write(move |archive| archive.write(&piece)).await?;
    }
    let entry = filling.sink.write(Archive::end).await?;
    // The bytes are in the archive already, so the whole archive is given up.
    if (entry.bytes, &entry.sha256) != (object.bytes, &object.sha256) {
        return Err(StoreError::Damaged(format!("{} is not what was sealed", object.path)).into());
    }
    filling.zones.extend(reader.zones());
    let rows = Rows::known(object.rows, object.first_us, object.last_us);
    filling.files.push(rows.described(name, data_type.name(), entry)?);
    Ok(())
}

async fn encode(filling: &mut Filling<'_>, data_type: DataType, touched: &TouchedPeriod) -> Result<()> {
    let health = filling.core.health();
    let (period, times_us) = (touched.period, touched.times_us.clone());
    let mut pieces =
        health.period_rows(filling.patient.uuid(), data_type, period, times_us, None).verifying(&filling.verified);
    let name = file_name(data_type, touched);
    let mut rows = Rows::default();
    let mut file: Option<PeriodFile> = None;
    while let Some(blocks) = pieces.next().await? {
        (filling.interruption)()?;
        let blocks: Vec<Block> = filling.within(blocks, touched);
        if blocks.is_empty() {
            continue;
        }
        rows.add(&blocks);
        let (begun, patient) = (name.clone(), filling.patient.uuid().clone());
        let open = file.take();
        let written = filling.sink.write(move |archive| {
            let mut file = if let Some(file) = open {
                file
            } else {
                archive.begin_stored(&begun)?;
                PeriodFile::new(patient, data_type, period)?
            };
            archive.write(&file.add(blocks)?)?;
            Ok(file)
        });
        file = Some(written.await?);
    }
    // A period can be touched by its quarters and still have no row whose local clock lies in the range.
    let Some(file) = file else { return Ok(()) };
    let end = filling.sink.write(move |archive| {
        archive.write(&file.finish()?)?;
        archive.end()
    });
    let entry = end.await?;
    filling.files.push(rows.described(name, data_type.name(), entry)?);
    Ok(())
}
