//! The configuration: flag before environment before file before default.
//!
//! Each option is declared once, as a field that `clap` reads from the command line and the environment, and `serde`
//! from the file. `clap` remembers where a value came from; a value that nobody gave is the one a file may replace.

#[cfg(test)]
mod example;
mod options;

use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use options::{CopyOptions, LimitOptions, LogFormat, LogOptions, NodeRole, ServeOptions, StoreOptions};

use crate::failure::Failure;

/// A group of options that a file can hold.
pub trait Section: Args + Serialize + DeserializeOwned {}
impl<T: Args + Serialize + DeserializeOwned> Section for T {}

/// Completes what the command line and the environment gave with what the file holds.
pub fn complete<T: Section>(given: T, matches: &ArgMatches, file: Option<&Path>) -> Result<T, Failure> {
    let Some(path) = file else { return Ok(given) };
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
    complete_from_text(&given, matches, &text, path)
}

fn complete_from_text<T: Section>(given: &T, matches: &ArgMatches, text: &str, path: &Path) -> Result<T, Failure> {
    let broken = |error| not_understood(error, path);
    let mut file = Figment::from(Toml::string(text));
    let mut keys: Dict = file.extract().map_err(broken)?;
    if let Some(Value::Dict(_, hosts)) = keys.remove("hosts") {
        // `hosts.users` and `hosts_users` are the same key.
        let flat = hosts.into_iter().map(|(cloud, names)| (format!("hosts_{cloud}"), names));
        keys.extend(flat);
        file = Figment::from(Serialized::defaults(keys.clone()));
    }
    for key in keys.keys() {
        if !known_keys().contains(key) {
            return Err(Failure::Usage(format!("configuration: unknown key `{key}` in {}", path.display())));
        }
    }
    let mut explicit: Dict = Figment::from(Serialized::defaults(given)).extract().map_err(broken)?;
    keys.retain(|name, _| explicit.contains_key(name) && !is_explicit(matches, name));
    explicit.retain(|name, _| is_explicit(matches, name));
    // Before the values are taken, since this names the key of a wrong one in every case.
    check_values(&keys, path)?;
    Figment::from(Serialized::defaults(given))
        .merge(file)
        .merge(Serialized::defaults(explicit))
        .extract()
        .map_err(broken)
}

/// Returns what is wrong with a file, by key. The library's own text names the places of its values in this program's
/// sources.
fn not_understood(error: figment::Error, path: &Path) -> Failure {
    let fault = |error: figment::Error| {
        let key = error.path.join(".");
        if key.is_empty() { error.kind.to_string() } else { format!("{key}: {}", error.kind) }
    };
    let faults: Vec<String> = error.into_iter().map(fault).collect();
    Failure::Usage(format!("configuration: {} in {}", faults.join("; "), path.display()))
}

/// Refuses values of a file that the command line would refuse.
///
/// The ranges are declared where `clap` reads them, and `serde` knows nothing of them: without this a file could say
/// that vouchers end before they are made.
fn check_values(keys: &Dict, path: &Path) -> Result<(), Failure> {
    let command = declared().mut_args(|argument| argument.env(None::<&str>));
    for (key, value) in keys {
        let Some(text) = as_argument(value) else { continue };
        let argument = format!("--{}={text}", key.replace('_', "-"));
        let Err(error) = command.clone().try_get_matches_from(["pulseward", &argument]) else { continue };
        // What else the command line asks for, such as an option that another one needs, is not of one value.
        if matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
            let reason = std::error::Error::source(&error).map(|reason| format!(": {reason}")).unwrap_or_default();
            let message = format!("configuration: {key} = {text} in {}{reason}", path.display());
            return Err(Failure::Usage(message));
        }
    }
    Ok(())
}

/// Returns a value as the command line would have it; none for what has another form there, such as a switch.
fn as_argument(value: &Value) -> Option<String> {
    match value {
        Value::String(_, text) => Some(text.clone()),
        Value::Num(..) => value.to_i128().map(|number| number.to_string()),
        _ => None,
    }
}

/// Returns whether the command line or the environment gave this option.
fn is_explicit(matches: &ArgMatches, name: &str) -> bool {
    let known = matches.ids().any(|id| id.as_str() == name);
    known && matches!(matches.value_source(name), Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Returns every option that a file can hold, as `clap` knows it.
fn declared() -> Command {
    let command = StoreOptions::augment_args(Command::new("pulseward").disable_help_flag(true));
    LogOptions::augment_args(ServeOptions::augment_args(command))
}

/// Returns the keys that a file may have: all options but the one that names the file.
fn known_keys() -> Vec<String> {
    let command = declared();
    let keys = command.get_arguments().map(|argument| argument.get_id().to_string());
    keys.filter(|key| key != "config").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    /// Returns what `serve` would see with these arguments and this file.
    fn serve(arguments: &[&str], text: &str) -> Result<ServeOptions, Failure> {
        let command = declared().mut_args(|argument| argument.env(None::<&str>));
        let matches = command.try_get_matches_from([&["pulseward"], arguments].concat()).unwrap();
        let given = ServeOptions::from_arg_matches(&matches).unwrap();
        complete_from_text(&given, &matches, text, Path::new("test.toml"))
    }

    #[test]
    fn a_flag_overrides_the_file_and_the_file_the_default() {
        let listen = |arguments: &[&str], text: &str| serve(arguments, text).unwrap().listen;
        assert_eq!(listen(&[], ""), "127.0.0.1:8080");
        assert_eq!(listen(&[], "listen = \"127.0.0.1:9000\""), "127.0.0.1:9000");
        assert_eq!(listen(&["--listen", "127.0.0.1:9001"], "listen = \"127.0.0.1:9000\""), "127.0.0.1:9001");
        assert_eq!(listen(&["--listen", "127.0.0.1:8080"], "listen = \"127.0.0.1:9000\""), "127.0.0.1:8080");
    }

    #[test]
    fn switches_and_numbers_come_from_the_file() {
        let options =
            serve(&[], "behind_proxy = true\nvoucher_days = 7\npublic_url = \"https://study.example\"").unwrap();
        assert!(options.behind_proxy);
        assert_eq!((options.voucher_days, options.public_url.as_deref()), (7, Some("https://study.example")));
    }

    #[test]
    fn lists_come_from_everywhere() {
        let names = ["old.example".to_owned(), "api.example".to_owned()];
        let hosts = |arguments: &[&str], text: &str| serve(arguments, text).unwrap().hosts_integration;
        assert_eq!(hosts(&["--hosts-integration", "old.example,api.example"], ""), names);
        assert_eq!(hosts(&[], "hosts.integration = [\"old.example\", \"api.example\"]"), names);
        assert_eq!(hosts(&[], "hosts_integration = [\"old.example\", \"api.example\"]"), names);
        assert_eq!(
            hosts(&["--hosts-integration", "x.example"], "[hosts]\nintegration = [\"y.example\"]"),
            ["x.example"]
        );
        assert!(serve(&[], "hosts.portal = [\"x.example\"]").is_err());
        let roles = |arguments: &[&str], text: &str| serve(arguments, text).unwrap().roles;
        assert_eq!(roles(&[], ""), NodeRole::ALL);
        assert_eq!(roles(&[], "roles = [\"health\", \"worker\"]"), [NodeRole::Health, NodeRole::Worker]);
        assert_eq!(roles(&["--roles", "users"], "roles = [\"health\"]"), [NodeRole::Users]);
    }

    #[test]
    fn the_rate_limit_is_a_number_or_off() {
        let limit = |arguments: &[&str], text: &str| serve(arguments, text).map(|options| options.limits.rate_limit.0);
        assert_eq!(limit(&[], "").unwrap(), Some(180));
        assert_eq!(limit(&["--rate-limit", "off"], "rate_limit = 7").unwrap(), None);
        assert_eq!(limit(&[], "rate_limit = 7").unwrap(), Some(7));
        assert_eq!(limit(&[], "rate_limit = \"off\"").unwrap(), None);
        assert!(limit(&[], "rate_limit = 0").is_err());
        assert!(limit(&[], "rate_limit = \"many\"").is_err());
    }

    #[test]
    fn events_are_kept_as_long_as_the_options_say() {
        let seconds =
            |arguments: &[&str], text: &str| serve(arguments, text).map(|options| options.event_retention.seconds);
        assert_eq!(seconds(&[], "").unwrap(), 30 * 86_400);
        assert_eq!(seconds(&[], "event_retention = \"7d\"").unwrap(), 7 * 86_400);
        assert_eq!(seconds(&["--event-retention", "36h"], "event_retention = \"7d\"").unwrap(), 36 * 3_600);
        assert!(seconds(&[], "event_retention = \"1h\"").is_err());
    }

    #[test]
    fn connections_of_the_store_come_from_everywhere_and_are_checked_everywhere() {
        let connections = |arguments: &[&str], text: &str| -> Result<usize, String> {
            let command = declared().mut_args(|argument| argument.env(None::<&str>));
            let matches = command.try_get_matches_from([&["pulseward"], arguments].concat());
            let matches = matches.map_err(|error| error.to_string())?;
            let given = StoreOptions::from_arg_matches(&matches).unwrap();
            let options = complete_from_text(&given, &matches, text, Path::new("test.toml"));
            options.map(|options| options.db_connections.count()).map_err(|failure| failure.to_string())
        };
        assert_eq!(connections(&[], ""), Ok(16));
        assert_eq!(connections(&[], "db_connections = 4"), Ok(4));
        assert_eq!(connections(&["--db-connections", "32"], "db_connections = 4"), Ok(32));
        let refused = connections(&["--db-connections", "0"], "").unwrap_err();
        assert!(refused.contains("a pool has from 1 to 1000 connections"), "{refused}");
        let refused = connections(&[], "db_connections = 0").unwrap_err();
        let names_both = ["db_connections", "a pool has from 1 to 1000 connections"].map(|part| refused.contains(part));
        assert_eq!(names_both, [true, true], "{refused}");
        let refused = connections(&[], "db_connections = \"many\"").unwrap_err();
        assert!(refused.contains("db_connections"), "{refused}");
    }

    #[test]
    fn keys_of_other_commands_are_fine_and_unknown_keys_are_not() {
        assert!(serve(&[], "users_db = \"postgres://db.example/users\"").is_ok());
        let Err(failure) = serve(&[], "lisen = \"127.0.0.1:9000\"") else { panic!() };
        assert_eq!(failure.exit_status(), 2);
        assert_eq!(failure.to_string(), "configuration: unknown key `lisen` in test.toml");
    }

    #[test]
    fn ranges_of_the_command_line_hold_in_a_file_unless_a_flag_overrides_it() {
        for text in ["voucher_days = 0", "header_kib = 7", "portal_idle_minutes = 1441", "sync_mib = 0"] {
            let Err(failure) = serve(&[], text) else { panic!("{text}") };
            assert_eq!(failure.exit_status(), 2);
            let key = text.split(' ').next().unwrap();
            assert!(failure.to_string().contains(key) && failure.to_string().contains("not in"), "{failure}");
        }
        assert!(serve(&[], "voucher_days = 1\nheader_kib = 8\nportal_idle_minutes = 1440").is_ok());
        assert_eq!(serve(&["--voucher-days", "5"], "voucher_days = 0").unwrap().voucher_days, 5);
    }

    #[test]
    fn a_value_of_the_wrong_kind_names_its_key() {
        let Err(failure) = serve(&[], "voucher_days = \"many\"") else { panic!() };
        assert_eq!(failure.exit_status(), 2);
        assert!(failure.to_string().contains("voucher_days"), "{failure}");
    }

    #[test]
    fn mistakes_are_reported_with_file_and_key_and_no_place_in_the_program() {
        for (text, named) in [
            ("listen = 8080", "listen"),
            ("behind_proxy = 1", "behind_proxy"),
            ("roles = \"worker\"", "roles"),
            ("tls_cert = [1]", "tls_cert"),
            ("listen = ", "TOML"),
            ("listen = \"a\"\nlisten = \"b\"", "listen"),
            ("hosts.users = 3", "hosts_users"),
        ] {
            let Err(failure) = serve(&[], text) else { panic!("{text}") };
            let said = failure.to_string();
            assert!(said.contains("test.toml") && said.contains(named), "{text}: {said}");
            assert!(!said.contains(".rs") && !said.contains("default."), "{text}: {said}");
        }
    }
}
