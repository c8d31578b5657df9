//! The tree of commands. What each does is in `commands`, a file per command.

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{
    admin, audit, backup, completions, demo, doctor, import, lake, man, migrate, openapi, recompute, restore, seal,
    serve, simulate,
};
use crate::failure::Failure;

/// Threads for store work and computing. More would not be faster, and each keeps memory of its own.
const BLOCKING_THREADS: usize = 16;

/// A cloud for remote patient monitoring with wearable bracelets, run by yourself
#[derive(Parser)]
#[command(name = "pulseward", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one, once")]
enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    Admin(admin::Admin),
    Audit(audit::Audit),
    Simulate(simulate::Simulate),
    Import(import::Import),
    Lake(lake::Lake),
    Migrate(migrate::Migrate),
    Seal(seal::Seal),
    Doctor(doctor::Doctor),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Recompute(recompute::Recompute),
    Openapi(openapi::Openapi),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Reads the command line and does what it says. Wrong usage ends the program here, with status 2.
pub fn run() -> Result<(), Failure> {
    // Matches are kept together with what they become: only they know whether a value was given or is a default.
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let ended = runtime::run(BLOCKING_THREADS, dispatch(cli.command, innermost(&matches)));
    ended.map_err(|error| Failure::io("start threads", error))?
}

async fn dispatch(command: Command, given: &ArgMatches) -> Result<(), Failure> {
    match command {
        Command::Serve(serve) => serve.run(given).await,
        Command::Demo(demo) => demo.run().await,
        Command::Admin(admin) => admin.run(given).await,
        Command::Audit(audit) => audit.run(given).await,
        Command::Simulate(simulate) => simulate.run().await,
        Command::Import(import) => import.run().await,
        Command::Lake(lake) => lake.run().await,
        Command::Migrate(migrate) => migrate.run(given).await,
        Command::Seal(seal) => seal.run(given).await,
        Command::Doctor(doctor) => doctor.run(given).await,
        Command::Backup(backup) => backup.run(given).await,
        Command::Restore(restore) => restore.run(given).await,
        Command::Recompute(recompute) => recompute.run(given).await,
        Command::Openapi(_) => openapi::Openapi::run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(_) => man::Man::run(Cli::command()),
    }
}

/// Returns the matches of the sub-command that was named last: they know which option came from where.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    let mut innermost = matches;
    while let Some((_, inner)) = innermost.subcommand() {
        innermost = inner;
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_of_the_store_and_the_server_has_an_environment_variable() {
        for name in ["serve", "seal", "recompute", "migrate"] {
            let command = Cli::command();
            let command = command.find_subcommand(name).unwrap();
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long() else { continue };
                if ["help", "version", "json", "now", "patient"].contains(&long) {
                    continue;
                }
                let expected = format!("PULSEWARD_{}", long.to_uppercase().replace('-', "_"));
                assert_eq!(argument.get_env().unwrap().to_str(), Some(expected.as_str()));
            }
        }
    }

    #[test]
    fn every_operation_of_an_administrator_says_what_it_does() {
        let mut command = Cli::command();
        command.build();
        let admin = command.find_subcommand("admin").unwrap();
        let operations = admin.get_subcommands().filter(|operation| operation.get_name() != "help");
        let mut reported: Vec<String> =
            operations.map(|operation| operation.get_about().unwrap().to_string()).collect();
        let count = reported.len();
        reported.sort();
        reported.dedup();
        assert_eq!((count, reported.len()), (18, 18), "{reported:?}");
    }

    #[test]
    fn the_time_between_exports_is_set_for_everybody_or_for_one() {
        let accepts = |arguments: &[&str]| {
            let all = [&["pulseward", "admin", "set-export-limit"], arguments].concat();
            Cli::command().try_get_matches_from(all).is_ok_and(|matches| Cli::from_arg_matches(&matches).is_ok())
        };
        assert!(accepts(&["--default", "--interval", "300s"]));
        assert!(accepts(&["--patient", "u", "--interval", "0s"]));
        assert!(!accepts(&["--interval", "300s"]));
        assert!(!accepts(&["--default", "--patient", "u", "--interval", "300s"]));
        assert!(!accepts(&["--default"]));
    }
}
