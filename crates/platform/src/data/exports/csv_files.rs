//! Data files as CSV: one for each type, of ppg2 one for each colour and position. Types without rows have none.

use std::collections::BTreeSet;

use vitals::registry::{Channel, DataType};
use vitals::text::{CsvRows, header};

use super::archive::Archive;
use super::file_name;
use super::filling::{Filling, Rows};
use super::local_range::TouchedPeriod;
use crate::core::error::Result;

/// Adds the files of a type.
pub(super) async fn add(filling: &mut Filling<'_>, data_type: DataType) -> Result<()> {
    let periods = filling.range.touched_periods(filling.core, filling.patient, data_type).await?;
    if !file_name::has_file_per_channel(data_type) {
        return add_file(filling, data_type, &periods, None).await;
    }
    // An archive is written from front to back, one file at a time, so each channel is a pass of its own.
    let mut channels: BTreeSet<Channel> = BTreeSet::new();
    for touched in &periods {
        let Filling { core, patient, verified, .. } = &*filling;
        channels.extend(core.health().channels_of_period(patient.uuid(), data_type, touched.period, verified).await?);
    }
    for channel in channels {
        add_file(filling, data_type, &periods, Some(channel)).await?;
    }
    Ok(())
}

async fn add_file(
    filling: &mut Filling<'_>,
    data_type: DataType,
    periods: &[TouchedPeriod],
    channel: Option<Channel>,
) -> Result<()> {
    let name = format!("{}.csv", file_name::data_file(data_type, channel));
    let mut rows = Rows::default();
    let mut is_begun = false;
    // The text keeps its memory from one piece to the next.
    let mut writer = (CsvRows::default(), Vec::new());
    for touched in periods {
        let health = filling.core.health();
        let (period, times_us) = (touched.period, touched.times_us.clone());
        let mut pieces = health
            .period_rows(filling.patient.uuid(), data_type, period, times_us, channel)
            .verifying(&filling.verified);
        while let Some(blocks) = pieces.next().await? {
            (filling.interruption)()?;
            let blocks = filling.within(blocks, touched);
            // The file is begun with its first row: a type without rows has no file.
            if blocks.is_empty() {
                continue;
            }
            rows.add(&blocks);
            let begin = (!std::mem::replace(&mut is_begun, true)).then(|| name.clone());
            let (mut csv, mut text) = writer;
            writer = filling
                .sink
                .write(move |archive| {
                    text.clear();
                    if let Some(name) = begin {
                        archive.begin(&name)?;
                        text.extend(header(data_type));
                    }
                    csv.write(&blocks, &mut text);
                    archive.write(&text)?;
                    Ok((csv, text))
                })
                .await?;
        }
    }
    if is_begun {
        let entry = filling.sink.write(Archive::end).await?;
        filling.files.push(rows.described(name, data_type.name(), entry)?);
    }
    Ok(())
}
