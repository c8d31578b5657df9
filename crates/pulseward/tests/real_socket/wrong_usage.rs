//! Commands with arguments that cannot be: status 2, a reason on standard error, nothing on standard output, and
//! nothing made.

use tempfile::tempdir;

use crate::harness::{pulseward, run};

/// Status, standard output and standard error of a command.
fn ended(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const UUID: &str = "7f1f1c0a-5f0e-4b8e-9d5d-0a2f6c1e9b11";

#[test]
fn every_command_refuses_what_it_does_not_know_and_names_it() {
    for command in [
        &["serve"][..],
        &["demo"],
        &["admin", "list-accounts"],
        &["admin", "rotate-keys"],
        &["audit", "verify"],
        &["audit", "checkpoint"],
        &["audit", "seal"],
        &["simulate"],
        &["import"],
        &["lake", "copy"],
        &["migrate"],
        &["seal"],
        &["doctor"],
        &["backup"],
        &["restore"],
        &["recompute"],
        &["openapi"],
        &["completions"],
        &["man"],
    ] {
        let (status, printed, said) = ended(&[command, &["--no-such-option"]].concat());
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{command:?}: {said}");
        assert!(said.contains("--no-such-option"), "{command:?}: {said}");
    }
    for command in [&["dance"][..], &["admin", "dance"], &["audit", "dance"], &["lake", "dance"]] {
        let (status, printed, said) = ended(command);
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{command:?}");
        assert!(said.contains("dance"), "{command:?}: {said}");
    }
    for command in [&[][..], &["admin"], &["audit"], &["lake"]] {
        let (status, printed, said) = ended(command);
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{command:?}");
        assert!(said.contains("Usage:"), "{command:?}: {said}");
    }
}

#[test]
fn missing_arguments_are_named() {
    for (command, missing) in [
        (&["admin", "create-account", "--role", "hcp"][..], "--email"),
        (&["admin", "create-account", "--email", "a@b.example"], "--role"),
        (&["admin", "create-api-key"], "--account"),
        (&["admin", "list-api-keys"], "--account"),
        (&["admin", "revoke-api-key"], "--id"),
        (&["admin", "set-subscription", "--account", "a@b.example"], "--until"),
        (&["admin", "set-subscription", "--until", "none"], "--account"),
        (&["admin", "reset-password"], "--account"),
        (&["admin", "disable-account"], "--account"),
        (&["admin", "set-export-limit", "--interval", "300s"], "--default"),
        (&["admin", "set-export-limit", "--default"], "--interval"),
        (&["admin", "erase-patient"], "UUID"),
        (&["admin", "create-oauth-client", "--redirect-uri", "u", "--privacy-policy-url", "u"], "--name"),
        (&["admin", "create-oauth-client", "--name", "n", "--privacy-policy-url", "u"], "--redirect-uri"),
        (&["admin", "create-oauth-client", "--name", "n", "--redirect-uri", "u"], "--privacy-policy-url"),
        (&["admin", "remove-oauth-client"], "--id"),
        (&["simulate", "--patients", "1"], "--url"),
        (&["import", "--bearer", "t", "--type", "acc", "file.csv"], "--url"),
        (&["backup"], "DIR"),
        (&["restore"], "DIR"),
        (&["completions"], "SHELL"),
        (&["serve", "--tls-cert", "c.pem"], "--tls-key"),
        (&["serve", "--tls-key", "k.pem"], "--tls-cert"),
    ] {
        let (status, printed, said) = ended(command);
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{command:?}: {said}");
        assert!(said.contains(missing), "{command:?}: {said}");
    }
}

#[test]
fn values_that_cannot_be_are_refused_with_their_option() {
    for (command, option) in [
        (&["admin", "create-account", "--email", "a@b.example", "--role", "Researcher"][..], "--role"),
        (&["admin", "create-api-key", "--account", "a@b.example", "--expires", "soon"], "--expires"),
        (&["admin", "create-api-key", "--account", "a@b.example", "--expires", "0d"], "--expires"),
        (&["admin", "create-api-key", "--account", "a@b.example", "--expires=-1d"], "--expires"),
        (&["admin", "create-api-key", "--account", "a@b.example", "--expires", "90"], "--expires"),
        (&["admin", "create-api-key", "--account", "a@b.example", "--expires", "101w1"], "--expires"),
        (&["admin", "set-subscription", "--account", "a@b.example", "--until", "2027-02-30"], "--until"),
        (&["admin", "set-subscription", "--account", "a@b.example", "--until", "31.1.2027"], "--until"),
        (&["admin", "set-export-limit", "--default", "--interval", "five minutes"], "--interval"),
        (&["admin", "set-export-limit", "--default", "--interval=-300s"], "--interval"),
        (&["admin", "erase-patient", "not-a-uuid"], "UUID"),
        (&["serve", "--token-ttl-minutes", "0"], "--token-ttl-minutes"),
        (&["serve", "--token-refresh-minutes", "0"], "--token-refresh-minutes"),
        (&["serve", "--voucher-days", "0"], "--voucher-days"),
        (&["serve", "--voucher-days", "many"], "--voucher-days"),
        (&["serve", "--portal-idle-minutes", "1441"], "--portal-idle-minutes"),
        (&["serve", "--portal-session-hours", "8761"], "--portal-session-hours"),
        (&["serve", "--export-interval", "300"], "--export-interval"),
        (&["serve", "--event-retention", "23h"], "--event-retention"),
        (&["serve", "--security-retention", "23h"], "--security-retention"),
        (&["admin", "security-log", "--since", "yesterday"], "--since"),
        (&["admin", "security-log", "--type", "login"], "--type"),
        (&["serve", "--rate-limit", "0"], "--rate-limit"),
        (&["serve", "--rate-limit", "none"], "--rate-limit"),
        (&["serve", "--requests-at-once", "0"], "--requests-at-once"),
        (&["serve", "--connections-at-once", "0"], "--connections-at-once"),
        (&["serve", "--upload-memory-mib", "0"], "--upload-memory-mib"),
        (&["serve", "--sync-mib", "65536"], "--sync-mib"),
        (&["serve", "--sync-expanded-mib", "0"], "--sync-expanded-mib"),
        (&["serve", "--header-kib", "7"], "--header-kib"),
        (&["serve", "--header-seconds", "0"], "--header-seconds"),
        (&["serve", "--body-seconds", "0"], "--body-seconds"),
        (&["serve", "--roles", "health,kitchen"], "--roles"),
        (&["serve", "--log-format", "xml"], "--log-format"),
        (&["seal", "--db-connections", "0"], "--db-connections"),
        (&["seal", "--db-connections", "1001"], "--db-connections"),
        (&["completions", "tcl"], "SHELL"),
    ] {
        let (status, printed, said) = ended(command);
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{command:?}: {said}");
        assert!(said.contains(option), "{command:?}: {said}");
    }
}

#[test]
fn options_that_exclude_each_other_are_not_given_together() {
    for command in [
        &["admin", "set-export-limit", "--default", "--patient", UUID, "--interval", "0s"][..],
        &["admin", "reset-password", "--account", "a@b.example", "--password", "p", "--password-stdin"],
        &["admin", "create-account", "--email", "a@b.example", "--role", "hcp", "--password", "p", "--password-stdin"],
    ] {
        let (status, printed, said) = ended(command);
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{command:?}: {said}");
        assert!(said.contains("cannot be used with"), "{command:?}: {said}");
    }
}

#[test]
fn refused_values_of_the_environment_name_their_option_too() {
    for (variable, value, option) in [
        ("PULSEWARD_VOUCHER_DAYS", "0", "--voucher-days"),
        ("PULSEWARD_RATE_LIMIT", "fast", "--rate-limit"),
        ("PULSEWARD_ROLES", "cook", "--roles"),
        ("PULSEWARD_EVENT_RETENTION", "5m", "--event-retention"),
        ("PULSEWARD_LOG_FORMAT", "xml", "--log-format"),
    ] {
        let output = pulseward(&["serve"]).env(variable, value).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{variable}: {said}");
        assert!(said.contains(option) && output.stdout.is_empty(), "{variable}: {said}");
    }
}

#[test]
fn wrong_usage_makes_no_data_folder() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let path = data.to_str().unwrap();
    for command in [
        &["serve", "--data", path, "--voucher-days", "0"][..],
        &["serve", "--data", path, "--listen", "0.0.0.0:0"],
        &["serve", "--data", path, "--listen", "nowhere"],
        &["migrate", "--data", path, "--users-db", "mysql://db.example/users"],
        &["admin", "create-account", "--data", path, "--role", "hcp"],
        &["seal", "--data", path, "--config", "/no/such/file.toml"],
    ] {
        let (status, printed, said) = ended(command);
        assert!(matches!(status, Some(1 | 2)), "{command:?}: {said}");
        assert!(printed.is_empty() && !said.is_empty(), "{command:?}");
        assert!(!data.exists(), "{command:?} made {path}");
    }
}

#[test]
fn help_and_version_are_asked_for_and_printed() {
    for command in [
        &["--help"][..],
        &["help"],
        &["serve", "--help"],
        &["admin", "--help"],
        &["admin", "create-account", "--help"],
        &["backup", "-h"],
        &["lake", "copy", "--help"],
    ] {
        let (status, printed, said) = ended(command);
        assert_eq!((status, said.as_str()), (Some(0), ""), "{command:?}");
        assert!(printed.contains("Usage: pulseward"), "{command:?}: {printed}");
    }
    for command in [&["--version"][..], &["serve", "--version"], &["admin", "list-accounts", "-V"]] {
        let (status, printed, _) = ended(command);
        assert_eq!(status, Some(0), "{command:?}");
        assert!(printed.trim_end().ends_with(env!("CARGO_PKG_VERSION")), "{command:?}: {printed}");
    }
    // Values of options that hold a password are not repeated in the help.
    let secret = "postgres://u:hidden-word@db.example/users";
    let output = pulseward(&["serve", "--help"]).env("PULSEWARD_USERS_DB", secret).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("hidden-word"));
}

#[test]
fn descriptions_of_the_program_are_printed_whole() {
    let (status, printed, _) = ended(&["openapi"]);
    let document: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(status, Some(0));
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    assert!(document["paths"]["/integration/v1/groups"]["get"].is_object());
    for shell in ["bash", "zsh", "fish"] {
        let (status, printed, _) = ended(&["completions", shell]);
        assert_eq!(status, Some(0), "{shell}");
        for word in ["create-account", "set-export-limit", "doctor"] {
            assert!(printed.contains(word), "{shell} does not complete {word}");
        }
    }
    let (status, printed, _) = ended(&["man"]);
    assert_eq!(status, Some(0));
    assert!(printed.contains(".TH pulseward"), "{}", &printed[..200.min(printed.len())]);
}
