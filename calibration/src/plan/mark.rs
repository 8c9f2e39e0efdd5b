//! Key `plan` of a record, added by a campaign: identifies the run within the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Purpose of a run in the plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Point of a grid, available for fits.
    Grid,
    /// Held-out point: not used by fits, but to test their predictions.
    HeldOut,
    /// Reference point, repeated to detect drift of the hosts.
    Reference,
    /// Trial of the search for the highest loss-free rate.
    Search,
}

/// The key `plan` of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanMark {
    /// Name of the plan.
    pub name: String,
    /// SHA-256 (hexadecimal) of the canonical plan and of the place where it was measured.
    pub digest: String,
    /// Identity of the point: the first 16 hexadecimal digits of the SHA-256 of its canonical settings.
    pub point: String,
    /// Number of the repeat of this point (or trial of its search), from 0.
    pub repeat: u32,
    /// Purpose of the run in the plan.
    pub kind: RunKind,
    /// The run is held out: fits must not use it.
    pub held_out: bool,
    /// Agreement of the runs of this point up to this one; absent if the plan sets no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceMark>,
    /// State of the search after this run; absent outside a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchMark>,
    /// Measurements of the background streams during this run; absent without background streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundMark>,
}

/// Agreement of the runs of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfidenceMark {
    /// Requested confidence, 0…1.
    pub confidence: f64,
    /// Confidence of a single interval after the Bonferroni correction over all looks and metrics.
    pub adjusted_confidence: f64,
    /// Target: maximum half-width of the interval, relative to the mean.
    pub relative_width: f64,
    /// Number of runs of this point so far.
    pub runs: u32,
    /// Whether the interval of every metric meets the target. Can be false after the last repeat.
    pub met: bool,
    /// Half-width of the interval relative to the mean, by metric; absent if undefined.
    pub relative_half_widths: BTreeMap<String, f64>,
}

/// State of a search for the highest loss-free rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchMark {
    /// The offered goodput of this trial, in b/s.
    pub load_bps: f64,
    /// The trial lost no frame and kept its rate.
    pub passed: bool,
    /// The search ended with this trial.
    pub ended: bool,
    /// Highest offered goodput that passed, in b/s; absent before the end or if none passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_free_bps: Option<f64>,
    /// Lowest offered goodput that failed, in b/s; absent before the end or if none failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossy_bps: Option<f64>,
    /// Upper confidence limit of the loss rate at `loss_free_bps`, at the plan's confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_rate_high: Option<f64>,
}

/// Background stream that ran beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundMark {
    /// The host that sent.
    pub from: String,
    /// The host that received.
    pub to: String,
    /// Goodput, in b/s; absent if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Loss rate, 0…1; absent if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_rate: Option<f64>,
    /// Whether it ran for the whole measured run.
    pub covered: bool,
}
