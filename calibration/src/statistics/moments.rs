//! Mean and standard deviation of whole nanoseconds from exact sums.

/// Count, sum and sum of squares of whole numbers, without rounding.
///
/// Exact while |value| ≤ 3.6·10¹² (an hour in nanoseconds) and the count is below 10¹³.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    pub count: u64,
    sum: i128,
    squares: u128,
}

impl Moments {
    /// Empty moments.
    pub const NOTHING: Self = Self {
        count: 0,
        sum: 0,
        squares: 0,
    };

    /// Adds `value` as often as `times` says.
    #[inline]
    pub fn add(&mut self, value: i64, times: u64) {
        let size = u128::from(value.unsigned_abs());
        self.count += times;
        self.sum += i128::from(value) * i128::from(times);
        self.squares += size * size * u128::from(times);
    }

    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Arithmetic mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation of the sample, with Bessel's correction (divided by count − 1); `None` below two.
    pub fn deviation(&self) -> Option<f64> {
        let n = i128::from(self.count);
        if n < 2 {
            return None;
        }
        // Σ(x−m)² = Σx² − m(Σx + r) for a whole m near the mean and r = Σx − n·m. Then the
        // fractional part of the mean is corrected for: Σ(x−x̄)² = Σ(x−m)² − r²/n.
        let m = self.sum.div_euclid(n);
        let r = self.sum.rem_euclid(n);
        let around_m = self.squares as i128 - m * (self.sum + r);
        let r = r as f64;
        let around_mean = around_m as f64 - r * r / n as f64;
        Some((around_mean.max(0.0) / (n - 1) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&v| moments.add(v, 1));
        moments
    }

    #[test]
    fn known_values() {
        let m = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(m.mean(), Some(5.0));
        assert!((m.deviation().unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(of(&[7]).deviation(), None);
    }

    #[test]
    fn small_differences_of_large_values_are_kept() {
        let hour = 3_600_000_000_000;
        let m = of(&[hour, hour - 1, hour - 2]);
        assert_eq!(m.deviation(), Some(1.0));
    }

    #[test]
    fn thousand_million_values_of_an_hour_do_not_overflow() {
        let one = of(&[3_600_000_000_000, 3_599_999_999_998]);
        let mut all = one;
        for _ in 0..30 {
            let half = all;
            all.merge(&half);
        }
        assert_eq!(all.mean(), Some(3_599_999_999_999.0));
        assert!((all.deviation().unwrap() - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn equals_the_two_pass_formula(values in prop::collection::vec(-1_000_000_i64..1_000_000, 2..200)) {
            let m = of(&values);
            let n = values.len() as f64;
            let mean = values.iter().sum::<i64>() as f64 / n;
            let var = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
            prop_assert!((m.mean().unwrap() - mean).abs() < 1e-6);
            prop_assert!((m.deviation().unwrap() - var.sqrt()).abs() <= 1e-7 * (1.0 + var.sqrt()));
        }

        #[test]
        fn merging_is_adding(a in prop::collection::vec(-10_000_i64..10_000, 0..50), b in prop::collection::vec(-10_000_i64..10_000, 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
