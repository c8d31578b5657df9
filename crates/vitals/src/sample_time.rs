//! The times of evenly sampled blocks, exact to the microsecond.
//!
//! A block is given by the time of its first sample and a rate. Sample i lies at
//! `floor(start_µs + i·10⁶/rate_hz + ½)`. Both are read as exact decimals: through a binary float, a block cut in two
//! would not give the same samples as the whole.
//!
//! A program writes a rate such as 1000/30 as `33.333333333333336`, and that is the rate then, digit by digit. Of more
//! digits than any program writes, the first twenty count: in a day the samples move by less than 10⁻⁸ µs.

use crate::instant;

/// A decimal number `digits / 10^scale`, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    digits: i128,
    scale: u32,
}

const MAX_SCALE: u32 = 12;
const MAX_DIGITS: usize = 20;

impl Decimal {
    /// Reads a JSON number without loss. `None` when it is not one, or has more than 20 digits or more than 12
    /// after the point.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // 1.500 and 1.5 are one number; zeros at the end must not exceed the limit of digits.
        let fraction = fraction.trim_end_matches('0');
        let digit_count = whole.len() + fraction.len();
        if whole.is_empty() || digit_count > MAX_DIGITS {
            return None;
        }
        let mut digits: i128 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            let digit = byte.is_ascii_digit().then(|| i128::from(byte - b'0'))?;
            digits = digits * 10 + digit;
        }
        if negative {
            digits = -digits;
        }
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        if scale < 0 {
            let zeros = u32::try_from(-scale).ok().filter(|zeros| *zeros <= MAX_SCALE)?;
            return Some(Decimal { digits: digits.checked_mul(10_i128.pow(zeros))?, scale: 0 });
        }
        let scale = u32::try_from(scale).ok().filter(|scale| *scale <= MAX_SCALE)?;
        Some(Decimal { digits, scale })
    }

    /// Reads a time, ISO 8601 with an offset, as milliseconds since 1970 without loss. `None` when it is none.
    pub fn parse_time(text: &str) -> Option<Self> {
        Some(Decimal { digits: instant::parse(text)?.as_nanosecond(), scale: 6 })
    }

    /// Returns whether the number is above zero.
    pub fn is_positive(self) -> bool {
        self.digits > 0
    }

    /// Returns the nearest number of thousandths, half up: a time in ms becomes a time in µs.
    ///
    /// `None` when it does not fit.
    pub fn rounded_thousandths(self) -> Option<i64> {
        let unit = 10_i128.pow(self.scale);
        let doubled = self.digits.checked_mul(2000)?.checked_add(unit)?;
        i64::try_from(doubled.div_euclid(2 * unit)).ok()
    }
}

/// The highest rate of an even sampling, Hz.
pub const HIGHEST_HZ: u32 = 100_000;

/// A rate above zero: `digits · 10^exponent` samples per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Above zero, and no more than 20 digits.
    digits: i128,
    exponent: i32,
}

impl Rate {
    /// Reads a JSON number. `None` when it is not one, is not above zero, or is above [`HIGHEST_HZ`].
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], read_exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // Zeros at either end are no digits of the number, and there can be any number of them.
        let places = i64::try_from(fraction.len()).ok()?;
        let written = whole.bytes().chain(fraction.bytes());
        let leading = written.clone().take_while(|byte| *byte == b'0').count();
        let (mut digits, mut dropped) = (0_i128, 0_i64);
        for (at, byte) in written.skip(leading).enumerate() {
            if at < MAX_DIGITS {
                digits = digits * 10 + i128::from(byte - b'0');
            } else {
                dropped += 1;
            }
        }
        if digits == 0 {
            return None;
        }
        let mut exponent = i32::try_from(exponent.checked_sub(places)?.checked_add(dropped)?).ok()?;
        while digits % 10 == 0 {
            (digits, exponent) = (digits / 10, exponent.checked_add(1)?);
        }
        let rate = Rate { digits, exponent };
        rate.is_at_most(HIGHEST_HZ).then_some(rate)
    }

    /// Returns whether the rate lies between two whole ones, both included.
    pub fn is_between(self, lowest_hz: u32, highest_hz: u32) -> bool {
        let is_below = lowest_hz > 0 && self.is_at_most(lowest_hz) && !self.equals(lowest_hz);
        !is_below && self.is_at_most(highest_hz)
    }

    fn equals(self, hz: u32) -> bool {
        Rate::parse(&hz.to_string()) == Some(self)
    }

    fn is_at_most(self, hz: u32) -> bool {
        let power = self.exponent.unsigned_abs();
        if self.exponent >= 0 {
            let scaled = 10_i128.checked_pow(power).and_then(|unit| unit.checked_mul(self.digits));
            return scaled.is_some_and(|scaled| scaled <= i128::from(hz));
        }
        // A unit that does not fit is larger than all digits there can be.
        let scaled = 10_i128.checked_pow(power).and_then(|unit| unit.checked_mul(i128::from(hz)));
        scaled.is_none_or(|scaled| self.digits <= scaled)
    }
}

/// Returns an exponent. One of more digits than fit is as large as any.
fn read_exponent(text: &str) -> Option<i64> {
    const LARGEST: i64 = 1 << 40;
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = digits.parse().map_or(LARGEST, |exponent: i64| exponent.min(LARGEST));
    Some(if is_negative { -exponent } else { exponent })
}

/// An even sampling: the exact time of the first sample and the exact rate.
#[derive(Clone, Copy, Debug)]
pub struct EvenSampling {
    /// Time of the first sample, ms since 1970.
    pub start_ms: Decimal,
    /// Samples per second.
    pub rate_hz: Rate,
}

/// What lies between two samples and before the first, over one denominator, µs.
struct Steps {
    /// The first sample, rounded, and what is left of it.
    first_us: i64,
    first_left: i128,
    whole: i64,
    left: i128,
    denominator: i128,
}

impl EvenSampling {
    /// Returns the times of the first `count` samples, µs since 1970. `None` when the first does not fit; those after it that
    /// do not are as late as can be, so that nobody takes them for times of samples.
    pub fn times_us(&self, count: usize) -> Option<Vec<i64>> {
        // Of a single sample the rate says nothing, however small it is.
        if count <= 1 {
            let first = self.start_ms.rounded_thousandths()?;
            return Some(vec![first; count]);
        }
        let Some(steps) = self.steps() else { return self.far_apart_us(count) };
        let (mut time_us, mut left) = (steps.first_us, steps.first_left);
        let mut times = Vec::with_capacity(count);
        // What is left is carried along, so that each sample costs an addition and no division of 128 bits.
        for _ in 0..count {
            times.push(time_us);
            time_us = time_us.saturating_add(steps.whole);
            left += steps.left;
            if left >= steps.denominator {
                left -= steps.denominator;
                time_us = time_us.saturating_add(1);
            }
        }
        Some(times)
    }

    /// Returns times whose terms no integer holds: the samples lie decades apart, which a binary float has to the microsecond.
    fn far_apart_us(&self, count: usize) -> Option<Vec<i64>> {
        let first_us = self.start_ms.rounded_thousandths()?;
        let Rate { digits, exponent } = self.rate_hz;
        let step_us = 1e6 / (digits as f64 * 10_f64.powi(exponent));
        // An infinite step is after the first sample, and no multiple of it before.
        let after = |index: usize| ((index as f64 * step_us).round() as i64).saturating_add(first_us);
        Some((0..count).map(|index| if index == 0 { first_us } else { after(index) }).collect())
    }

    /// Returns all terms over one denominator, so that the floor is exact: t = (start + i·step + half) / denominator,
    /// where start is only what is behind the whole microseconds of the first sample.
    fn steps(&self) -> Option<Steps> {
        let Rate { digits, exponent } = self.rate_hz;
        // The start in µs: an integer and a fraction over a unit.
        let start_digits = self.start_ms.digits.checked_mul(1000)?;
        let start_unit = 10_i128.pow(self.start_ms.scale);
        let whole_us = i64::try_from(start_digits.div_euclid(start_unit)).ok()?;
        let fraction = start_digits.rem_euclid(start_unit);
        // Trailing zeros would only make the numbers below larger than need be.
        let (fraction, start_unit) = reduced(fraction, start_unit);
        // 10⁶ / (digits · 10^exponent) = period / digits.
        let period_exponent = 6_i32.checked_sub(exponent)?;
        let period = if period_exponent >= 0 { 10_i128.checked_pow(period_exponent.unsigned_abs())? } else { 1 };
        let digits = if period_exponent < 0 {
            digits.checked_mul(10_i128.checked_pow(period_exponent.unsigned_abs())?)?
        } else {
            digits
        };
        let half_denominator = start_unit.checked_mul(digits)?;
        let denominator = half_denominator.checked_mul(2)?;
        let first = fraction.checked_mul(2)?.checked_mul(digits)?.checked_add(half_denominator)?;
        let step = period.checked_mul(start_unit)?.checked_mul(2)?;
        Some(Steps {
            first_us: whole_us.checked_add(i64::try_from(first / denominator).ok()?)?,
            first_left: first % denominator,
            whole: i64::try_from(step / denominator).ok()?,
            left: step % denominator,
            denominator,
        })
    }
}

/// Returns the same fraction with the smallest power of ten below it.
fn reduced(mut fraction: i128, mut unit: i128) -> (i128, i128) {
    while unit > 1 && fraction % 10 == 0 {
        (fraction, unit) = (fraction / 10, unit / 10);
    }
    (fraction, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampling(start: &str, rate: &str) -> EvenSampling {
        EvenSampling { start_ms: Decimal::parse(start).unwrap(), rate_hz: Rate::parse(rate).unwrap() }
    }

    /// Returns the time of a sample by the formula, in numbers that are long enough for any of the tests.
    fn by_formula(start_us: i64, index: usize, (numerator, denominator): (i128, i128)) -> i128 {
        // floor(start + i·10⁶·denominator/numerator + ½)
        let doubled = 2 * (i128::from(start_us) * numerator + index as i128 * 1_000_000 * denominator) + numerator;
        doubled.div_euclid(2 * numerator)
    }

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        assert_eq!(Decimal::parse("1763600000000.5").unwrap().rounded_thousandths(), Some(1_763_600_000_000_500));
        assert_eq!(Decimal::parse("1.7636e12").unwrap().rounded_thousandths(), Some(1_763_600_000_000_000));
        assert_eq!(Decimal::parse("0.0005").unwrap().rounded_thousandths(), Some(1));
        assert_eq!(Decimal::parse("-0.0005").unwrap().rounded_thousandths(), Some(0));
        for wrong in ["", "x", "1e99", "1e-99", "--1", "+-1", ".5", "123456789012345678901", "0.0000000000001"] {
            assert_eq!(Decimal::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_ends_of_a_range_lie_in_it_and_nothing_beyond_them_does() {
        for (text, lies_in_it) in [
            ("4", true),
            ("4.0", true),
            ("1.28e2", true),
            ("31.25", true),
            ("3.999999999999", false),
            ("128.000000000001", false),
            ("-4", false),
            ("0", false),
        ] {
            let rate = Rate::parse(text);
            assert_eq!(rate.is_some_and(|rate| rate.is_between(4, 128)), lies_in_it, "{text}");
        }
    }

    #[test]
    fn thirds_of_a_second_are_rounded_half_up() {
        assert_eq!(sampling("0", "3").times_us(4).unwrap(), [0, 333_333, 666_667, 1_000_000]);
        assert_eq!(sampling("1000", "128").times_us(3).unwrap(), [1_000_000, 1_007_813, 1_015_625]);
    }

    #[test]
    fn rates_above_zero_and_up_to_the_highest_are_read_and_no_others() {
        let digits = "3".repeat(400);
        for right in [
            "1",
            "33.333333333333336",
            "142.85714285714286",
            "5e-324",
            "1E5",
            "100000.000",
            "0.1e+6",
            "1e-400",
            "2.5e1",
            "0.1000000000000000055511151231257827021181583404541015625",
            &format!("0.{digits}"),
        ] {
            assert!(Rate::parse(right).is_some(), "{right}");
        }
        for wrong in
            ["0", "0.0", "-1", "-0", "1e6", "100000.00000000000001", "1e400", "x", "", ".5", "1e", "1e+", &digits]
        {
            assert_eq!(Rate::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Rate::parse("250e-1"), Rate::parse("25.0"));
    }

    #[test]
    fn rates_as_programs_write_them_are_exact_over_a_day() {
        let start_us = 1_763_600_000_000_123;
        for (written, exact) in [
            ("33.333333333333336", (33_333_333_333_333_336, 1_000_000_000_000_000)),
            ("142.85714285714286", (14_285_714_285_714_286, 100_000_000_000_000)),
            ("0.016666666666666666", (16_666_666_666_666_666, 1_000_000_000_000_000_000)),
            ("99999.99999999999", (9_999_999_999_999_999, 100_000_000_000)),
        ] {
            let rows = ((86_400.0 * written.parse::<f64>().unwrap()) as usize).clamp(2, 13_000_000);
            let times = sampling("1763600000000.123", written).times_us(rows).unwrap();
            for index in (0..rows).step_by(rows / 1000 + 1).chain([rows - 1]) {
                assert_eq!(i128::from(times[index]), by_formula(start_us, index, exact), "{written}: {index}");
            }
        }
        // The third of a second that was meant, to the microsecond after a day.
        let times = sampling("0", "33.333333333333336").times_us(2_880_001).unwrap();
        assert_eq!(times[2_880_000], 86_400_000_000);
    }

    #[test]
    fn a_start_with_all_its_digits_goes_with_a_rate_with_all_of_its() {
        let times = sampling("1763600000000.1234567", "33.333333333333336").times_us(2).unwrap();
        assert_eq!(times, [1_763_600_000_000_123, 1_763_600_000_030_123]);
        assert_eq!(sampling("1000.0005", "1e-300").times_us(1).unwrap(), [1_000_001]);
        for tiny in ["1e-300", "1e-400", "1.2345678901234567e-15"] {
            assert_eq!(sampling("1000", tiny).times_us(3).unwrap(), [1_000_000, i64::MAX, i64::MAX], "{tiny}");
        }
        assert_eq!(sampling("1000.0000001", "1.0000000000000001e-9").times_us(2).unwrap()[1], 1_000_000_001_000_000);
        assert_eq!(sampling("1000", "0.00001").times_us(2).unwrap(), [1_000_000, 100_001_000_000]);
        assert!(sampling("1000", "25").times_us(0).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn a_block_cut_in_two_gives_the_same_samples(
            start_ms in 946_684_800_000_i64..4_000_000_000_000,
            // Rates that divide 10⁶, so that the start of the second half is exact as a decimal.
            rate in proptest::sample::select(vec![1_i64, 4, 25, 32, 50, 64, 100, 125, 250, 500]),
            cut in 0_usize..200,
        ) {
            let whole = sampling(&start_ms.to_string(), &rate.to_string()).times_us(200).unwrap();
            let second_start_us = start_ms * 1000 + cut as i64 * (1_000_000 / rate);
            let second_start = format!("{}.{:03}", second_start_us / 1000, second_start_us % 1000);
            let mut joined = sampling(&start_ms.to_string(), &rate.to_string()).times_us(cut).unwrap();
            joined.extend(sampling(&second_start, &rate.to_string()).times_us(200 - cut).unwrap());
            prop_assert_eq!(joined, whole);
        }

        #[test]
        fn times_follow_the_formula(start_us in 0_i64..2_000_000_000_000_000, rate in 1_i64..2000, index in 0_usize..5000) {
            let start = format!("{}.{:03}", start_us / 1000, start_us % 1000);
            let times = sampling(&start, &rate.to_string()).times_us(index + 1).unwrap();
            prop_assert_eq!(i128::from(times[index]), by_formula(start_us, index, (i128::from(rate), 1)));
        }
    }
}
