//! Power spectra: Welch's averaged periodogram for even samples, Lomb–Scargle for uneven ones.

use std::borrow::Cow;

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

/// One-sided power spectral density at frequencies 0, `step_hz`, 2·`step_hz`, ….
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum<'density> {
    /// Distance of two bins in Hz.
    pub step_hz: f64,
    /// Density in squared units of the signal per Hz, from 0 Hz.
    pub density: Cow<'density, [f64]>,
}

impl Spectrum<'_> {
    /// Power between `low_hz` (inclusive) and `high_hz` (exclusive) by the trapezoid rule over
    /// the bins that lie there; 0 when fewer than two do.
    pub fn band_power(&self, low_hz: f64, high_hz: f64) -> f64 {
        let frequency = |bin: usize| bin as f64 * self.step_hz;
        let bins = 0..self.density.len();
        let start = bins.clone().find(|&bin| frequency(bin) >= low_hz).unwrap_or(bins.end);
        let end = bins.clone().find(|&bin| frequency(bin) >= high_hz).unwrap_or(bins.end);
        let Some(inside) = self.density.get(start..end) else {
            return 0.0;
        };
        let pair_sum: f64 = inside.windows(2).map(|pair| pair[0] + pair[1]).sum();
        pair_sum * self.step_hz / 2.0
    }

    /// Returns the frequency of greatest density between two frequencies, in Hz; None without a bin.
    pub fn peak_hz(&self, low_hz: f64, high_hz: f64) -> Option<f64> {
        (0..self.density.len())
            .map(|bin| (bin as f64 * self.step_hz, self.density[bin]))
            .filter(|(frequency, _)| low_hz <= *frequency && *frequency < high_hz)
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .map(|(frequency, _)| frequency)
    }
}

/// Welch's method with its plans and window kept from call to call.
#[derive(Default)]
pub struct Welch {
    planner: RealFftPlanner<f64>,
    /// The window last used: successive calls nearly always have the same length.
    window: Vec<f64>,
    /// The density last found, which [`Spectrum`] borrows: there is one for each window of a day.
    density: Vec<f64>,
}

impl std::fmt::Debug for Welch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Welch").finish_non_exhaustive()
    }
}

impl Welch {
    /// Density of `values` sampled at `rate_hz`: periodic Hann window, segments of
    /// `segment_length` (the whole length if that is shorter) with 50 % overlap, the mean of each
    /// segment removed. None below two samples or when an input is not finite.
    pub fn density(&mut self, values: &[f64], rate_hz: f64, segment_length: usize) -> Option<Spectrum<'_>> {
        let length = segment_length.min(values.len());
        if length < 2 || !rate_hz.is_finite() || rate_hz <= 0.0 {
            return None;
        }
        if self.window.len() != length {
            self.window = hann_periodic(length);
        }
        let plan = self.planner.plan_fft_forward(length);
        let mut input = plan.make_input_vec();
        let mut output = plan.make_output_vec();
        let mut scratch = plan.make_scratch_vec();
        let density = &mut self.density;
        density.clear();
        density.resize(output.len(), 0.0);
        let mut segments = 0.0;
        // Half an overlap: a Hann window weighs its ends with nothing, and they would else not count.
        let step = length - length / 2;
        for start in (0..=values.len() - length).step_by(step) {
            let segment = &values[start..start + length];
            let mean = segment.iter().sum::<f64>() / length as f64;
            for (slot, (value, weight)) in input.iter_mut().zip(segment.iter().zip(&self.window)) {
                // The mean would leak into the lowest bins, where VLF lies.
                *slot = (value - mean) * weight;
            }
            plan.process_with_scratch(&mut input, &mut output, &mut scratch).ok()?;
            for (sum, bin) in density.iter_mut().zip(&output) {
                *sum += bin.norm_sqr();
            }
            segments += 1.0;
        }
        let weight_sum: f64 = self.window.iter().map(|weight| weight * weight).sum();
        to_one_sided(density, length, 1.0 / (rate_hz * weight_sum * segments));
        let all_finite = density.iter().all(|value| value.is_finite());
        all_finite.then_some(Spectrum { step_hz: rate_hz / length as f64, density: Cow::Borrowed(density) })
    }
}

/// Scales bins 0 to `length` / 2 and adds to each the equal power of its negative frequency,
/// which 0 Hz and, for even lengths, the last bin do not have.
fn to_one_sided(density: &mut [f64], length: usize, scale: f64) {
    let last = if length.is_multiple_of(2) { length / 2 } else { usize::MAX };
    for (bin, value) in density.iter_mut().enumerate() {
        let sides = if bin == 0 || bin == last { 1.0 } else { 2.0 };
        *value *= sides * scale;
    }
}

/// Hann window of which one more point would begin the next period.
fn hann_periodic(length: usize) -> Vec<f64> {
    (0..length).map(|i| 0.5 - 0.5 * (std::f64::consts::TAU * i as f64 / length as f64).cos()).collect()
}

/// Removes the least-squares straight line from even samples.
pub fn subtract_linear_trend(values: &mut [f64]) {
    let count = values.len() as f64;
    if values.len() < 2 {
        values.fill(0.0);
        return;
    }
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let offset = i as f64 - middle;
        covariance += offset * (value - mean);
        variance += offset * offset;
    }
    let slope = covariance / variance;
    for (i, value) in values.iter_mut().enumerate() {
        *value -= mean + slope * (i as f64 - middle);
    }
}

/// Lomb–Scargle density of unevenly spaced `values` (their mean is removed) at frequencies
/// `step_hz`, 2·`step_hz`, … up to `top_hz`; bin 0 is 0. Scargle (1982), scaled so that for even
/// samples the integral is the variance. `times_s` in seconds, ascending. None below three
/// points, for unequal lengths, or when an input is not finite or not sensible.
pub fn lomb_scargle(times_s: &[f64], values: &[f64], step_hz: f64, top_hz: f64) -> Option<Spectrum<'static>> {
    let span_s = times_s.last()? - times_s.first()?;
    let sound = times_s.len() == values.len()
        && times_s.len() >= 3
        && span_s > 0.0
        && step_hz > 0.0
        && top_hz.is_finite()
        && top_hz / step_hz <= 1e6
        && times_s.iter().chain(values).all(|value| value.is_finite());
    if !sound {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    // From one frequency to the next each point turns by the same angle, so that a product takes the place of a sine and
    // a cosine. Density does not depend on where time begins.
    let turn_of = |time_s: &f64| Complex::from_polar(1.0, std::f64::consts::TAU * step_hz * (time_s - times_s[0]));
    let turns: Vec<Complex<f64>> = times_s.iter().map(turn_of).collect();
    let mut angles = vec![Complex::new(1.0, 0.0); turns.len()];
    let mut density = vec![0.0];
    for _ in 0..(top_hz / step_hz + 1e-9) as usize {
        for (angle, turn) in angles.iter_mut().zip(&turns) {
            *angle *= turn;
        }
        density.push(2.0 * lomb_power(&angles, values, mean) * span_s / (count - 1.0));
    }
    density.iter().all(|value| value.is_finite()).then_some(Spectrum { step_hz, density: Cow::Owned(density) })
}

/// Scargle's power at one angular frequency ω, given e^{iωt} of each point.
///
/// With the sums Σx·e^{iωt} and Σe^{2iωt} known, the offset τ and the two squared projections
/// follow without a second pass over the points.
fn lomb_power(angles: &[Complex<f64>], values: &[f64], mean: f64) -> f64 {
    let mut first = Complex::new(0.0, 0.0);
    let mut second = Complex::new(0.0, 0.0);
    for (angle, value) in angles.iter().zip(values) {
        first += angle * (value - mean);
        second += angle * angle;
    }
    let count = angles.len() as f64;
    let turned = first * Complex::from_polar(1.0, -second.arg() / 2.0);
    let cos_squares = f64::midpoint(count, second.norm());
    let sin_squares = count - cos_squares;
    // At half the sampling rate all sines are zero, and the division would be of rounding by rounding.
    let sin_part = if sin_squares > 1e-9 * count { turned.im * turned.im / sin_squares } else { 0.0 };
    f64::midpoint(turned.re * turned.re / cos_squares, sin_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(count: usize, rate_hz: f64, frequency: f64) -> Vec<f64> {
        let phase = |i| std::f64::consts::TAU * frequency * i as f64 / rate_hz;
        (0..count).map(|i| 3.0 + 2.0 * phase(i).sin()).collect()
    }

    #[test]
    fn a_sine_keeps_its_power_and_its_place() {
        let mut welch = Welch::default();
        let spectrum = welch.density(&sine(4096, 4.0, 0.25), 4.0, 1024).unwrap();
        assert_eq!(spectrum.peak_hz(0.0, 2.0), Some(0.25));
        let power = spectrum.band_power(0.2, 0.3);
        assert!((power - 2.0).abs() < 1e-9, "a sine of amplitude 2 has power 2, not {power}");
        assert!(spectrum.band_power(0.4, 1.0) < 1e-12);
    }

    #[test]
    fn lomb_agrees_on_even_samples() {
        let values = sine(1024, 4.0, 0.25);
        let times: Vec<f64> = (0..1024).map(|i| f64::from(i) / 4.0).collect();
        let spectrum = lomb_scargle(&times, &values, 1.0 / 1024.0, 0.5).unwrap();
        assert!((spectrum.peak_hz(0.1, 0.5).unwrap() - 0.25).abs() < 1e-9);
        let power = spectrum.band_power(0.2, 0.3);
        assert!((power - 2.0).abs() < 0.05, "{power}");
    }

    #[test]
    fn a_line_has_no_rest() {
        let mut values: Vec<f64> = (0..50).map(|i| 7.0 - 0.3 * f64::from(i)).collect();
        subtract_linear_trend(&mut values);
        assert!(values.iter().all(|value| value.abs() < 1e-12));
        subtract_linear_trend(&mut []);
    }

    #[test]
    fn unsound_input_has_no_spectrum() {
        assert_eq!(Welch::default().density(&[], 4.0, 1024), None);
        assert_eq!(Welch::default().density(&[1.0], 4.0, 1024), None);
        assert_eq!(Welch::default().density(&[1.0, f64::NAN], 4.0, 1024), None);
        assert_eq!(Welch::default().density(&[1.0, 2.0], 0.0, 1024), None);
        assert_eq!(lomb_scargle(&[], &[], 0.1, 0.5), None);
        assert_eq!(lomb_scargle(&[1.0, 1.0, 1.0], &[1.0; 3], 0.1, 0.5), None);
    }
}
