//! The times of evenly sampled blocks, exact to the microsecond.
//!
//! A block is given by the time of its first sample and a rate. Sample i lies at
//! `floor(start_µs + i·10⁶/rate_hz + ½)`. Both are read as exact decimals: through a binary float, a block cut in two
//! would not give the same samples as the whole.

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

    /// Whether the number is above zero.
    pub fn is_positive(self) -> bool {
        self.digits > 0
    }

    /// Whether the number lies between two whole ones, both included.
    pub fn is_between(self, lowest: u32, highest: u32) -> bool {
        let unit = 10_i128.pow(self.scale);
        (i128::from(lowest) * unit..=i128::from(highest) * unit).contains(&self.digits)
    }

    /// The nearest number of thousandths, half up: a time in ms becomes a time in µs.
    ///
    /// `None` when it does not fit.
    pub fn rounded_thousandths(self) -> Option<i64> {
        let unit = 10_i128.pow(self.scale);
        let doubled = self.digits.checked_mul(2000)?.checked_add(unit)?;
        i64::try_from(doubled.div_euclid(2 * unit)).ok()
    }
}

/// An even sampling: the exact time of the first sample and the exact rate.
#[derive(Clone, Copy, Debug)]
pub struct EvenSampling {
    /// Time of the first sample, ms since 1970.
    pub start_ms: Decimal,
    /// Samples per second, above zero.
    pub rate_hz: Decimal,
}

impl EvenSampling {
    /// The times of the first `count` samples, µs since 1970. `None` when one does not fit or the rate is not
    /// positive.
    pub fn times_us(&self, count: usize) -> Option<Vec<i64>> {
        if !self.rate_hz.is_positive() {
            return None;
        }
        // All terms over one denominator, so that the floor is exact: t = (start + i·step + half) / denominator.
        let start_unit = 10_i128.pow(self.start_ms.scale);
        let rate_unit = 10_i128.pow(self.rate_hz.scale);
        let denominator = start_unit.checked_mul(self.rate_hz.digits)?.checked_mul(2)?;
        let start = self.start_ms.digits.checked_mul(2000)?.checked_mul(self.rate_hz.digits)?;
        let half = start_unit.checked_mul(self.rate_hz.digits)?;
        let step = rate_unit.checked_mul(start_unit)?.checked_mul(2_000_000)?;
        let first = start.checked_add(half)?;
        let span = step.checked_mul(i128::try_from(count).ok()?)?;
        i64::try_from(first.checked_add(span)?.div_euclid(denominator)).ok()?;

        let mut time_us = i64::try_from(first.div_euclid(denominator)).ok()?;
        let mut remainder = first.rem_euclid(denominator);
        // The remainder is carried along, so that each sample costs an addition and no division of 128 bits.
        let whole_step = i64::try_from(step / denominator).ok()?;
        let step_remainder = step % denominator;
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            times.push(time_us);
            time_us += whole_step;
            remainder += step_remainder;
            if remainder >= denominator {
                remainder -= denominator;
                time_us += 1;
            }
        }
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampling(start: &str, rate: &str) -> EvenSampling {
        EvenSampling { start_ms: Decimal::parse(start).unwrap(), rate_hz: Decimal::parse(rate).unwrap() }
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
            assert_eq!(Decimal::parse(text).unwrap().is_between(4, 128), lies_in_it, "{text}");
        }
    }

    #[test]
    fn thirds_of_a_second_are_rounded_half_up() {
        assert_eq!(sampling("0", "3").times_us(4).unwrap(), [0, 333_333, 666_667, 1_000_000]);
        assert_eq!(sampling("1000", "128").times_us(3).unwrap(), [1_000_000, 1_007_813, 1_015_625]);
    }

    #[test]
    fn rates_that_are_not_positive_have_no_times() {
        assert_eq!(sampling("0", "0").times_us(1), None);
        assert_eq!(sampling("0", "-25").times_us(1), None);
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
            let numerator = 2 * (i128::from(start_us) * i128::from(rate) + index as i128 * 1_000_000) + i128::from(rate);
            prop_assert_eq!(i128::from(times[index]), numerator.div_euclid(2 * i128::from(rate)));
        }
    }
}
