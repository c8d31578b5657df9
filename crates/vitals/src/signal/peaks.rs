//! Local maxima with a least distance and a least prominence.

/// Indices of local maxima, ascending: at least `distance` samples apart (of two closer ones the
/// higher stays) and at least `prominence` above the higher of the lowest points that separate
/// them from higher ground on either side. A plateau counts once, at its middle.
pub fn find_peaks(values: &[f64], distance: usize, prominence: f64) -> Vec<usize> {
    let mut peaks = local_maxima(values);
    keep_distant(&mut peaks, values, distance);
    peaks.retain(|&peak| prominence_of(values, peak) >= prominence);
    peaks
}

/// Maxima of which both neighbours (beyond a plateau) are lower; the ends never are.
fn local_maxima(values: &[f64]) -> Vec<usize> {
    let mut maxima = Vec::new();
    let mut i = 1;
    while i + 1 < values.len() {
        if values[i] <= values[i - 1] {
            i += 1;
            continue;
        }
        let mut end = i;
        while end + 1 < values.len() && values[end + 1].total_cmp(&values[i]).is_eq() {
            end += 1;
        }
        // A rise that the data end in is no peak: what follows is not known.
        if end + 1 < values.len() && values[end + 1] < values[i] {
            maxima.push(usize::midpoint(i, end));
        }
        i = end + 1;
    }
    maxima
}

/// Goes from the highest peak down and drops those nearer than `distance` to one that stays.
fn keep_distant(peaks: &mut Vec<usize>, values: &[f64], distance: usize) {
    let mut order: Vec<usize> = (0..peaks.len()).collect();
    // From the highest down, so that a small peak never displaces a large one near it.
    order.sort_by(|&one, &other| values[peaks[other]].total_cmp(&values[peaks[one]]));
    let mut keep = vec![true; peaks.len()];
    for place in order {
        if !keep[place] {
            continue;
        }
        let near = |other: usize| peaks[place].abs_diff(peaks[other]) < distance;
        for other in (0..place).rev().take_while(|&other| near(other)) {
            keep[other] = false;
        }
        for other in (place + 1..peaks.len()).take_while(|&other| near(other)) {
            keep[other] = false;
        }
    }
    let mut kept = keep.into_iter();
    peaks.retain(|_| kept.next() == Some(true));
}

/// Height above the higher of the two lowest points between the peak and higher ground.
fn prominence_of(values: &[f64], peak: usize) -> f64 {
    let height = values[peak];
    let lowest = |side: &mut dyn Iterator<Item = &f64>| {
        side.take_while(|value| **value <= height).copied().fold(height, f64::min)
    };
    let left = lowest(&mut values[..peak].iter().rev());
    let right = lowest(&mut values[peak + 1..].iter());
    height - left.max(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_of_a_small_mountain_range() {
        let range = [0.0, 3.0, 1.0, 2.0, 2.0, 2.0, 0.5, 5.0, 4.0, 4.5, 0.0];
        assert_eq!(find_peaks(&range, 1, 0.0), [1, 4, 7, 9]);
        assert_eq!(find_peaks(&range, 1, 1.0), [1, 4, 7]);
        assert_eq!(find_peaks(&range, 1, 1.1), [1, 7]);
        assert_eq!(find_peaks(&range, 3, 0.0), [1, 4, 7]);
        assert_eq!(find_peaks(&range, 4, 0.0), [1, 7]);
    }

    #[test]
    fn flat_short_and_rising_signals_have_none() {
        assert!(find_peaks(&[], 1, 0.0).is_empty());
        assert!(find_peaks(&[1.0], 1, 0.0).is_empty());
        assert!(find_peaks(&[1.0, 1.0, 1.0], 1, 0.0).is_empty());
        assert!(find_peaks(&[1.0, 2.0, 3.0], 1, 0.0).is_empty());
        assert!(find_peaks(&[1.0, 2.0, 2.0], 1, 0.0).is_empty());
    }
}
