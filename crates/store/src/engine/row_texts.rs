//! Texts of one statement for several rows, out of the text for one row.
//!
//! A text is made once for each number of rows. Larger numbers are powers of two, so the server prepares few of them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};

use runtime::HashMap;

/// Around a part of a statement that PostgreSQL alone is to see; to SQLite it is a comment.
const PART_BEGIN: &str = "/*postgres ";
const PART_END: &str = " postgres*/";
/// Numbers of rows up to which each has a text of its own.
const FEW_ROWS: usize = 16;
/// Rows of one statement at most.
const MOST_ROWS: usize = 64;

static MADE: LazyLock<Mutex<HashMap<(&'static str, usize), &'static str>>> = LazyLock::new(Mutex::default);

/// Returns how many of some rows go into the next statement.
pub(super) fn rows_at_once(rows: usize) -> usize {
    match rows.min(MOST_ROWS) {
        few if few <= FEW_ROWS => few,
        // Each number of rows is another statement, which the server plans and every connection keeps.
        many => 1 << many.ilog2(),
    }
}

/// Returns the text for some rows of a width. It is kept for the life of the program: there are as many as texts times
/// eighteen.
pub(super) fn with_rows(text: &'static str, width: usize, rows: usize) -> &'static str {
    if rows == 1 {
        return text;
    }
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // Statements are texts of the whole life of the program, and there are few of these.
    made.entry((text, rows)).or_insert_with(|| repeat(text, width, rows).leak())
}

/// Returns what PostgreSQL reads of a text.
pub(super) fn of_postgres(text: &str) -> Cow<'_, str> {
    if text.contains(PART_BEGIN) {
        return text.replace(PART_BEGIN, "").replace(PART_END, "").into();
    }
    text.into()
}

/// Repeats the brackets behind VALUES, with the parameters counted on.
fn repeat(text: &str, width: usize, rows: usize) -> String {
    let text = of_postgres(text);
    let (head, brackets, tail) = split(&text);
    let mut several = head.to_owned();
    for row in 0..rows {
        if row > 0 {
            several.push_str(", ");
        }
        let mut rest = brackets;
        while let Some((before, from_number)) = rest.split_once('$') {
            let digits = from_number.bytes().take_while(u8::is_ascii_digit).count();
            let number: usize = from_number[..digits].parse().unwrap_or(0);
            let _ = write!(several, "{before}${}", number + row * width);
            rest = &from_number[digits..];
        }
        several.push_str(rest);
    }
    several.push_str(tail);
    several
}

/// Returns what comes before the brackets of the row, the brackets, and what follows.
fn split(text: &str) -> (&str, &str, &str) {
    const VALUES: &str = "VALUES ";
    let start = text.find(VALUES).map_or(text.len(), |at| at + VALUES.len());
    let mut depth = 0;
    for (at, sign) in text[start..].char_indices() {
        match sign {
            '(' => depth += 1,
            ')' if depth == 1 => {
                let end = start + at + 1;
                return (&text[..start], &text[start..end], &text[end..]);
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    (text, "", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_repeated_with_their_own_parameters() {
        let text = "INSERT INTO t (a, b) VALUES ((SELECT x FROM u WHERE y = $1), $2) ON CONFLICT DO NOTHING";
        let expected = "INSERT INTO t (a, b) VALUES ((SELECT x FROM u WHERE y = $1), $2), \
            ((SELECT x FROM u WHERE y = $3), $4) ON CONFLICT DO NOTHING";
        assert_eq!(with_rows(text, 2, 2), expected);
        assert_eq!(with_rows(text, 2, 1), text);
        assert!(std::ptr::eq(with_rows(text, 2, 2), with_rows(text, 2, 2)));
    }

    #[test]
    fn rows_of_a_list_that_postgres_alone_reads_are_repeated() {
        let text = "DELETE FROM t WHERE (a, b) = /*postgres ANY (VALUES postgres*/ (CAST($1 AS TEXT), $2) /*postgres ) postgres*/";
        let expected = "DELETE FROM t WHERE (a, b) = ANY (VALUES (CAST($1 AS TEXT), $2), (CAST($3 AS TEXT), $4) )";
        assert_eq!(with_rows(text, 2, 2), expected);
    }

    #[test]
    fn few_rows_are_taken_together_and_many_by_powers_of_two() {
        assert_eq!([1, 2, 3, 16, 17, 31, 64, 100].map(rows_at_once), [1, 2, 3, 16, 16, 16, 64, 64]);
    }
}
