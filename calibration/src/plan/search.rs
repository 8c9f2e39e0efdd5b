//! The search for the highest loss-free rate, after RFC 2544 §26.1 (throughput), with a confidence rule.
//!
//! RFC 2544 defines throughput as the fastest rate at which no frame is lost in a trial. It does
//! not state the confidence of one trial. Here a rate passes if its loss rate is below a stated
//! limit at a stated confidence c. With N frames and none lost, the exact (Clopper–Pearson) upper
//! limit is 1 − (1 − c)^(1/N). A rate fails if a frame is lost, or if the sender could not keep the
//! rate. The search bisects between the lowest and the highest load. Its decisions depend only on
//! the trials made, so an interrupted search continues where it stopped.

use super::options::bits_per_s;
use crate::error::{Result, require};
use crate::units;
use serde::Deserialize;

/// The section `[search]` of a plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchDocument {
    metric: Metric,
    lowest: String,
    highest: String,
    resolution: String,
    confidence: f64,
    loss_limit: String,
    trials: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Metric {
    LossFree,
}

impl Default for SearchDocument {
    fn default() -> Self {
        Self {
            metric: Metric::LossFree,
            lowest: "1 %".into(),
            highest: "100 %".into(),
            resolution: "1 %".into(),
            confidence: 0.95,
            loss_limit: "0.01 %".into(),
            trials: 3,
        }
    }
}

/// Rule of the search for the highest loss-free rate.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRule {
    /// The lowest load tried, in b/s.
    pub lowest_bps: f64,
    /// The highest load tried, in b/s; tried first.
    pub highest_bps: f64,
    /// Resolution: the search ends when passing and failing load differ by at most this, in b/s.
    pub resolution_bps: f64,
    /// Confidence of the loss rate's upper limit, 0…1.
    pub confidence: f64,
    /// A rate passes when the loss rate's upper limit is below this, 0…1.
    pub loss_limit: f64,
    /// Maximum trials per rate. A rate without loss in all of them passes with the resulting limit.
    pub trials: u32,
}

impl SearchDocument {
    /// Search rule with percentages of the line rate resolved.
    ///
    /// # Errors
    /// [`crate::error::Error::Question`] for wrong numbers, or ratios without a line rate.
    pub fn rule(&self, line_rate_bps: Option<f64>) -> Result<SearchRule> {
        let rule = SearchRule {
            lowest_bps: bits_per_s(&self.lowest, line_rate_bps)?,
            highest_bps: bits_per_s(&self.highest, line_rate_bps)?,
            resolution_bps: bits_per_s(&self.resolution, line_rate_bps)?,
            confidence: self.confidence,
            loss_limit: units::parse_ratio(&self.loss_limit)?,
            trials: self.trials,
        };
        require(
            0.0 < rule.lowest_bps && rule.lowest_bps < rule.highest_bps,
            || "the search's lowest load must lie above 0 and below the highest".into(),
        )?;
        require(rule.resolution_bps > 0.0, || {
            "the search's resolution must lie above 0".into()
        })?;
        require(rule.confidence > 0.0 && rule.confidence < 1.0, || {
            "the search's confidence must lie between 0 and 1".into()
        })?;
        require(rule.loss_limit > 0.0 && rule.trials > 0, || {
            "the search's loss_limit must lie above 0 % and its trials be 1 or more".into()
        })?;
        Ok(rule)
    }
}

/// Result of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// The sender kept the rate.
    pub rate_kept: bool,
}

impl Trial {
    /// Whether the trial sent frames, lost none and kept the rate.
    pub fn passed(&self) -> bool {
        self.lost == 0 && self.sent > 0 && self.rate_kept
    }
}

/// Next step of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Another trial at this load, in b/s.
    Try(f64),
    /// The search is over.
    Found(Found),
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Highest load that passed, in b/s; `None` if the lowest failed.
    pub loss_free_bps: Option<f64>,
    /// Lowest load that failed, in b/s; `None` if the highest passed.
    pub lossy_bps: Option<f64>,
    /// Upper limit of the loss rate at the passing load; 1 if none passed.
    pub loss_rate_high: f64,
}

/// The exact upper limit of the loss rate when none of `frames` frames was lost: 1 − (1 − c)^(1/N).
pub fn loss_rate_high(frames: u64, confidence: f64) -> f64 {
    if frames == 0 {
        return 1.0;
    }
    -((-confidence).ln_1p() / frames as f64).exp_m1()
}

/// Decides the next step from the trials so far, in order.
pub fn next(rule: &SearchRule, trials: &[Trial]) -> Step {
    let mut trials = trials.iter();
    let mut passing: Option<(f64, f64)> = None;
    let mut failing: Option<f64> = None;
    loop {
        let load = match (passing, failing) {
            (None, None) => rule.highest_bps,
            (None, Some(failed)) if failed > rule.lowest_bps => rule.lowest_bps,
            (Some((passed, _)), Some(failed)) if failed - passed > rule.resolution_bps => {
                ((passed + failed) / 2.0).round()
            }
            _ => break,
        };
        match judge(rule, &mut trials) {
            None => return Step::Try(load),
            Some(Some(limit)) => passing = Some((load, limit)),
            Some(None) => failing = Some(load),
        }
    }
    Step::Found(Found {
        loss_free_bps: passing.map(|(load, _)| load),
        lossy_bps: failing,
        loss_rate_high: passing.map_or(1.0, |(_, limit)| limit),
    })
}

/// Evaluates the trials of one rate. Returns `None` if more trials are needed, `Some(None)` if the
/// rate failed, otherwise the upper limit of the loss rate.
fn judge<'a>(
    rule: &SearchRule,
    trials: &mut impl Iterator<Item = &'a Trial>,
) -> Option<Option<f64>> {
    let mut frames = 0;
    for _ in 0..rule.trials {
        let trial = trials.next()?;
        if !trial.passed() {
            return Some(None);
        }
        frames += trial.sent;
        if loss_rate_high(frames, rule.confidence) <= rule.loss_limit {
            break;
        }
    }
    Some(Some(loss_rate_high(frames, rule.confidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule() -> SearchRule {
        SearchDocument::default().rule(Some(1e8)).unwrap()
    }

    /// Searches a network that loses nothing up to `capacity_bps`.
    fn search(rule: &SearchRule, capacity_bps: f64, frames: u64) -> (Found, Vec<f64>) {
        let mut trials = Vec::new();
        let mut loads = Vec::new();
        loop {
            match next(rule, &trials) {
                Step::Found(found) => return (found, loads),
                Step::Try(load) => {
                    let lost = u64::from(load > capacity_bps);
                    trials.push(Trial {
                        sent: frames,
                        lost,
                        rate_kept: true,
                    });
                    loads.push(load);
                }
            }
        }
    }

    #[test]
    fn the_limit_is_the_rule_of_three() {
        assert!((loss_rate_high(30_000, 0.95) - 3.0 / 30_000.0).abs() < 2e-7);
        assert!((loss_rate_high(1, 0.95) - 0.95).abs() < 1e-12);
        assert_eq!(loss_rate_high(0, 0.95), 1.0);
    }

    #[test]
    fn one_trial_is_enough_with_many_frames_and_not_with_few() {
        let (_, many) = search(&rule(), 1e9, 1_000_000);
        assert_eq!(many.len(), 1);
        let (found, few) = search(&rule(), 1e9, 100);
        assert_eq!(few.len(), 3);
        assert!((found.loss_rate_high - loss_rate_high(300, 0.95)).abs() < 1e-12);
    }

    #[test]
    fn ends_are_told() {
        let (all_lossy, loads) = search(&rule(), 0.0, 100);
        assert_eq!(all_lossy.loss_free_bps, None);
        assert_eq!((all_lossy.lossy_bps, loads.len()), (Some(1e6), 2));
        let (none_lossy, _) = search(&rule(), 1e9, 100_000);
        assert_eq!(
            (none_lossy.loss_free_bps, none_lossy.lossy_bps),
            (Some(1e8), None)
        );
    }

    #[test]
    fn a_rate_that_is_not_kept_fails() {
        let trials = [Trial {
            sent: 1_000_000,
            lost: 0,
            rate_kept: false,
        }];
        assert_eq!(next(&rule(), &trials), Step::Try(1e6));
    }

    #[test]
    fn wrong_rules_are_refused() {
        let wrong = [
            SearchDocument {
                confidence: 1.0,
                ..SearchDocument::default()
            },
            SearchDocument {
                trials: 0,
                ..SearchDocument::default()
            },
            SearchDocument {
                loss_limit: "0 %".into(),
                ..SearchDocument::default()
            },
            SearchDocument {
                resolution: "0 b/s".into(),
                ..SearchDocument::default()
            },
        ];
        assert!(
            wrong
                .iter()
                .all(|document| document.rule(Some(1e8)).is_err())
        );
        assert!(SearchDocument::default().rule(None).is_err());
    }

    proptest! {
        #[test]
        fn the_found_rate_is_within_the_resolution(capacity in 1.1e6..0.999e8) {
            let (found, loads) = search(&rule(), capacity, 100_000);
            let passed = found.loss_free_bps.unwrap();
            let failed = found.lossy_bps.unwrap();
            prop_assert!(passed <= capacity && capacity < failed);
            prop_assert!(failed - passed <= 1e6);
            prop_assert!(loads.len() <= 10);
        }

        #[test]
        fn a_search_goes_on_where_it_stopped(outcomes in proptest::collection::vec(any::<bool>(), 0..40)) {
            let trials: Vec<Trial> = outcomes.iter().map(|lossy| Trial { sent: 100_000, lost: u64::from(*lossy), rate_kept: true }).collect();
            let again = next(&rule(), &trials);
            prop_assert_eq!(next(&rule(), &trials), again);
        }
    }
}
