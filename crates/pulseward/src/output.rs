//! What a command prints: exactly one JSON object for programs, or plain lines for people.

use std::io::Write;

use clap::Args;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// How results are printed.
#[derive(Args, Clone, Copy)]
pub struct Output {
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

impl Output {
    /// Prints a result.
    pub fn print(self, result: &Value) -> Result<(), Failure> {
        let text = if self.json { format!("{result}\n") } else { plain(result) };
        write_out(text.as_bytes())
    }
}

/// Writes to standard output. A reader that has gone away, such as `head`, is no failure.
pub fn write_out(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // The work is done; that somebody reads only the first lines of it is their business.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::io("write the result", error)),
        _ => Ok(()),
    }
}

/// `name: value` lines; of a list, a block of lines for each element, below its name where it is not all that there is.
fn plain(result: &Value) -> String {
    let Value::Object(fields) = result else { return format!("{result}\n") };
    let mut text = String::new();
    for (name, value) in fields {
        match value {
            Value::Array(rows) if fields.len() == 1 => {
                let blocks: Vec<String> = rows.iter().map(plain).collect();
                text.push_str(&blocks.join("\n"));
            }
            Value::Array(rows) if rows.is_empty() => text.push_str(&line(name, &Value::Null, fields)),
            // Without its name a list of what is missing would read like one of what is there.
            Value::Array(rows) => {
                text.extend([name, ":\n"]);
                let blocks: Vec<String> = rows.iter().map(plain).collect();
                let indented = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") };
                text.extend(blocks.join("\n").lines().map(indented));
            }
            _ => text.push_str(&line(name, value, fields)),
        }
    }
    text
}

fn line(name: &str, value: &Value, fields: &Map<String, Value>) -> String {
    let width = fields.keys().map(String::len).max().unwrap_or(0) + 1;
    let value = match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    format!("{:width$} {value}\n", format!("{name}:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn people_get_aligned_lines() {
        let result = json!({"id": "a1", "expires_at": null, "rows": 3});
        assert_eq!(plain(&result), "expires_at: none\nid:         a1\nrows:       3\n");
        let list = json!({"accounts": [{"id": "a"}, {"id": "b"}]});
        assert_eq!(plain(&list), "id: a\n\nid: b\n");
        assert_eq!(plain(&json!({"accounts": []})), "");
        let copied = json!({"copied": 3, "open": [{"from": "a", "type": "b"}, {"from": "c", "type": "d"}]});
        assert_eq!(plain(&copied), "copied: 3\nopen:\n  from: a\n  type: b\n\n  from: c\n  type: d\n");
        assert_eq!(plain(&json!({"copied": 3, "open": []})), "copied: 3\nopen:   none\n");
    }
}
