//! What protects the files of the databases, and what was lost with a damaged write-ahead log.

use serde_json::{Value, json};
use store::{DamagedLog, DatabaseFiles};

/// The state of the files of each database, with its name.
type Files = [(&'static str, DatabaseFiles)];

/// Returns a line for each database that a changed bit can hide rows in, and for each whose engine cannot check its
/// indexes, with what mends it.
pub(super) fn warnings(files: &Files) -> Vec<String> {
    let unprotected = files.iter().filter(|(_, files)| !files.have_page_checksums);
    let warning = |(database, files): &(&str, DatabaseFiles)| {
        let mend = if files.are_ours {
            "doctor --rewrite gives it them"
        } else {
            "pg_checksums --enable gives its server them, while the server is stopped"
        };
        format!("the {database} database has no page checksums, so a damaged page can hide rows: {mend}")
    };
    let unchecked = files.iter().filter_map(|(database, files)| Some((database, files.cannot_check.as_ref()?)));
    let unchecked = unchecked
        .map(|(database, reason)| format!("--verify cannot check the indexes of the {database} database: {reason}"));
    unprotected.map(warning).chain(unchecked).collect()
}

/// Returns a line for each damaged log that was kept.
pub(super) fn problems(files: &Files) -> Vec<String> {
    let problem = |database: &str, DamagedLog { file, frame, lost_commits }: &DamagedLog| {
        let what = match lost_commits {
            0 => "commits are lost, how many is no longer known".to_owned(),
            _ => format!("{lost_commits} commits from frame {frame} on are lost"),
        };
        format!(
            "the write-ahead log of the {database} database was damaged when it was read after a crash: {what}, with what \
             was acknowledged in them, and pages of two moments can lie in the file; the log is kept as {}; run doctor \
             --verify, restore what matters and move the log away",
            file.display()
        )
    };
    logs(files).map(|(database, log)| problem(database, log)).collect()
}

/// Returns whether each database has page checksums.
pub(super) fn checksums_json(files: &Files) -> Value {
    files.iter().map(|(database, files)| ((*database).to_owned(), json!(files.have_page_checksums))).collect()
}

/// Returns the damaged logs that were kept.
pub(super) fn logs_json(files: &Files) -> Value {
    let log = |(database, log): (&str, &DamagedLog)| json!({"database": database, "file": log.file, "frame": log.frame, "lost_commits": log.lost_commits});
    logs(files).map(log).collect()
}

fn logs(files: &Files) -> impl Iterator<Item = (&'static str, &DamagedLog)> {
    files.iter().flat_map(|(database, files)| files.damaged_logs.iter().map(move |log| (*database, log)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(have_page_checksums: bool, are_ours: bool, damaged_logs: Vec<DamagedLog>) -> DatabaseFiles {
        DatabaseFiles { have_page_checksums, are_ours, damaged_logs, cannot_check: None }
    }

    #[test]
    fn warning_says_what_gives_checksums_on_each_engine() {
        let found = warnings(&[("users", files(false, true, Vec::new())), ("health", files(false, false, Vec::new()))]);
        assert!(found[0].contains("users") && found[0].contains("doctor --rewrite"), "{found:?}");
        assert!(found[1].contains("health") && found[1].contains("pg_checksums --enable"), "{found:?}");
        assert_eq!(warnings(&[("users", files(true, true, Vec::new()))]), [""; 0]);
        let unchecked = DatabaseFiles { cannot_check: Some("no amcheck".to_owned()), ..files(true, false, Vec::new()) };
        let found = warnings(&[("users", unchecked)]);
        assert!(found.len() == 1 && found[0].contains("users") && found[0].contains("no amcheck"), "{found:?}");
    }

    #[test]
    fn damaged_log_is_a_problem_that_names_the_file() {
        let log = DamagedLog { file: "health.db-wal-damaged-1".into(), frame: 3, lost_commits: 7 };
        let files = [("users", files(true, true, Vec::new())), ("health", files(true, true, vec![log]))];
        let found = problems(&files);
        assert!(found.len() == 1 && found[0].contains("7 commits") && found[0].contains("health.db-wal-damaged-1"));
        let listed = json!([{"database": "health", "file": "health.db-wal-damaged-1", "frame": 3, "lost_commits": 7}]);
        assert_eq!(logs_json(&files), listed);
    }
}
