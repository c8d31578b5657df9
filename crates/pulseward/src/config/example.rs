//! `config.example.toml` and the table of options in `docs/operations.md`, written from the options so that they cannot
//! lag behind them.

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use clap::Arg;

    use crate::config::declared;

    const HEADER: &str = "\
# Configuration of pulseward: `pulseward serve --config FILE`, or PULSEWARD_CONFIG=FILE.
# A flag takes precedence over its environment variable, that over this file, and this over the default.
# Everything here is commented out and shows the default, or an example where there is none. Unknown keys are errors.
";

    fn example() -> String {
        let mut text = HEADER.to_owned();
        let command = declared();
        let mut heading = None;
        for argument in command.get_arguments().filter(|argument| argument.get_id() != "config") {
            if heading != argument.get_help_heading() {
                heading = argument.get_help_heading();
                write!(text, "\n# --- {} ---\n", heading.unwrap_or_default()).unwrap();
            }
            let variable = argument.get_env().and_then(|name| name.to_str()).unwrap();
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            write!(text, "\n# {help}\n# {variable}\n#{} = {}\n", key(argument), value(argument)).unwrap();
        }
        text
    }

    /// Returns the key as it is best read in a file.
    fn key(argument: &Arg) -> String {
        argument.get_id().as_str().replace("hosts_", "hosts.")
    }

    /// Returns the default, or an example of an option that has none.
    fn value(argument: &Arg) -> String {
        if argument.get_value_delimiter().is_some() {
            return list_value(argument);
        }
        let example = match argument.get_id().as_str() {
            "users_db" => Some("postgres://pulseward@db.example/users"),
            "health_db" | "listen_db_url" => Some("postgres://pulseward@db.example/health"),
            "objects" => Some("file:///var/lib/pulseward/objects"),
            "object_copies" => Some("file:///backup/objects"),
            "master_key_file" => Some("/etc/pulseward/master.key"),
            "public_url" => Some("https://study.example"),
            "metrics_listen" => Some("127.0.0.1:9090"),
            "otlp_url" => Some("http://127.0.0.1:4318"),
            "tls_cert" => Some("/etc/pulseward/cert.pem"),
            "tls_key" => Some("/etc/pulseward/key.pem"),
            _ => None,
        };
        if !argument.get_action().takes_values() {
            return "false".to_owned();
        }
        let default = argument.get_default_values().first().and_then(|value| value.to_str());
        let value = default.or(example).unwrap_or_else(|| panic!("{} has no example", argument.get_id()));
        match value.parse::<i64>() {
            Ok(number) => number.to_string(),
            Err(_) => format!("\"{value}\""),
        }
    }

    fn list_value(argument: &Arg) -> String {
        let defaults: Vec<&str> = argument.get_default_values().iter().filter_map(|value| value.to_str()).collect();
        let values = match argument.get_id().as_str() {
            _ if !defaults.is_empty() => defaults,
            "trusted_proxies" => vec!["10.0.0.0/8"],
            "hosts_integration" => vec!["api.study.example", "old-api.study.example"],
            "hosts_users" => vec!["users.study.example"],
            "hosts_health" => vec!["health.study.example"],
            other => panic!("{other} has no example"),
        };
        format!("{values:?}")
    }

    const TABLE_BEGIN: &str = "<!-- options: written by a test -->\n";
    const TABLE_END: &str = "<!-- end of options -->\n";

    /// Returns the table of options, with the operators' guide around it.
    fn with_table(guide: &str) -> String {
        let mut table = "| Option | Environment, key | Default | What |\n|---|---|---|---|\n".to_owned();
        for argument in declared().get_arguments() {
            let long = argument.get_long().unwrap();
            let variable = argument.get_env().and_then(|name| name.to_str()).unwrap();
            let defaults: Vec<&str> = argument.get_default_values().iter().filter_map(|value| value.to_str()).collect();
            let default = match defaults[..] {
                _ if !argument.get_action().takes_values() => "`false`".to_owned(),
                [] => "none".to_owned(),
                _ => format!("`{}`", defaults.join(",")),
            };
            let key = if long == "config" { String::new() } else { format!(", `{}`", key(argument)) };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(table, "| `--{long}` | `{variable}`{key} | {default} | {help} |").unwrap();
        }
        let (before, rest) = guide.split_once(TABLE_BEGIN).unwrap();
        let (_, after) = rest.split_once(TABLE_END).unwrap();
        format!("{before}{TABLE_BEGIN}{table}{TABLE_END}{after}")
    }

    /// Run with `UPDATE_EXAMPLE=1` to write the files again.
    #[test]
    #[allow(clippy::disallowed_methods)] // a switch for people, not configuration of the program
    fn the_example_file_and_the_guide_are_what_the_options_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (file, guide) = (root.join("config.example.toml"), root.join("docs/operations.md"));
        let guide_text = std::fs::read_to_string(&guide).unwrap();
        if std::env::var("UPDATE_EXAMPLE").is_ok() {
            std::fs::write(&file, example()).unwrap();
            std::fs::write(&guide, with_table(&guide_text)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), example());
        assert_eq!(std::fs::read_to_string(guide).unwrap(), with_table(&guide_text));
    }

    #[test]
    fn the_example_is_a_file_that_the_program_takes() {
        let uncommented: String = example()
            .lines()
            .filter_map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')))
            .fold(String::new(), |text, line| text + line + "\n");
        assert!(uncommented.lines().count() > 10);
        for key in crate::config::known_keys() {
            assert!(uncommented.contains(&format!("{} = ", key.replace("hosts_", "hosts."))), "{key}");
        }
        assert_eq!(serve(&uncommented).public_url.as_deref(), Some("https://study.example"));
    }

    /// Returns what `serve` makes of a file alone.
    fn serve(text: &str) -> crate::config::ServeOptions {
        use clap::FromArgMatches;
        let matches = declared().get_matches_from(["pulseward"]);
        let options = crate::config::ServeOptions::from_arg_matches(&matches).unwrap();
        crate::config::complete_from_text(&options, &matches, text, Path::new("example")).unwrap()
    }

    #[test]
    fn the_files_that_the_operators_guide_shows_are_ones_that_the_program_takes() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/getting-started-operator.md");
        let guide = std::fs::read_to_string(path).unwrap();
        let blocks: Vec<&str> =
            guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert_eq!(blocks.len(), 4);
        for block in blocks {
            serve(block);
        }
    }
}
