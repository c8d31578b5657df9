//! The security log, a JSON object a line, as collectors of a SIEM read it.

use std::time::Duration;

use clap::{ArgMatches, Args};
use jiff::Timestamp;
use platform::{Platform, SecurityLogPage, SecurityLogQuery};
use serde_json::json;
use store::{SecurityEvent, SecurityEventType};

use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::write_out;
use crate::values::iso;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Events that are read at once.
const AT_ONCE: i64 = 1000;
/// Time between two looks for what is new.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Print the security log, a JSON object a line: logins, second factors, keys, resets, accounts, what was denied
#[derive(Args)]
pub struct SecurityLog {
    /// From this instant, such as 2027-01-31T00:00:00Z, or behind the `cursor` of a line
    #[arg(long, value_name = "T", value_parser = parse_since)]
    since: Option<Since>,
    /// Only events of this type, such as `login_failed`
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_type)]
    event_type: Option<SecurityEventType>,
    /// Go on with what is new, until it is interrupted
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    store: StoreOptions,
}

/// Where the log is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Since {
    /// From a time, ms.
    Time(i64),
    /// Behind a line.
    Cursor(String),
}

/// Where printing ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the newest event.
    OfLog,
    /// When it is interrupted.
    Never,
}

fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(Since::Time(instant.as_millisecond()));
    }
    let is_cursor = text.rsplit_once('.').is_some_and(|(_, number)| number.parse::<u64>().is_ok());
    if is_cursor {
        return Ok(Since::Cursor(text.to_owned()));
    }
    Err(format!("`{text}` is neither an instant such as 2027-01-31T00:00:00Z nor the cursor of a line"))
}

fn parse_type(text: &str) -> Result<SecurityEventType, String> {
    let known = || SecurityEventType::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    SecurityEventType::parse(text).ok_or_else(|| format!("`{text}` is none of {}", known()))
}

impl SecurityLog {
    /// Prints the lines as they are read.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store, matches, file.as_deref())?;
        let (after, from_ms) = match self.since {
            None => (None, None),
            Some(Since::Time(from_ms)) => (None, Some(from_ms)),
            Some(Since::Cursor(cursor)) => (Some(cursor), None),
        };
        let query = SecurityLogQuery { after, from_ms, event_type: self.event_type, limit: AT_ONCE, to_ms: None };
        let end = if self.follow { End::Never } else { End::OfLog };
        let print = async |platform: &Platform| print(platform, query.clone(), end).await;
        wiring::with_stores(&store, Expected::Databases, print).await
    }
}

async fn print(platform: &Platform, mut query: SecurityLogQuery, end: End) -> Result<(), Failure> {
    loop {
        let page: SecurityLogPage = platform.identity.security_log(query.clone()).await?;
        let lines: String = page.events.iter().map(|(event, cursor)| line(event, cursor)).collect();
        write_out(lines.as_bytes())?;
        query.after = Some(page.next);
        if !page.more && end == End::OfLog {
            return Ok(());
        }
        if !page.more {
            runtime::sleep(LOOK_AGAIN).await;
        }
    }
}

/// Returns the line of an event. What is not known is left out.
fn line(event: &SecurityEvent, cursor: &str) -> String {
    let mut line = json!({
        "time": iso(event.time_ms),
        "type": event.event_type,
        "count": event.count,
        "actor": event.actor,
        "actor_role": event.actor_role,
        "subject": event.subject,
        "name_hash": event.name_hash,
        "address": event.address,
        "detail": event.detail,
        "cursor": cursor,
    });
    if let Some(fields) = line.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_an_instant_or_a_cursor() {
        assert_eq!(parse_since("2027-01-31T00:00:00Z"), Ok(Since::Time(1_801_353_600_000)));
        assert_eq!(parse_since("5f0c2a.17"), Ok(Since::Cursor("5f0c2a.17".to_owned())));
        for wrong in ["yesterday", "5f0c2a.", "17", "5f0c2a.-1"] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
    }
}
