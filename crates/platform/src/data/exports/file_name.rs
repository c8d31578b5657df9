//! What the files of an archive, and the archive itself, are called.

use store::{ExportId, PatientId};
use vitals::registry::{Channel, ChannelRule, Colour, DataType};

/// Returns an archive as it is saved: whose data, and which export.
pub(super) fn archive(patient: &PatientId, id: &ExportId) -> String {
    format!("{patient}_{id}.zip")
}

/// Returns whether each channel of a type has a file of its own: colours and positions do.
pub(super) fn has_file_per_channel(data_type: DataType) -> bool {
    data_type.declaration().channel == ChannelRule::ColourAndPosition
}

/// Returns a data file without its ending: the type, and for ppg2 the colour and the position of the sensor.
pub(super) fn data_file(data_type: DataType, channel: Option<Channel>) -> String {
    let Some(channel) = channel.filter(|_| has_file_per_channel(data_type)) else {
        return data_type.name().to_owned();
    };
    let name = format!("{}_{}", data_type.name(), colour(channel.metric_id()));
    match channel.led_pd_pos() {
        Some(position) => format!("{name}_{position}"),
        None => name,
    }
}

fn colour(metric_id: Option<i32>) -> String {
    let Some(metric_id) = metric_id else { return "unknown".to_owned() };
    match Colour::of_metric(metric_id) {
        Some(colour) => colour.name.replace('-', "_"),
        None => format!("{metric_id:#04x}"),
    }
}

#[cfg(test)]
mod tests {
    use vitals::registry::NULL;

    use super::*;

    #[test]
    fn colours_and_positions_are_distinguished() {
        let name = |metric_id, position| data_file(DataType::Ppg2, Some(Channel::of_ppg2(metric_id, position)));
        assert_eq!(name(0x7e, 6), "ppg2_green_6");
        assert_eq!(name(0x7b, 22), "ppg2_infra_red_22");
        assert_eq!(name(0x55, 0), "ppg2_0x55_0");
        assert_eq!(name(0x7f, NULL), "ppg2_ambient");
        assert_eq!(name(NULL, NULL), "ppg2_unknown");
        assert_eq!(data_file(DataType::RrInterval, None), "rr-interval");
    }
}
