//! JSON that pages show as answers, compared with answers of the service.
//!
//! Fields, words and the types of values have to be the same. Figures need not: numbers, and runs of letters and digits that
//! have a digit, such as uuids, dates and tokens. `…` and `...` are anything within a text, and behind the last
//! field or element for more of them.

use serde_json::Value;

use super::blocks::Block;

/// More fields or elements, which are not shown.
const MORE: &str = "…";

/// Reads JSON as pages show it.
pub fn read(text: &str) -> serde_json::Result<Value> {
    let text = text.replace("[…]", "[\"…\"]").replace(", …]", ", \"…\"]").replace(", …}", ", \"…\": null}");
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    values.next().unwrap_or(Ok(Value::Null))
}

/// All JSON that a page shows with a block, in its order: the whole of a `json` block, and what begins a comment of a
/// program. A comment that JSON does not fit on goes on in the next.
pub fn in_block(block: &Block) -> Vec<Value> {
    if block.language == "json" {
        return vec![read(&block.text).unwrap_or_else(|error| panic!("{error}: {}", block.text))];
    }
    let comments: Vec<&str> = block.text.lines().map(|line| line.strip_prefix("# ").unwrap_or("")).collect();
    let begins = (0..comments.len()).filter(|&line| comments[line].starts_with(['{', '[']));
    let read_from = |line: usize| {
        let most = comments[line..].iter().take_while(|comment| !comment.is_empty()).count();
        let values = (1..=most).map(|count| read(&comments[line..line + count].join(" ")));
        values.flatten().next().unwrap_or_else(|| panic!("no JSON: {}", comments[line]))
    };
    begins.map(read_from).collect()
}

/// Whether an answer is as it is shown.
pub fn is_as_shown(shown: &Value, answer: &Value) -> bool {
    match (shown, answer) {
        (Value::Object(shown), Value::Object(answer)) => {
            let fields: Vec<_> = shown.iter().filter(|(name, _)| *name != MORE).collect();
            let is_whole = fields.len() == shown.len();
            (!is_whole || shown.len() == answer.len())
                && fields.iter().all(|(name, value)| answer.get(*name).is_some_and(|other| is_as_shown(value, other)))
        }
        (Value::Array(shown), Value::Array(answer)) => match shown.split_last() {
            Some((last, first)) if last == MORE => {
                first.iter().all(|one| answer.iter().any(|other| is_as_shown(one, other)))
            }
            _ => shown.len() == answer.len() && shown.iter().zip(answer).all(|(one, other)| is_as_shown(one, other)),
        },
        (Value::String(shown), Value::String(answer)) => fits(&shown.replace("...", MORE), answer),
        (Value::Number(_), Value::Number(_)) => true,
        _ => shown == answer,
    }
}

/// A text with one sign for each run of letters, digits and hyphens that has a digit.
fn form(text: &str) -> String {
    let is_of_run = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
    let (mut form, mut rest) = (String::new(), text);
    while !rest.is_empty() {
        let run = rest.find(|sign| !is_of_run(sign)).unwrap_or(rest.len());
        let is_figure = rest[..run].bytes().any(|byte| byte.is_ascii_digit());
        form.push_str(if is_figure { "#" } else { &rest[..run] });
        let next = run + rest[run..].chars().next().map_or(0, char::len_utf8);
        form.push_str(&rest[run..next]);
        rest = &rest[next..];
    }
    form
}

fn fits(shown: &str, answer: &str) -> bool {
    let answer = form(answer);
    let pieces: Vec<String> = shown.split(MORE).map(form).collect();
    let (first, others) = pieces.split_first().unwrap();
    let Some(mut rest) = answer.strip_prefix(first.as_str()) else { return false };
    let Some((last, middle)) = others.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some((_, after)) = rest.split_once(piece.as_str()) else { return false };
        rest = after;
    }
    rest.ends_with(last.as_str())
}

#[test]
fn answers_of_another_form_are_not_as_shown() {
    let shown =
        read(r#"{"files": [{"path": "v1/type=ppg2/patient=…/000001-….parquet", "rows": 12, …}], "more": false}"#);
    let shown = shown.unwrap();
    let answer = |path: &str, more: &str| {
        let rest = r#""sha256": "ab12", "rows": 7"#;
        serde_json::from_str(&format!(r#"{{"files": [{{"path": "{path}", {rest}}}], "more": {more}}}"#)).unwrap()
    };
    let path = "v1/type=ppg1/patient=80876de9-4e89-449a-9a8f-c1e11f720437/000002-91ab.parquet";
    assert!(is_as_shown(&shown, &answer(path, "false")));
    for other in [path.replace("parquet", "csv"), path.replace("patient", "person"), format!("x/{path}")] {
        assert!(!is_as_shown(&shown, &answer(&other, "false")), "{other}");
    }
    assert!(!is_as_shown(&shown, &answer(path, "true")), "another word");
    assert!(!is_as_shown(&shown, &answer(path, r#"false, "open": []"#)), "a field that is not shown");
    assert!(!is_as_shown(&shown, &serde_json::json!({"files": [{"path": path}], "more": false})), "no rows");
    assert!(!is_as_shown(&shown, &serde_json::json!({"files": [], "more": false})), "no file");
}

#[test]
fn comments_show_answers_on_one_line_or_several() {
    let text = "# a comment\ncurl x\n# {\"a\": 1,\n#  \"b\": \"...\"}\nx\n# {\"c\": 2}, and the rest\n".to_owned();
    let block = Block { language: "sh".to_owned(), mark: String::new(), text };
    assert_eq!(in_block(&block), [serde_json::json!({"a": 1, "b": "..."}), serde_json::json!({"c": 2})]);
}
