//! What the files of an archive, and the archive itself, are called.

use vitals::registry::{Channel, DataType};

/// An archive as it is saved: whose data, and which export.
pub(super) fn archive(patient: &str, id: &str) -> String {
    format!("{patient}_{id}.zip")
}

/// A data file without its ending: the type, and for ppg2 the colour and the position of the sensor.
pub(super) fn data_file(data_type: DataType, channel: Option<Channel>) -> String {
    let Some(channel) = channel.filter(|_| data_type == DataType::Ppg2) else {
        return data_type.name().to_owned();
    };
    let name = format!("ppg2_{}", colour(channel.metric_id()));
    match channel.led_pd_pos() {
        Some(position) => format!("{name}_{position}"),
        None => name,
    }
}

fn colour(metric_id: Option<i32>) -> String {
    match metric_id {
        Some(0x7e) => "green".to_owned(),
        Some(0x7c) => "red".to_owned(),
        Some(0x7b) => "infra_red".to_owned(),
        Some(0x7f) => "ambient".to_owned(),
        Some(other) => format!("{other:#04x}"),
        None => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use vitals::registry::NULL;

    use super::*;

    #[test]
    fn colours_and_positions_are_told_apart() {
        let name = |metric_id, position| data_file(DataType::Ppg2, Some(Channel::of_ppg2(metric_id, position)));
        assert_eq!(name(0x7e, 6), "ppg2_green_6");
        assert_eq!(name(0x7b, 22), "ppg2_infra_red_22");
        assert_eq!(name(0x55, 0), "ppg2_0x55_0");
        assert_eq!(name(0x7f, NULL), "ppg2_ambient");
        assert_eq!(name(NULL, NULL), "ppg2_unknown");
        assert_eq!(data_file(DataType::RrInterval, None), "rr-interval");
    }
}
