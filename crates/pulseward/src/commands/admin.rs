//! `pulseward admin`: what an operator sets up. Works on the store, also while the service runs on it.

mod accounts;
mod api_keys;
mod exports;
mod oauth_clients;
mod operate;
mod password;
mod patients;
mod security_log;
mod signing_keys;

use clap::{ArgMatches, Args, Subcommand};

use self::operate::Operate;
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

// Each says here what it does: the help takes the line of the operation, not of what it is made of.
#[derive(Subcommand)]
enum Operation {
    /// Create an account; prints its password, which cannot be read again
    CreateAccount(Task<accounts::CreateAccount>),
    /// List all accounts, oldest first
    ListAccounts(Task<accounts::ListAccounts>),
    /// Set until when an account's subscription is active
    SetSubscription(Task<accounts::SetSubscription>),
    /// Give an account another password, which ends its sessions
    ResetPassword(Task<accounts::ResetPassword>),
    /// Give an account another role, which ends its sessions, API keys and health tokens
    ChangeRole(Task<accounts::ChangeRole>),
    /// Remove the second factor of an account whose owner has lost it: the password alone signs in until another is set up
    #[command(visible_alias = "reset-second-factor")]
    RemoveSecondFactor(Task<accounts::RemoveSecondFactor>),
    /// Disable an account: its logins, sessions, API keys and health tokens end
    DisableAccount(Task<accounts::DisableAccount>),
    /// Enable an account that was disabled; sessions and API keys of before stay ended
    EnableAccount(Task<accounts::EnableAccount>),
    /// Create an API key; prints it, which cannot be read again
    CreateApiKey(Task<api_keys::CreateApiKey>),
    /// List the API keys of an account, oldest first
    ListApiKeys(Task<api_keys::ListApiKeys>),
    /// Revoke an API key and the health tokens that were asked for with it
    RevokeApiKey(Task<api_keys::RevokeApiKey>),
    /// Print the security log, a JSON object a line: logins, second factors, keys, resets, accounts, what was denied
    SecurityLog(security_log::SecurityLog),
    /// Erase a patient with everything that was measured of them, for good; prints the receipt
    ErasePatient(Task<patients::ErasePatient>),
    /// Set the time between two exports, of one patient or of every patient without a setting of their own
    SetExportLimit(Task<exports::SetExportLimit>),
    /// Create an OAuth client; prints its id and its secret, which cannot be read again
    CreateOauthClient(Task<oauth_clients::CreateOauthClient>),
    /// List all OAuth clients, oldest first
    ListOauthClients(Task<oauth_clients::ListOauthClients>),
    /// Remove an OAuth client: what patients have allowed it and all its tokens end
    RemoveOauthClient(Task<oauth_clients::RemoveOauthClient>),
    /// Make new keys to sign tokens with, on both clouds; tokens signed with the old ones stay good
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

impl Admin {
    /// Does the operation.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        match self.operation {
            Operation::CreateAccount(task) => task.run(matches).await,
            Operation::ListAccounts(task) => task.run(matches).await,
            Operation::SetSubscription(task) => task.run(matches).await,
            Operation::ResetPassword(task) => task.run(matches).await,
            Operation::ChangeRole(task) => task.run(matches).await,
            Operation::RemoveSecondFactor(task) => task.run(matches).await,
            Operation::DisableAccount(task) => task.run(matches).await,
            Operation::EnableAccount(task) => task.run(matches).await,
            Operation::CreateApiKey(task) => task.run(matches).await,
            Operation::ListApiKeys(task) => task.run(matches).await,
            Operation::RevokeApiKey(task) => task.run(matches).await,
            Operation::SecurityLog(log) => log.run(matches).await,
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
        let mut store = config::complete(self.store, matches, file.as_deref())?;
        // The name of the file is no key of it, and an operation may have options of its own there.
        store.config = file;
        // Printed after the stores are closed: anyone who reads the result may copy the files at once.
        let expected = self.operation.expected();
        let settings = self.operation.settings(&store, matches)?;
        let operate = async |platform: &platform::Platform| self.operation.operate(platform).await;
        let result = wiring::with_stores_set(&store, settings, expected, operate).await?;
        self.output.print(&result)
    }
}
