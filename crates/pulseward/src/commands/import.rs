//! `pulseward import`: sends the rows of CSV files, or of the archive of an export, as syncs of bounded size.

mod archive;
mod batch;
mod columnar;
mod compression;
mod reader;
mod rejections;
mod sender;
mod verify;
mod zones;

use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;
use vitals::registry::DataType;

use self::archive::{Archive, Entry, Form};
use self::batch::Batch;
use self::columnar::RowZones;
use self::compression::Compression;
use self::reader::Rows;
use self::rejections::{Origin, Rejections};
use self::sender::{Answer, Counts, Sender};
use self::zones::ZoneOfRow;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::service::ServiceOptions;

/// Said after the rows of an archive of CSV: the service cannot know them again by their times.
const WHOLE_MILLISECONDS: &str = "warning: an archive of CSV has whole milliseconds; a row that the patient still has at \
    a fraction of a millisecond is not known again and is now there twice; to a patient who still has their data, send an \
    archive of Parquet";

/// Send archives of exports, or CSV files (also .gz) whose columns have the names of the data dictionary
#[derive(Args)]
pub struct Import {
    #[command(flatten)]
    service: ServiceOptions,
    /// The patient's token for the Health Cloud
    #[arg(long, value_name = "TOKEN", env = "PULSEWARD_BEARER", hide_env_values = true)]
    bearer: String,
    /// The data type of the rows of CSV files; of an archive, the only one to send
    #[arg(long = "type", value_name = "T", value_parser = parse_type)]
    data_type: Option<DataType>,
    /// IANA time zone of the samples' local times; default: the patient's, of an archive its own
    #[arg(long, value_name = "Z")]
    time_zone: Option<String>,
    /// How to compress what is sent
    #[arg(long, value_enum, default_value_t = Compression::Gzip)]
    compress: Compression,
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

fn parse_type(name: &str) -> Result<DataType, String> {
    DataType::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = DataType::names().collect();
        format!("unknown data type, known are {}", known.join(", "))
    })
}

impl Import {
    /// Sends every file, and prints what became of the rows.
    pub async fn run(self) -> Result<(), Failure> {
        let sender = Sender::open(&self.service, &self.bearer, self.compress).await?;
        let bar = progress_bar();
        let mut sending = Sending {
            sender,
            bar,
            counts: Counts::default(),
            rejections: Rejections::default(),
            has_sent_lines: false,
        };
        // Every archive is looked through before anything is sent.
        let mut archives = Vec::new();
        for path in &self.files {
            sending.bar.set_message(path.display().to_string());
            let mut archive = Archive::open(path)?;
            if let Some(archive) = &mut archive {
                // A damaged archive must be found before half of it has been stored.
                archive.verify()?;
            }
            archives.push((path, archive));
        }
        for (path, archive) in archives {
            sending.bar.set_message(path.display().to_string());
            match archive {
                Some(archive) => self.send_archive(archive, &mut sending).await?,
                None => self.send_csv(path, &mut sending).await?,
            }
        }
        sending.bar.finish_and_clear();
        sending.rejections.end(sending.counts.rejected);
        if sending.has_sent_lines {
            // Reported after the work and not before: it matters for what is done with the patient next.
            eprintln!("{WHOLE_MILLISECONDS}");
        }
        let counts = sending.counts;
        self.output.print(&json!({
            "rows": counts.rows,
            "stored": counts.stored,
            "duplicate": counts.duplicate,
            "rejected": counts.rejected,
        }))
    }

    async fn send_csv(&self, path: &Path, sending: &mut Sending) -> Result<(), Failure> {
        let Some(data_type) = self.data_type else {
            // The columns of several types overlap, so a guess would be wrong without a sign.
            return Err(Failure::Usage(format!("{}: --type says what the rows of a CSV file are", path.display())));
        };
        let mut rows = Rows::open(path, data_type)?;
        let mut batch = Batch::new(data_type, rows.columns(), self.time_zone.as_deref());
        while let Some(record) = rows.next()? {
            batch.push(&record, rows.line()).map_err(|reason| rows.at_this_line(&reason))?;
            sending.send_if_full(&mut batch, rows.path()).await?;
        }
        sending.send(&mut batch, rows.path()).await
    }

    async fn send_archive(&self, mut archive: Archive, sending: &mut Sending) -> Result<(), Failure> {
        for entry in archive.entries()? {
            if self.data_type.is_some_and(|wanted| wanted != entry.data_type) {
                continue;
            }
            match entry.form {
                Form::Csv => {
                    sending.has_sent_lines = true;
                    self.send_lines(&mut archive, &entry, sending).await?;
                }
                Form::Parquet => self.send_columns(&mut archive, &entry, sending).await?,
            }
        }
        Ok(())
    }

    async fn send_lines(&self, archive: &mut Archive, entry: &Entry, sending: &mut Sending) -> Result<(), Failure> {
        let zones = match &self.time_zone {
            Some(zone) => vec![zone.clone()],
            None => archive.time_zones().to_vec(),
        };
        let mut rows = archive.rows(entry)?;
        let date = rows.date_position();
        let mut zones = ZoneOfRow::new(zones);
        let mut batch = Batch::new(entry.data_type, rows.columns(), zones.current());
        while let Some(record) = rows.next()? {
            if zones.has_changed(record.get(0), date.and_then(|position| record.get(position))) {
                // A sync has one zone, so rows of the next zone begin another one.
                sending.send(&mut batch, rows.path()).await?;
                batch = Batch::new(entry.data_type, rows.columns(), zones.current());
            }
            batch.push(&record, rows.line()).map_err(|reason| rows.at_this_line(&reason))?;
            sending.send_if_full(&mut batch, rows.path()).await?;
        }
        sending.send(&mut batch, rows.path()).await
    }

    async fn send_columns(&self, archive: &mut Archive, entry: &Entry, sending: &mut Sending) -> Result<(), Failure> {
        let zone = self.time_zone.as_deref();
        let row_zones = if zone.is_none() { RowZones::Kept } else { RowZones::LeftOut };
        let mut streams = archive.streams(entry, row_zones)?;
        while let Some(stream) = streams.next()? {
            let answer = sending.sender.send_columns(entry.data_type, zone, stream.bytes).await?;
            sending.add(stream.rows, &answer, &Origin::from_row(streams.path(), stream.first_row));
        }
        Ok(())
    }
}

/// Rows on their way, and what has become of those before.
struct Sending {
    sender: Sender,
    bar: ProgressBar,
    counts: Counts,
    rejections: Rejections,
    /// Whether rows of an archive of CSV were among them.
    has_sent_lines: bool,
}

impl Sending {
    async fn send_if_full(&mut self, batch: &mut Batch, path: &Path) -> Result<(), Failure> {
        if batch.is_full() { self.send(batch, path).await } else { Ok(()) }
    }

    async fn send(&mut self, batch: &mut Batch, path: &Path) -> Result<(), Failure> {
        if batch.rows() > 0 {
            let rows = batch.rows();
            let (body, lines) = batch.take();
            let answer = self.sender.send(body).await?;
            self.add(rows, &answer, &Origin::of_lines(path, lines));
        }
        Ok(())
    }

    fn add(&mut self, rows: u64, answer: &Answer, origin: &Origin) {
        self.counts.add(rows, answer.counts);
        self.rejections.name(origin, &answer.rejections, &self.bar);
        self.bar.set_position(self.counts.rows);
    }
}
