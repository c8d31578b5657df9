//! Names of the series that a chart can show, as a pattern.

use vitals::registry::{ChannelRule, Colour, DataType, TestKind};

/// Returns the pattern of the names: `TYPE.COLUMN`, of a type with channels also `TYPE.COLUMN.CHANNEL`.
pub(super) fn name_pattern() -> String {
    let types: Vec<String> = DataType::ALL.into_iter().map(names_of).collect();
    format!("^({})$", types.join("|"))
}

fn names_of(data_type: DataType) -> String {
    let columns = data_type.columns().iter().filter(|column| !column.is_text());
    let columns: Vec<&str> = columns.map(|column| column.name).collect();
    let channel = match data_type.declaration().channel {
        ChannelRule::ColourAndPosition => {
            // As channels are named, where colours have no hyphens. A byte in decimal digits is the position.
            let colours: Vec<String> = Colour::ALL.into_iter().map(|colour| colour.name.replace('-', "")).collect();
            let byte = "[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]";
            format!(r"(\.({}|none|0x[0-9a-f]{{2}})\.(none|{byte}))?", colours.join("|"))
        }
        ChannelRule::TestKind => {
            let kinds: Vec<&str> = TestKind::ALL.iter().map(|kind| kind.name).collect();
            format!(r"(\.({}))?", kinds.join("|"))
        }
        ChannelRule::Single => String::new(),
    };
    format!(r"{}\.({}){channel}", data_type.name(), columns.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_series_and_types_with_channels_have_one_more_part() {
        let activity = names_of(DataType::Activity);
        assert!(activity.starts_with(r"activity\.(bpm|bpm_q|") && activity.ends_with(')'), "{activity}");
        assert!(!activity.contains("|hta|"), "a text is no series: {activity}");
        assert!(names_of(DataType::Ppg2).contains(r"(\.(green|"), "{}", names_of(DataType::Ppg2));
        assert!(names_of(DataType::Tests).ends_with(r"|other))?"), "{}", names_of(DataType::Tests));
        assert_eq!(name_pattern().matches(r"\.(").count(), DataType::ALL.len() + 3);
    }
}
