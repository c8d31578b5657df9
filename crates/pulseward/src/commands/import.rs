//! `pulseward import`: sends the rows of CSV files as syncs of bounded size.

mod batch;
mod reader;
mod sender;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use vitals::registry::DataType;

use self::batch::Batch;
use self::reader::Rows;
use self::sender::{Counts, Sender};
use crate::commands::simulate::progress_bar;
use crate::failure::Failure;
use crate::output::Output;

/// Send CSV files (also .gz) whose columns have the names of the data dictionary
#[derive(Args)]
pub struct Import {
    /// Address of the service, such as `http://127.0.0.1:8080`
    #[arg(long, value_name = "URL", env = "PULSEWARD_URL")]
    url: String,
    /// The patient's token for the Health Cloud
    #[arg(long, value_name = "TOKEN", env = "PULSEWARD_BEARER", hide_env_values = true)]
    bearer: String,
    /// The data type of the rows
    #[arg(long = "type", value_name = "T", value_parser = parse_type)]
    data_type: DataType,
    /// IANA time zone of the samples' local times; default: the patient's
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

/// How the bodies of the syncs are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Not at all
    None,
    /// gzip
    Gzip,
    /// Zstandard
    Zstd,
}

fn parse_type(name: &str) -> Result<DataType, String> {
    DataType::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = DataType::ALL.iter().map(|data_type| data_type.name()).collect();
        format!("unknown data type, known are {}", known.join(", "))
    })
}

impl Import {
    /// Sends every file, and prints what became of the rows.
    pub async fn run(self) -> Result<(), Failure> {
        let sender = Sender::new(&self.url, &self.bearer, self.compress)?;
        let bar = progress_bar();
        let mut counts = Counts::default();
        for path in &self.files {
            bar.set_message(path.display().to_string());
            let mut rows = Rows::open(path, self.data_type)?;
            let mut batch = Batch::new(self.data_type, rows.columns(), self.time_zone.as_deref());
            while let Some(record) = rows.next()? {
                batch.push(&record).map_err(|reason| rows.at_this_line(&reason))?;
                if batch.is_full() {
                    counts.add(batch.rows(), sender.send(batch.take()).await?);
                    bar.set_position(counts.rows);
                }
            }
            if batch.rows() > 0 {
                counts.add(batch.rows(), sender.send(batch.take()).await?);
            }
        }
        bar.finish_and_clear();
        self.output.print(&json!({
            "rows": counts.rows,
            "stored": counts.stored,
            "duplicate": counts.duplicate,
            "rejected": counts.rejected,
        }))
    }
}
