//! How sure repeated runs make one of their mean, and when to stop repeating.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number t for which Student's distribution has `confidence` of its mass within ±t.
///
/// `confidence` in 0…1 without the ends (0.95, say), `degrees` of freedom above 0. Solves
/// 1 − I(ν/(ν+t²); ν/2, 1/2) = confidence (DLMF 8.17; Abramowitz and Stegun 26.7.1) by bisection,
/// to nine digits. Outside of these ranges the answer is NaN.
pub fn student_t(confidence: f64, degrees: f64) -> f64 {
    if !(confidence > 0.0 && confidence < 1.0 && degrees > 0.0) {
        return f64::NAN;
    }
    let outside = |t: f64| {
        let square = t * t;
        let x = degrees / (degrees + square);
        let rest = square / (degrees + square);
        incomplete_beta(x, rest, degrees / 2.0, 0.5)
    };
    let alpha = 1.0 - confidence;
    // Bisection over the logarithm: t of any sensible question lies between e^-30 and e^60.
    let (mut low, mut high) = (-30.0_f64, 60.0_f64);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if outside(middle.exp()) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    ((low + high) / 2.0).exp()
}

/// Regularised incomplete beta function I(x; a, b), with `rest` = 1 − x given apart to keep its digits.
fn incomplete_beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * rest.ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on this side of the mean; the other side by symmetry.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(rest, b, a) / b
    }
}

/// The continued fraction of DLMF 8.17.22, evaluated by the modified Lentz algorithm
/// (Thompson and Barnett, J. Comput. Phys. 64, 1986).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let factor = d * c;
        value *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// ln Γ(x) for x > 0: Stirling's series (DLMF 5.11.1) above 10, reached by Γ(x) = Γ(x+1) / x.
fn ln_gamma(x: f64) -> f64 {
    const SERIES: [f64; 6] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
    ];
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let tail = SERIES.iter().rev().fold(0.0, |sum, c| sum * square + c) / x;
    (x - 0.5) * x.ln() - x + (2.0 * std::f64::consts::PI).ln() / 2.0 + tail - product.ln()
}

/// Mean of the values and half the width of its `confidence` interval by Student's t.
///
/// The mean of nothing is NaN; the half-width of fewer than two values is infinite.
pub fn mean_interval(values: &[f64], confidence: f64) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, f64::INFINITY);
    }
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    if error == 0.0 {
        return (mean, 0.0);
    }
    (mean, student_t(confidence, n - 1.0) * error)
}

/// When repeated runs of one point are enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoppingRule {
    /// Runs before the first look; at least 2.
    pub min: u32,
    /// Runs after which to stop in any case.
    pub max: u32,
    /// Confidence of the interval, 0…1, all looks together.
    pub confidence: f64,
    /// Half-width of the interval, relative to the mean, that is narrow enough.
    pub relative_width: f64,
}

/// What a look at the runs so far says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The interval is narrow enough.
    pub met: bool,
    /// Half-width relative to the mean; absent below two runs or for a mean of 0 that is not sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_half_width: Option<f64>,
    /// Runs looked at.
    pub n: u32,
    /// Confidence of this look's interval: higher than the rule's, since there are several looks.
    pub adjusted_confidence: f64,
}

impl StoppingRule {
    /// Looks at the values of the runs so far.
    ///
    /// A rule that stops at the first narrow interval would be right less often than its
    /// confidence says. Each of the max − min + 1 possible looks therefore gets an equal share of
    /// the error α (Bonferroni): the chance that any of the intervals misses is at most α.
    pub fn judge(&self, values: &[f64]) -> Judgement {
        let looks = f64::from(self.max.saturating_sub(self.min)) + 1.0;
        let adjusted_confidence = 1.0 - (1.0 - self.confidence) / looks;
        let (mean, half_width) = mean_interval(values, adjusted_confidence);
        let relative = if half_width == 0.0 {
            Some(0.0)
        } else {
            Some(half_width / mean.abs()).filter(|r| r.is_finite())
        };
        let n = u32::try_from(values.len()).unwrap_or(u32::MAX);
        Judgement {
            met: n >= self.min && relative.is_some_and(|r| r <= self.relative_width),
            relative_half_width: relative,
            n,
            adjusted_confidence,
        }
    }
}

#[cfg(test)]
mod tests;
