//! The unit in `deploy/systemd`: valid, hardened, and enough for what the service does.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::tempdir;

use crate::guides::blocks::{at_root, blocks_of};
use crate::harness::{Service, pulseward};

/// Exposure as systemd rates it, ten times its points: 1.7 by version 252, and some room for what later ones add.
const HIGHEST_EXPOSURE: &str = "20";
const PROGRAM: &str = "/usr/local/bin/pulseward";

fn unit() -> String {
    std::fs::read_to_string(at_root("deploy/systemd/pulseward.service")).unwrap()
}

/// Returns the one value of a setting.
fn setting<'unit>(unit: &'unit str, name: &str) -> &'unit str {
    let mut values = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let value = values.next().unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(values.next(), None, "{name} is there twice");
    value
}

/// Runs the tool that checks units. `None`, after saying so loudly, where it is not installed.
fn systemd_analyze(arguments: &[&str], unit: &Path) -> Option<Output> {
    let output = Command::new("systemd-analyze").args(arguments).arg(unit).output();
    if output.is_err() {
        testkit::skip("systemd-analyze, which checks the unit, is not installed");
    }
    output.ok()
}

#[test]
fn unit_is_valid_and_exposes_little() {
    let highest = format!("--threshold={HIGHEST_EXPOSURE}");
    let security = ["security", "--offline=true", "--no-pager", &highest];
    let Some(rated) = systemd_analyze(&security, &at_root("deploy/systemd/pulseward.service")) else { return };
    let said = String::from_utf8_lossy(&rated.stdout);
    assert!(rated.status.success(), "{said}");

    // Verified under another name, with a program that is there on every machine. Unknown settings and values are warnings.
    let folder = tempdir().unwrap();
    let copy = folder.path().join("pulseward.service");
    let text = unit();
    assert_eq!(setting(&text, "ExecStart"), format!("{PROGRAM} serve --config /etc/pulseward.toml"));
    std::fs::write(&copy, text.replace(PROGRAM, "/bin/true")).unwrap();
    let verified = systemd_analyze(&["verify", "--man=no"], &copy).unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_unit: Vec<&str> = said.lines().filter(|line| line.contains("pulseward")).collect();
    assert!(verified.status.success() && about_unit.is_empty(), "{said}");
}

#[test]
fn guides_name_the_unit_and_have_none_of_their_own() {
    for guide in ["docs/getting-started-operator.md", "docs/operations.md"] {
        let text = std::fs::read_to_string(at_root(guide)).unwrap();
        assert!(text.contains("`deploy/systemd/pulseward.service`"), "{guide}");
        assert!(!text.contains("ExecStart"), "{guide} repeats the unit");
    }
}

#[test]
fn addition_of_the_guide_takes_the_right_to_low_ports_away() {
    let blocks = blocks_of("docs/operations.md");
    let addition = &blocks.iter().find(|block| block.language == "ini").unwrap().text;
    let folder = tempdir().unwrap();
    let file = folder.path().join("pulseward.service");
    // systemd reads an addition behind the unit, where an empty value takes back what is set before.
    std::fs::write(&file, unit().replace(PROGRAM, "/bin/true") + "\n" + addition).unwrap();
    let Some(verified) = systemd_analyze(&["verify", "--man=no"], &file) else { return };
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_unit: Vec<&str> = said.lines().filter(|line| line.contains("pulseward")).collect();
    assert!(verified.status.success() && about_unit.is_empty(), "{said}");
    let rated = systemd_analyze(&["security", "--offline=true", "--no-pager"], &file).unwrap();
    let said = String::from_utf8_lossy(&rated.stdout);
    for setting in ["CapabilityBoundingSet", "AmbientCapabilities"] {
        let rows: Vec<&str> = said.lines().filter(|line| line.contains(setting)).collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.starts_with('✓')), "{rows:?}");
    }
    for name in ["CapabilityBoundingSet", "AmbientCapabilities"] {
        assert!(addition.lines().any(|line| line == format!("{name}=")) && !setting(&unit(), name).is_empty());
    }
}

/// A command of the program without the rights of root, with capabilities that are given to it like those of a unit.
fn with_capabilities(ambient: &str, bounding: &str, data: &Path) -> Command {
    let flags = |names: &str| {
        let names =
            names.split_whitespace().map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()));
        format!("-all{}", names.collect::<String>())
    };
    let serve = ["serve", "--listen", "127.0.0.1:443", "--data", data.to_str().unwrap()];
    let program = pulseward(&serve);
    let mut command = Command::new("setpriv");
    // Root without its rights, so that the program and the folder need not be another user's.
    command.args(["--securebits=+noroot", "--no-new-privs"]);
    command.args([
        "--bounding-set",
        &flags(bounding),
        "--inh-caps",
        &flags(ambient),
        "--ambient-caps",
        &flags(ambient),
    ]);
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[tokio::test]
async fn service_listens_on_443_with_the_capabilities_of_the_unit_and_not_without() {
    let can_drop = Command::new("setpriv").args(["--securebits=+noroot", "true"]).status();
    if !can_drop.is_ok_and(|status| status.success()) {
        return testkit::skip("only root can give up its rights with setpriv");
    }
    let text = unit();
    let (ambient, bounding) = (setting(&text, "AmbientCapabilities"), setting(&text, "CapabilityBoundingSet"));
    let data = tempdir().unwrap();
    let first_free = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
    if first_free.trim().parse::<u16>().unwrap() > 443 {
        let refused = with_capabilities("", "", data.path()).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("ermission denied"), "{said}");
    }
    let service = Service::start_command(with_capabilities(ambient, bounding, data.path()));
    assert_eq!(reqwest::get("http://127.0.0.1:443/readyz").await.unwrap().status(), 200);
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
}
