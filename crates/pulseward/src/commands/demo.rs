//! `pulseward demo`: the service with a study of simulated patients, to look at.
//!
//! The study takes the way that any other does: it is enrolled and sent over HTTP. Only the account and its API key
//! are made on the store, as `pulseward admin` would.

mod guide;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bracelet::Cast;
use bracelet::fleet::{Fleet, FleetConfig, Session};
use clap::{Args, Command};
use platform::{NewAccount, NewApiKey, Platform, PlatformError, SubscriptionStart};
use serde_json::{Value, json};
use store::{GroupCode, Role};
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::guide::{DemoAccount, Guide};
use crate::commands::serve::{Service, stop_on_signal};
use crate::commands::simulate::{live_every, local_zone, random_password};
use crate::config::{LogFormat, LogOptions, ServeOptions, StoreOptions};
use crate::failure::Failure;
use crate::progress::progress_bar;
use crate::{logging, wiring};

const DEFAULT_LISTEN: &str = "127.0.0.1:8080";
/// A file of a folder that a demonstration has made.
const MARK: &str = "demo.store";
const EMAIL: &str = "researcher@demo.example";

/// Serve a study of simulated patients, with history and live data
#[derive(Args)]
pub struct Demo {
    /// Folder to keep the study in; default: a temporary one, removed at the end
    #[arg(long, value_name = "DIR", env = "PULSEWARD_DATA")]
    data: Option<PathBuf>,
    /// Address to listen on; default: 127.0.0.1:8080, or a free port when that is taken
    #[arg(long, value_name = "ADDR", env = "PULSEWARD_LISTEN")]
    listen: Option<SocketAddr>,
    /// Number of patients
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    patients: u64,
    /// Days of history, today included
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=400))]
    days: u32,
    /// Seconds between two live syncs of a patient
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    live_every: u64,
}

impl Demo {
    /// Serves until interrupted.
    pub async fn run(self) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        if let Some(data) = &self.data {
            refuse_real_store(data)?;
        }
        // Before a folder is made, so that a port that is taken leaves nothing behind.
        let listener = listen(self.listen).await?;
        // Bound to a name so that it is removed at the end and not before.
        let temporary = tempfile::Builder::new().prefix("pulseward-demo-").tempdir();
        let temporary = temporary.map_err(|error| Failure::io("make a temporary folder", error))?;
        let mut store: StoreOptions = defaults()?;
        // Made and removed also when it is not used: the two ways differ in nothing else.
        store.data = self.data.clone().unwrap_or_else(|| temporary.path().to_owned());
        mark(&store.data)?;
        let service = Service::open(&store, &defaults::<ServeOptions>()?, listener, None).await?;
        let (platform, url) = (service.platform.clone(), service.url.clone());
        let stop = stop_on_signal()?;
        eprintln!("listening on {url}");
        let mut stopped = stop.clone();
        let serving = runtime::spawn("service", service.run(stop.clone()));
        tokio::select! {
            biased;
            // A fleet whose service has gone would go on trying for long.
            _ = stopped.wait_for(|stop| *stop) => {}
            // The study is ready; the service goes on.
            shown = self.show(&platform, &url, stop) => shown?,
        }
        serving.await.map_err(|error| Failure::Other(error.to_string()))?
    }

    async fn show(&self, platform: &Platform, url: &str, stop: watch::Receiver<bool>) -> Result<(), Failure> {
        let account = account(platform).await?;
        let group = create_group(url, &account.api_key).await?;
        let mut config = FleetConfig::new(url, &account.api_key, &random_password(), self.patients);
        config.group = Some(group.to_string());
        config.cast = Cast::Mixed;
        config.seed = platform.core.now_ms().unsigned_abs();
        config.zones = vec![local_zone()];
        config.days = self.days;
        // The service shares this machine with the fleet, and somebody is looking at its pages meanwhile.
        config.connections = 4;
        let bar = progress_bar();
        let fleet = Fleet::new(config, Arc::new(wiring::now_ms), Arc::new(bar.clone()))?;
        let sessions = fleet.enrol().await?;
        // Shown while the history is still being sent: it takes minutes, and the pages work already.
        bar.suspend(|| guide::print(&Guide { url, account: &account, group: &group, sessions: &sessions }))?;
        self.send(&fleet, &sessions, stop).await.inspect(|()| bar.finish_and_clear())
    }

    async fn send(&self, fleet: &Fleet, sessions: &[Arc<Session>], stop: watch::Receiver<bool>) -> Result<(), Failure> {
        // Whole seconds, so that history and live data meet without a gap or an overlap.
        let begin_ms = wiring::now_ms().div_euclid(1000) * 1000;
        fleet.send_history(sessions, begin_ms, &stop).await?;
        if *stop.borrow() {
            return Ok(());
        }
        eprintln!("{} days of history are there; live data follow every {} s", self.days, self.live_every);
        let live = live_every(Duration::from_secs(self.live_every));
        Ok(fleet.send_live(sessions, live, begin_ms, &stop).await?)
    }
}

/// Refuses a store that no demonstration has made. A variable that names the folder of a real one is easily set, and
/// accounts, studies and simulated patients cannot be distinguished from real ones afterwards.
fn refuse_real_store(data: &Path) -> Result<(), Failure> {
    let holds_something = std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some());
    if holds_something && !data.join(MARK).exists() {
        return Err(Failure::Usage(format!(
            "{} holds something that no demonstration has made: name an empty folder with --data (PULSEWARD_DATA is read \
             as well), or leave it out for a temporary one",
            data.display()
        )));
    }
    Ok(())
}

/// Marks a folder as one of demonstrations.
fn mark(data: &Path) -> Result<(), Failure> {
    wiring::make_private_folder(data)?;
    let path = data.join(MARK);
    std::fs::write(&path, "simulated patients, nobody real\n").map_err(|error| Failure::file("write", &path, error))
}

/// Returns the demonstration's account, made when it is not there, and a new API key.
async fn account(platform: &Platform) -> Result<DemoAccount, Failure> {
    let new = NewAccount {
        email: EMAIL.to_owned(),
        role: Role::Researcher,
        first_name: Some("Demo".to_owned()),
        last_name: Some("Researcher".to_owned()),
        password: None,
        subscription: SubscriptionStart::Active,
    };
    let (account, password) = match platform.identity.create_account(new).await {
        Ok((account, password)) => (account, Some(password)),
        // A folder that was used before has the account. Its password is its owner's by now and is not touched.
        Err(PlatformError::Conflict { .. }) => (platform.identity.account_by_email(EMAIL).await?, None),
        Err(error) => return Err(error.into()),
    };
    let new = NewApiKey { name: Some("demo".to_owned()), ..NewApiKey::default() };
    let (_, api_key) = platform.identity.create_api_key(&account, new).await?;
    Ok(DemoAccount { email: EMAIL, password, api_key })
}

async fn create_group(url: &str, api_key: &str) -> Result<GroupCode, Failure> {
    let body = json!({"name": "Demonstration", "description": "Simulated patients, nobody real"});
    let request = reqwest::Client::new().post(format!("{url}/integration/v1/groups"));
    let response = request.header("X-Api-Key", api_key).json(&body).send().await?;
    let answer: Value = response.error_for_status()?.json().await?;
    let code = answer["code"].as_str();
    code.map(GroupCode::new).ok_or_else(|| Failure::Other("the new group has no code".to_owned()))
}

/// Returns the socket: the address asked for, or the default one, or a free port when that is taken.
async fn listen(asked: Option<SocketAddr>) -> Result<TcpListener, Failure> {
    let refused = |address: &str, error| Failure::io(format!("listen on {address}"), error);
    if let Some(address) = asked {
        if !address.ip().is_loopback() {
            // Its account is made for everybody who sees the screen.
            return Err(Failure::Usage("the demonstration listens on loopback addresses only".to_owned()));
        }
        return TcpListener::bind(address).await.map_err(|error| refused(&address.to_string(), error));
    }
    match TcpListener::bind(DEFAULT_LISTEN).await {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            TcpListener::bind("127.0.0.1:0").await.map_err(|error| refused("a free port", error))
        }
        bound => bound.map_err(|error| refused(DEFAULT_LISTEN, error)),
    }
}

/// Options as nobody has changed them: neither the environment nor a file, which are meant for a real service.
fn defaults<T: Args>() -> Result<T, Failure> {
    let command = T::augment_args(Command::new("demo")).mut_args(|argument| argument.env(None::<&str>));
    let matches = command.try_get_matches_from(["demo"]);
    matches.and_then(|matches| T::from_arg_matches(&matches)).map_err(|error| Failure::Usage(error.to_string()))
}
