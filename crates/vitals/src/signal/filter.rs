//! Butterworth filters of order 2, run forwards and backwards so that nothing is delayed.
//!
//! The design is the textbook one: analogue prototype, frequency transformation, bilinear
//! transform with pre-warping. A band-pass of order 2 has two sections and falls off like two
//! second-order slopes. Ends are extended by point reflection and each section starts in the
//! steady state of its first sample, which keeps the ends free of transients.

use realfft::num_complex::Complex;
use std::f64::consts::PI;

/// One section: y = b0·x + b1·x₁ + b2·x₂ − a1·y₁ − a2·y₂.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Section {
    b: [f64; 3],
    a: [f64; 2],
}

/// A cascade of second-order sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    sections: Vec<Section>,
}

/// Angular frequency of the analogue filter that the bilinear transform (T = 1) takes to
/// `frequency_hz`; None outside 0 to half the rate.
fn prewarp(frequency_hz: f64, rate_hz: f64) -> Option<f64> {
    let inside = frequency_hz > 0.0 && frequency_hz < rate_hz / 2.0 && rate_hz.is_finite();
    inside.then(|| 2.0 * (PI * frequency_hz / rate_hz).tan())
}

/// Returns the upper pole of the order 2 prototype at cut-off 1: e^{i·3π/4}.
fn prototype_pole() -> Complex<f64> {
    Complex::from_polar(1.0, 0.75 * PI)
}

/// Returns the section with the given zeros (as numerator) and the digital images of an analogue pole and
/// its conjugate, scaled to gain 1 at the digital angle `unit_angle`.
fn section(pole: Complex<f64>, numerator: [f64; 3], unit_angle: f64) -> Section {
    let digital = (2.0 + pole) / (2.0 - pole);
    let a = [-2.0 * digital.re, digital.norm_sqr()];
    let delay = Complex::from_polar(1.0, -unit_angle);
    let at = |c: [f64; 3]| delay * delay * c[2] + delay * c[1] + c[0];
    let gain = (at([1.0, a[0], a[1]]) / at(numerator)).norm();
    Section { b: numerator.map(|coefficient| coefficient * gain), a }
}

impl Filter {
    /// Low-pass with −3 dB at `cut_hz`; None unless 0 < cut < rate/2.
    pub fn low_pass(cut_hz: f64, rate_hz: f64) -> Option<Self> {
        let pole = prototype_pole() * prewarp(cut_hz, rate_hz)?;
        Some(Self { sections: vec![section(pole, [1.0, 2.0, 1.0], 0.0)] })
    }

    /// High-pass with −3 dB at `cut_hz`; None unless 0 < cut < rate/2.
    pub fn high_pass(cut_hz: f64, rate_hz: f64) -> Option<Self> {
        let pole = prewarp(cut_hz, rate_hz)? / prototype_pole();
        Some(Self { sections: vec![section(pole, [1.0, -2.0, 1.0], PI)] })
    }

    /// Band-pass with −3 dB at `low_hz` and `high_hz`; None unless 0 < low < high < rate/2.
    pub fn band_pass(low_hz: f64, high_hz: f64, rate_hz: f64) -> Option<Self> {
        if low_hz >= high_hz {
            return None;
        }
        let (low, high) = (prewarp(low_hz, rate_hz)?, prewarp(high_hz, rate_hz)?);
        let centre_squared = low * high;
        let half = prototype_pole() * (high - low) / 2.0;
        let root = (half * half - centre_squared).sqrt();
        let centre_angle = 2.0 * (centre_squared.sqrt() / 2.0).atan();
        let sections = [half + root, half - root].map(|pole| section(pole, [1.0, 0.0, -1.0], centre_angle));
        Some(Self { sections: sections.to_vec() })
    }

    /// Returns how many samples are added at each end before filtering.
    fn padding(&self) -> usize {
        3 * (2 * self.sections.len() + 1)
    }

    /// Filters forwards, then backwards: zero phase, the squared gain. None when `values` has no
    /// more samples than the reflection at the ends needs, or one that is not finite.
    pub fn zero_phase(&self, values: &[f64]) -> Option<Vec<f64>> {
        let padding = self.padding();
        // One NaN would stay in the delays and spoil everything after it.
        if values.len() <= padding || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (first, last) = (values[0], values[values.len() - 1]);
        // Mirrored through the end point: level and slope go on, so that the filter meets no corner.
        let head = values[1..=padding].iter().rev().map(|value| 2.0 * first - value);
        let tail = values[values.len() - 1 - padding..values.len() - 1].iter().rev();
        let tail = tail.map(|value| 2.0 * last - value);
        let mut extended: Vec<f64> = head.chain(values.iter().copied()).chain(tail).collect();
        self.run(&mut extended);
        extended.reverse();
        self.run(&mut extended);
        extended.reverse();
        extended.truncate(padding + values.len());
        extended.drain(..padding);
        extended.iter().all(|value| value.is_finite()).then_some(extended)
    }

    /// Filters once in place, each section starting in the steady state of the first sample. All sections work on a
    /// sample before the next one comes: what they wait for overlaps.
    fn run(&self, values: &mut [f64]) {
        let Some(&first) = values.first() else { return };
        let mut level = first;
        let mut delayed: Vec<[f64; 2]> = Vec::with_capacity(self.sections.len());
        for Section { b, a } in &self.sections {
            // Gravity is a level of 1 g: starting from zero, the first seconds would be one large step.
            let settled = level * (b[0] + b[1] + b[2]) / (1.0 + a[0] + a[1]);
            let second = b[2] * level - a[1] * settled;
            delayed.push([b[1] * level - a[0] * settled + second, second]);
            level = settled;
        }
        for value in values {
            for (Section { b, a }, [first, second]) in self.sections.iter().zip(&mut delayed) {
                let input = *value;
                let output = b[0] * input + *first;
                *first = b[1] * input - a[0] * output + *second;
                *second = b[2] * input - a[1] * output;
                *value = output;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Filter {
        /// Gain of one pass at a frequency.
        fn gain(&self, frequency_hz: f64, rate_hz: f64) -> f64 {
            let delay = Complex::from_polar(1.0, -2.0 * PI * frequency_hz / rate_hz);
            let at = |c: [f64; 3]| delay * delay * c[2] + delay * c[1] + c[0];
            let gain = |s: &Section| (at(s.b) / at([1.0, s.a[0], s.a[1]])).norm();
            self.sections.iter().map(gain).product()
        }
    }

    #[test]
    fn gains_are_those_of_a_butterworth() {
        let half = 0.5_f64.sqrt();
        let low = Filter::low_pass(5.0, 100.0).unwrap();
        let high = Filter::high_pass(5.0, 100.0).unwrap();
        let band = Filter::band_pass(0.6, 3.0, 25.0).unwrap();
        for (gain, expected) in [
            (low.gain(0.0, 100.0), 1.0),
            (low.gain(5.0, 100.0), half),
            (low.gain(50.0, 100.0), 0.0),
            (high.gain(0.0, 100.0), 0.0),
            (high.gain(5.0, 100.0), half),
            (high.gain(50.0, 100.0), 1.0),
            (band.gain(0.6, 25.0), half),
            (band.gain(3.0, 25.0), half),
            (band.gain(0.0, 25.0), 0.0),
        ] {
            assert!((gain - expected).abs() < 1e-9, "{gain} instead of {expected}");
        }
    }

    #[test]
    fn zero_phase_keeps_place_and_removes_level() {
        let wave: Vec<f64> = (0..500).map(|i| 9.8 + (2.0 * PI * 1.3 * f64::from(i) / 25.0).sin()).collect();
        let band = Filter::band_pass(0.6, 3.0, 25.0).unwrap();
        let filtered = band.zero_phase(&wave).unwrap();
        let gain = band.gain(1.3, 25.0).powi(2);
        for (i, (before, after)) in wave.iter().zip(&filtered).enumerate().skip(100).take(300) {
            assert!((after - gain * (before - 9.8)).abs() < 1e-3, "sample {i}");
        }
    }

    #[test]
    fn unsound_input_is_refused() {
        assert_eq!(Filter::low_pass(0.0, 25.0), None);
        assert_eq!(Filter::low_pass(12.5, 25.0), None);
        assert_eq!(Filter::band_pass(3.0, 0.6, 25.0), None);
        assert_eq!(Filter::high_pass(f64::NAN, 25.0), None);
        let low = Filter::low_pass(5.0, 25.0).unwrap();
        assert_eq!(low.zero_phase(&[1.0; 9]), None);
        assert!(low.zero_phase(&[1.0; 10]).unwrap().iter().all(|v| (v - 1.0).abs() < 1e-12));
        assert_eq!(low.zero_phase(&[f64::NAN; 20]), None);
    }
}
