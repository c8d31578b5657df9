//! `data_types.ts`: the types that the portal offers, and the columns of numbers that it can draw.

use std::fmt::Write as _;

use vitals::registry::{Column, Declaration, Kind};

const HEAD: &str = "\
// The types of raw data with their columns of numbers, made of the declarations of the service: docs/data-types.md says how.
// `UPDATE_GENERATED=1 cargo test -p vitals --test generated` writes this file again.

export interface DataColumn {
  unit: string;
  decimals: number;
  /** What means \"no value\" in the data. */
  noValue?: number;
  /** Differs from sample to sample of a waveform, and does not only accompany the signal. */
  isSignal?: boolean;
}

export interface DataType {
  value: string;
  text: string;
  isWaveform: boolean;
  columns: Record<string, DataColumn>;
}

export const DATA_TYPES: DataType[] = [
";

pub(super) fn module(types: &[&Declaration], _: &str) -> String {
    let mut text = HEAD.to_owned();
    for one in types {
        let is_waveform = one.is_waveform();
        let ending = if is_waveform { " (waveform)" } else { "" };
        let _ = write!(
            text,
            "  {{\n    value: {:?},\n    text: \"{}{ending}\",\n    isWaveform: {is_waveform},\n    columns: {{\n",
            one.name, one.title
        );
        let is_drawn = |column: &&Column| matches!(column.kind, Kind::Number { .. }) && !column.deprecated;
        for column in one.columns.iter().filter(is_drawn) {
            push_column(&mut text, column);
        }
        text.push_str("    },\n  },\n");
    }
    text + "];\n"
}

fn push_column(text: &mut String, column: &Column) {
    let _ = write!(text, "      {}: {{ unit: \"{}\", decimals: {}", column.name, column.unit, column.decimals());
    if let Some(none) = column.no_value {
        let _ = write!(text, ", noValue: {none}");
    }
    if column.is_signal {
        text.push_str(", isSignal: true");
    }
    text.push_str(" },\n");
}
