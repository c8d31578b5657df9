//! `data_dictionary.csv`: what each column means, in which unit, and which of its values means "no value".

use vitals::registry::Declaration;

use super::request::ArchiveFormat;

/// Returns the file, for some types as they are written in a format: CSV has milliseconds and a local date, Parquet
/// microseconds and the zone.
pub(super) fn data_dictionary(types: &[&Declaration], format: ArchiveFormat) -> Vec<u8> {
    let mut text = String::from("type,column,unit,meaning,no_value\n");
    for declaration in types {
        let name = declaration.name;
        if format == ArchiveFormat::Csv {
            push_line(&mut text, [name, "timestamp", "ms", "time of the sample, milliseconds since 1970 UTC", ""]);
            push_line(&mut text, [name, "date", "", "the same as local date and time with the offset from UTC", ""]);
        } else {
            push_line(&mut text, [name, "timestamp", "us", "time of the sample, microseconds since 1970 UTC", ""]);
        }
        for column in declaration.columns {
            let no_value = column.no_value.map(|none| none.to_string()).unwrap_or_default();
            let mut meaning = column.description();
            let kept = column.repeats.and_then(|kept| declaration.column(kept));
            if let (ArchiveFormat::Parquet, Some(kept)) = (format, kept) {
                meaning =
                    format!("{meaning}; left out where it is {} times {}", kept.steps_per_unit(), kept.name).into();
            }
            push_line(&mut text, [name, column.name, column.unit, &meaning, &no_value]);
        }
        if format == ArchiveFormat::Parquet {
            push_line(&mut text, [name, "zone", "", "IANA time zone of the sample's local time", ""]);
        }
    }
    text.into_bytes()
}

fn push_line(text: &mut String, cells: [&str; 5]) {
    for (position, cell) in cells.into_iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        if cell.contains(['"', ',', '\n']) {
            text.push('"');
            text.push_str(&cell.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(cell);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::registry::DataType;

    #[test]
    fn every_column_has_a_line() {
        for (format, first, other) in
            [(ArchiveFormat::Csv, "timestamp,ms", "date"), (ArchiveFormat::Parquet, "timestamp,us", "zone")]
        {
            let text = String::from_utf8(data_dictionary(&DataType::declarations(), format)).expect("text");
            let columns: usize = DataType::ALL.iter().map(|data_type| data_type.columns().len() + 2).sum();
            assert_eq!(text.lines().count(), columns + 1);
            assert!(text.contains("\nrr-interval,rr,ms,"), "{text}");
            // What archives of Parquet leave out, those of CSV have.
            let is_said = text.contains("raw; left out where it is 1000 times ecg");
            assert_eq!(is_said, format == ArchiveFormat::Parquet, "{text}");
            assert!(text.contains(&format!("\nrr-interval,{first},")), "{text}");
            assert!(text.contains(&format!("\nrr-interval,{other},")), "{text}");
            assert!(text.contains("\nactivity,bpm,/min,heart rate; 0 means no value,0\n"), "{text}");
        }
    }

    #[test]
    fn another_unit_in_a_declaration_is_another_dictionary() {
        let rr = DataType::RrInterval.declaration();
        let mut columns = rr.columns.to_vec();
        columns[0].unit = "s";
        let changed = Declaration { columns: columns.leak(), ..*rr };
        let line = |one| String::from_utf8(data_dictionary(&[one], ArchiveFormat::Csv)).expect("text");
        assert!(line(rr).contains("\nrr-interval,rr,ms,"));
        assert!(line(&changed).contains("\nrr-interval,rr,s,"));
    }
}
