//! `pulseward completions`: a script that lets a shell complete the command line.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::write_out;

/// Print the completions for a shell
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for a command line.
    pub fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "pulseward", &mut script);
        write_out(&script)
    }
}
