//! `pulseward man`: the manual page, with all commands on it.

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::failure::Failure;
use crate::output::write_out;

/// Print the manual page (troff)
#[derive(Args)]
pub struct Man {}

impl Man {
    /// Prints the page of the program, then those of its commands.
    pub fn run(mut command: Command) -> Result<(), Failure> {
        command.build();
        let mut text = Vec::new();
        render(&command, &mut text).map_err(|error| Failure::io("write the manual page", error))?;
        write_out(&text)
    }
}

fn render(command: &Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    Page::new(command.clone()).render(text)?;
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        render(inner, text)?;
    }
    Ok(())
}
