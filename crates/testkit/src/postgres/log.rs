//! Statements that the server executed, read from its log.
//!
//! With `log_statement = all` the server writes a line before it executes a statement, so anyone who has the answer of
//! a statement finds it in the log. Prepared statements are logged at each execution, not when they are prepared.

use std::collections::BTreeSet;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Prefix of a line: database, process id, address of the client, application name. What follows the last bar of the
/// prefix begins with the severity.
pub(super) const LINE_PREFIX: &str = "|%d|%p|%r|%a|";

/// Place in the server's log: what was executed before it lies before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogMark(pub(super) u64);

/// One statement that the server executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Process of the server, one for each connection.
    pub process: u32,
    /// Port of the client's end of the connection.
    pub client_port: u16,
    /// Name that the client gave itself.
    pub application: String,
    /// Text; of a simple query that holds several statements, one of them. Only time-outs that are set in the same
    /// query as BEGIN belong to it, since they are how the transaction begins.
    pub text: String,
}

impl Statement {
    /// Number of commands that the server completed for it.
    pub fn commands(&self) -> usize {
        pieces(&self.text).count()
    }
}

/// Number of transactions among statements that followed one another in the log. A statement outside of `BEGIN` and
/// `COMMIT` is a transaction of its own; one that began before the first statement counts too.
pub fn count_transactions(statements: &[Statement]) -> usize {
    let mut open = BTreeSet::new();
    let mut transactions = 0;
    for statement in statements {
        let word = statement.text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        match word.trim_end_matches(';') {
            "BEGIN" | "START" => {
                open.insert(statement.process);
                transactions += 1;
            }
            "COMMIT" | "END" | "ROLLBACK" | "ABORT" if !is_to_savepoint(&statement.text) => {
                transactions += usize::from(!open.remove(&statement.process));
            }
            _ => transactions += usize::from(!open.contains(&statement.process)),
        }
    }
    transactions
}

fn is_to_savepoint(text: &str) -> bool {
    text.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("to"))
}

pub(super) fn end_of(log: &Path) -> std::io::Result<LogMark> {
    Ok(LogMark(std::fs::metadata(log)?.len()))
}

/// Statements of a database between two places of the log, in the order of the log.
pub(super) fn read(log: &Path, database: &str, from: LogMark, to: LogMark) -> std::io::Result<Vec<Statement>> {
    let mut file = std::fs::File::open(log)?;
    file.seek(SeekFrom::Start(from.0))?;
    let mut bytes = Vec::new();
    file.take(to.0.saturating_sub(from.0)).read_to_end(&mut bytes)?;
    Ok(parse(&String::from_utf8_lossy(&bytes), database))
}

fn parse(log: &str, database: &str) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        let mut whole = line.to_owned();
        // The server begins every further line of a message with a tab.
        while let Some(further) = lines.next_if(|line| line.starts_with('\t')) {
            whole.push('\n');
            whole.push_str(&further[1..]);
        }
        let fields: Vec<&str> = whole.splitn(6, '|').collect();
        let ["", name, process, client, application, message] = fields[..] else { continue };
        let (Some(text), true) = (executed(message), name == database) else { continue };
        let statement = |text: &str| Statement {
            process: process.parse().unwrap_or_default(),
            client_port: port_of(client),
            application: application.to_owned(),
            text: text.to_owned(),
        };
        statements.extend(in_parts(text).iter().map(|text| statement(text)));
    }
    statements
}

/// Statements of one message of the protocol.
fn in_parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in pieces(text) {
        let begin = parts.last_mut().filter(|part| part.starts_with("BEGIN") && sets_timeout(piece));
        match begin {
            Some(begin) => begin.extend(["; ", piece]),
            None => parts.push(piece.to_owned()),
        }
    }
    parts
}

fn sets_timeout(piece: &str) -> bool {
    let setting = piece.strip_prefix("SET LOCAL ").and_then(|setting| setting.split_whitespace().next());
    setting.is_some_and(|setting| setting.ends_with("_timeout"))
}

/// Returns a semicolon inside a constant cuts too, so that at worst too many are counted.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|piece| !piece.is_empty())
}

/// Text of the statement that a message reports as executed: `LOG:  statement: TEXT` of the simple protocol,
/// `LOG:  execute NAME: TEXT` of the extended one.
fn executed(message: &str) -> Option<&str> {
    let message = message.strip_prefix("LOG:")?.trim_start();
    message.strip_prefix("statement: ").or_else(|| Some(message.strip_prefix("execute ")?.split_once(": ")?.1))
}

/// Port of an address as the server writes it, such as `127.0.0.1(49152)`.
fn port_of(client: &str) -> u16 {
    let port = client.rsplit_once('(').and_then(|(_, port)| port.strip_suffix(')'));
    port.and_then(|port| port.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
|test_1|7|127.0.0.1(40001)|pulseward|LOG:  statement: BEGIN; SET LOCAL lock_timeout = '1s'; SET LOCAL a_timeout = 1; SELECT 1
|test_2|8|127.0.0.1(40002)|pulseward|LOG:  statement: SELECT of another database
|test_1|7|127.0.0.1(40001)|pulseward|LOG:  execute s3: SELECT a,
\t    b FROM t
|test_1|7|127.0.0.1(40001)|pulseward|DETAIL:  parameters: $1 = 'LOG:  statement: no'
|test_1|7|127.0.0.1(40001)|pulseward|ERROR:  a fault
|test_1|7|127.0.0.1(40001)|pulseward|STATEMENT:  SELECT a
||9|||LOG:  checkpoint starting: time
|test_1|7|127.0.0.1(40001)|pulseward|LOG:  statement: COMMIT
";

    fn statement(process: u32, text: &str) -> Statement {
        Statement { process, client_port: 40_001, application: "pulseward".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn log_lines_of_a_database_become_its_executed_statements() {
        let begin = "BEGIN; SET LOCAL lock_timeout = '1s'; SET LOCAL a_timeout = 1";
        let texts = [begin, "SELECT 1", "SELECT a,\n    b FROM t", "COMMIT"];
        let statements = parse(LOG, "test_1");
        assert_eq!(statements, texts.map(|text| statement(7, text)));
        assert_eq!(statements.iter().map(Statement::commands).collect::<Vec<_>>(), [3, 1, 1, 1]);
        assert_eq!(parse(LOG, "test_2").len(), 1);
    }

    #[test]
    fn transactions_are_counted_for_each_connection() {
        let statements = [
            statement(1, "BEGIN"),
            statement(2, "SELECT alone"),
            statement(1, "SAVEPOINT a"),
            statement(1, "ROLLBACK TO a"),
            statement(1, "INSERT"),
            statement(1, "COMMIT"),
            statement(3, "COMMIT"),
            statement(1, "START TRANSACTION READ ONLY"),
        ];
        assert_eq!(count_transactions(&statements), 4);
    }
}
