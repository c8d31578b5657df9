//! `pulseward audit`: whether the audit log is what was written, and signatures of it.

mod checkpoint;
mod kept;
pub mod report;
mod seal;
mod verify;

use clap::{ArgMatches, Args, Subcommand};

use self::checkpoint::WriteCheckpoint;
use self::seal::SealAgain;
use self::verify::Verify;
use crate::failure::Failure;

/// Check and sign the audit log
#[derive(Args)]
pub struct Audit {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Subcommand)]
enum Operation {
    Verify(Verify),
    Checkpoint(WriteCheckpoint),
    Seal(SealAgain),
}

impl Audit {
    /// Does the operation.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        match self.operation {
            Operation::Verify(verify) => verify.run(matches).await,
            Operation::Checkpoint(write) => write.run(matches).await,
            Operation::Seal(seal) => seal.run(matches).await,
        }
    }
}
