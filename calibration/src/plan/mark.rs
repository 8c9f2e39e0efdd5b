//! What a campaign adds to each record: which run of which plan it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a run is in the plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// A point of a grid, free to be fitted.
    Grid,
    /// A point that a fit may not see: it says how well the fit predicts.
    HeldOut,
    /// The same point again and again, to see whether the hosts drift.
    Reference,
    /// A trial of the search for the highest loss-free rate.
    Search,
}

/// The key `plan` of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanMark {
    /// Name of the plan.
    pub name: String,
    /// SHA-256 of the canonical plan and of where it was carried out, in hexadecimal.
    pub digest: String,
    /// Identity of the point: the first 16 hexadecimal digits of the SHA-256 of its canonical settings.
    pub point: String,
    /// Which repeat of the point (or trial of its search), from 0.
    pub repeat: u32,
    /// Why the run is in the plan.
    pub kind: RunKind,
    /// A fit may not see this run.
    pub held_out: bool,
    /// How well the runs of this point so far agree, this one included; absent where the plan does not ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceMark>,
    /// Where the search stands after this run; absent outside a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchMark>,
    /// What the background streams measured of themselves while this run ran; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundMark>,
}

/// How well the runs of a point agree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfidenceMark {
    /// The confidence asked for, 0…1.
    pub confidence: f64,
    /// The confidence of a single interval after sharing the error over all looks and metrics.
    pub adjusted_confidence: f64,
    /// Half the interval's width over the mean that is asked for, at most.
    pub relative_width: f64,
    /// Runs of this point so far.
    pub runs: u32,
    /// Every metric's interval is narrow enough. False after the last repeat is a result too.
    pub met: bool,
    /// Half the interval's width over the mean, by metric; absent where it cannot be said.
    pub relative_half_widths: BTreeMap<String, f64>,
}

/// Where a search for the highest loss-free rate stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchMark {
    /// The offered goodput of this trial, in b/s.
    pub load_bps: f64,
    /// This trial lost nothing and kept its rate.
    pub passed: bool,
    /// The search ended with this trial.
    pub ended: bool,
    /// The highest offered goodput that passed, in b/s; absent before the end, and where none passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_free_bps: Option<f64>,
    /// The lowest offered goodput that failed, in b/s; absent before the end, and where none failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossy_bps: Option<f64>,
    /// Upper limit of the loss rate at `loss_free_bps` at the plan's confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_rate_high: Option<f64>,
}

/// A stream that ran beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundMark {
    /// The host that sent.
    pub from: String,
    /// The host that received.
    pub to: String,
    /// Its goodput, in b/s; absent where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Its loss rate, 0…1; absent where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_rate: Option<f64>,
    /// It ran from before the measured run to after it.
    pub covered: bool,
}
