//! Movement level 0–4 from acceleration (**ours**), shown next to a NEWS2 score: a heart rate of
//! 120 means something else in a runner.
//!
//! The measure is the mean amplitude deviation (MAD) of Vähä-Ypyä et al. (Clin Physiol Funct
//! Imaging 2015;35:64-70); its cut points for the hip are used for the wrist without proof.

use crate::signal::mean;

/// Levels 1, 2, 3 and 4 begin at these deviations, g: stirring (**ours**), light, moderate and
/// vigorous activity.
const LEVEL_FROM_G: [f64; 4] = [0.005, 0.0225, 0.0915, 0.414];

/// Level of a stretch of vector lengths in g (five seconds or more make sense); None when empty
/// or when a value is not finite.
pub fn movement_level(magnitude_g: &[f64]) -> Option<u8> {
    // Around the mean of the stretch and not around 1 g: sensors are off by a few percent, which would be light
    // activity.
    let mean_g = mean(magnitude_g)?;
    let distances: Vec<f64> = magnitude_g.iter().map(|length| (length - mean_g).abs()).collect();
    let deviation_g = mean(&distances)?;
    Some(LEVEL_FROM_G.iter().map(|from_g| u8::from(deviation_g >= *from_g)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_begin_at_their_cut_points() {
        for (swing_g, level) in
            [(0.0, 0), (0.004, 0), (0.006, 1), (0.022, 1), (0.023, 2), (0.092, 3), (0.413, 3), (0.415, 4), (5.0, 4)]
        {
            assert_eq!(movement_level(&[1.0 + swing_g, 1.0 - swing_g]), Some(level), "{swing_g}");
        }
    }

    #[test]
    fn nothing_has_no_level() {
        assert_eq!(movement_level(&[]), None);
        assert_eq!(movement_level(&[1.0, f64::NAN]), None);
    }
}
