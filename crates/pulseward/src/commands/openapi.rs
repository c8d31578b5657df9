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
        write_out(api::document_text().as_bytes())
    }
}
