//! Confidence intervals of the mean of repeated runs, and the stopping rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

/// Two-sided quantile of Student's t distribution: `confidence` of its mass lies within ±t.
///
/// `confidence` in 0…1 without the ends, such as 0.95; `degrees` of freedom above 0; NaN outside these ranges.
/// Solves 1 − I(ν/(ν+t²); ν/2, 1/2) = confidence (Abramowitz and Stegun 26.7.1) by bisection, to nine digits.
pub fn student_t(confidence: f64, degrees: f64) -> f64 {
    if !(confidence > 0.0 && confidence < 1.0 && degrees > 0.0) {
        return f64::NAN;
    }
    let outside = |t: f64| beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    let alpha = 1.0 - confidence;
    // Bisect the logarithm of t, between e^-30 and e^60.
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

/// Mean of the values and half-width of its confidence interval (Student's t).
///
/// Without values the mean is NaN; with fewer than two values the half-width is infinite.
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

/// Stopping rule for repeated runs of one point.
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

/// Result of one look at the runs so far.
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
