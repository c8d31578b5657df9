//! `pulseward admin`: what an operator sets up. Works on the store, also while the service runs on it.

mod accounts;
mod api_keys;
mod exports;
mod oauth_clients;
mod password;
mod patients;
mod signing_keys;

use clap::{ArgMatches, Args, Subcommand};
use platform::{Platform, Settings};
use serde_json::Value;

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::{logging, wiring};

/// Manage accounts, API keys, subscriptions, OAuth clients and signing keys; erase patients
#[derive(Args)]
pub struct Admin {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Subcommand)]
enum Operation {
    CreateAccount(Task<accounts::CreateAccount>),
    ListAccounts(Task<accounts::ListAccounts>),
    SetSubscription(Task<accounts::SetSubscription>),
    ResetPassword(Task<accounts::ResetPassword>),
    DisableAccount(Task<accounts::DisableAccount>),
    CreateApiKey(Task<api_keys::CreateApiKey>),
    ListApiKeys(Task<api_keys::ListApiKeys>),
    RevokeApiKey(Task<api_keys::RevokeApiKey>),
    ErasePatient(Task<patients::ErasePatient>),
    SetExportLimit(Task<exports::SetExportLimit>),
    CreateOauthClient(Task<oauth_clients::CreateOauthClient>),
    ListOauthClients(Task<oauth_clients::ListOauthClients>),
    RemoveOauthClient(Task<oauth_clients::RemoveOauthClient>),
    RotateKeys(Task<signing_keys::RotateKeys>),
}

/// What is done, where the store is, and how the result is printed.
#[derive(Args)]
struct Task<O: Args> {
    #[command(flatten)]
    operation: O,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

/// An operation of an administrator.
trait Operate {
    /// Does it; answers what `--json` prints.
    async fn operate(self, platform: &Platform) -> Result<Value, Failure>;
}

impl Admin {
    /// Does the operation.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        match self.operation {
            Operation::CreateAccount(task) => task.run(matches).await,
            Operation::ListAccounts(task) => task.run(matches).await,
            Operation::SetSubscription(task) => task.run(matches).await,
            Operation::ResetPassword(task) => task.run(matches).await,
            Operation::DisableAccount(task) => task.run(matches).await,
            Operation::CreateApiKey(task) => task.run(matches).await,
            Operation::ListApiKeys(task) => task.run(matches).await,
            Operation::RevokeApiKey(task) => task.run(matches).await,
            Operation::ErasePatient(task) => task.run(matches).await,
            Operation::SetExportLimit(task) => task.run(matches).await,
            Operation::CreateOauthClient(task) => task.run(matches).await,
            Operation::ListOauthClients(task) => task.run(matches).await,
            Operation::RemoveOauthClient(task) => task.run(matches).await,
            Operation::RotateKeys(task) => task.run(matches).await,
        }
    }
}

impl<O: Args + Operate> Task<O> {
    async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let platform = wiring::open(&store, Settings::default()).await?;
        let result = self.operation.operate(&platform).await?;
        self.output.print(&result)
    }
}
