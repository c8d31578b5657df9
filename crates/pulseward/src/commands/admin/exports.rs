//! How often exports may be asked for.

use clap::Args;
use platform::Platform;
use serde_json::{Value, json};

use super::operate::Operate;
use crate::failure::Failure;
use crate::values::Interval;
use store::PatientId;

/// Set the time between two exports, of one patient or of every patient without a setting of their own
#[derive(Args)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("whose").required(true).args(["default", "patient"])))]
pub struct SetExportLimit {
    /// For every patient without a setting of their own
    #[arg(long)]
    default: bool,
    /// For the patient with this uuid
    #[arg(long, value_name = "UUID")]
    patient: Option<String>,
    /// The time, such as 300s; 0s sets no limit
    #[arg(long, value_name = "SPAN")]
    interval: Interval,
}

impl Operate for SetExportLimit {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        platform.data.set_export_interval(self.patient.map(PatientId::new).as_ref(), self.interval.seconds).await?;
        Ok(json!({"interval_s": self.interval.seconds}))
    }
}
