//! `docs/data-types.md`: the types and the columns of each, between two comments of the page.

use std::fmt::Write as _;

use vitals::registry::{Column, Declaration, Kind, Period, Sampling};

const BEGIN: &str = "<!-- generated: types -->\n";
const END: &str = "<!-- end of what is generated -->\n";

pub(super) fn page(types: &[&Declaration], page: &str) -> String {
    let mut text = String::from(
        "\n| Type | Number | What | Samples | Sealed by the | Distinguished by |\n|---|---|---|---|---|---|\n",
    );
    for one in types {
        let period = match one.period {
            Period::Day => "day",
            Period::Month => "month",
        };
        let channel = one.channel.columns().join(", ");
        let samples = samples(one);
        let _ =
            writeln!(text, "| `{}` | {} | {} | {samples} | {period} | {channel} |", one.name, one.number, one.meaning);
    }
    for one in types {
        let _ = write!(
            text,
            "\n## `{}`\n\n{}.\n\n| Column | Unit | Values | Meaning |\n|---|---|---|---|\n",
            one.name, one.meaning
        );
        for column in one.columns {
            let meaning = column.description();
            let _ = writeln!(text, "| {} | {} | {} | {meaning} |", column.name, column.unit, values(column));
        }
    }
    super::part::with_part(page, BEGIN, END, &(text + "\n"))
}

fn samples(declaration: &Declaration) -> String {
    let range = |lowest: u32, highest: u32| {
        if lowest == highest { format!("{lowest} Hz") } else { format!("{lowest} to {highest} Hz") }
    };
    match declaration.sampling {
        Sampling::ByRow(usual) => usual.to_owned(),
        Sampling::Even { usual_hz, accepted_hz: None } => range(usual_hz.lowest_hz, usual_hz.highest_hz),
        Sampling::Even { usual_hz, accepted_hz: Some(accepted) } => {
            let usual = range(usual_hz.lowest_hz, usual_hz.highest_hz);
            format!("{usual}; {} accepted", range(accepted.lowest_hz, accepted.highest_hz))
        }
    }
}

fn values(column: &Column) -> String {
    let mut text = match column.kind {
        Kind::Number { decimals: 0, min, max } => format!("{min} to {max}"),
        Kind::Number { decimals, min, max } => {
            let digits = usize::from(decimals);
            format!("{min} to {max}, in steps of {:.digits$}", 10_f64.powi(-i32::from(decimals)))
        }
        Kind::Hex => "0x00 to 0xff".to_owned(),
        Kind::TestType => "a kind of test".to_owned(),
        Kind::Text { max_chars } => format!("text of {max_chars} characters at most"),
    };
    if !column.gaps.is_empty() {
        let gaps: Vec<String> = column.gaps.iter().map(ToString::to_string).collect();
        let _ = write!(text, " without {}", gaps.join(", "));
    }
    if !column.nullable {
        text.push_str("; never null");
    }
    if column.deprecated {
        text.push_str("; for old apps only");
    }
    text
}
