//! `pulseward openapi`: the description of the interface for programs.

use clap::Args;

use crate::failure::Failure;
use crate::output::write_out;

/// Print the OpenAPI document (JSON)
#[derive(Args)]
pub struct Openapi {}

impl Openapi {
    /// Prints the document.
    pub fn run() -> Result<(), Failure> {
        let text = api::document().to_pretty_json();
        let text = text.map_err(|error| Failure::Other(format!("the document cannot be written: {error}")))?;
        write_out(format!("{text}\n").as_bytes())
    }
}
