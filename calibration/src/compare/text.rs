//! Text output of a comparison.

use super::{Comparison, EnvironmentDifference, MetricComparison, PointComparison};
use crate::campaign::table;
use crate::units::{format_bits_per_s, format_ratio, format_seconds};
use std::fmt::Write;

/// Quantities shown by default.
const USUAL: [&str; 10] = [
    "goodput_bps",
    "loss_rate",
    "latency_mean_s",
    "latency_std_s",
    "latency_p99_s",
    "rtt_half_mean_s",
    "frames_per_s",
    "calls_queued_per_s",
    "cpu_send",
    "cpu_recv",
];

impl Comparison {
    /// Writes the environments, then one table per point, then the points of only one side.
    pub fn text(&self, metrics: &[String]) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = match self.environment.as_slice() {
            [] => writeln!(text, "the environments are the same"),
            differing => writeln!(text, "the environments differ:\n{}", listed(differing)),
        };
        for point in &self.points {
            let _ = writeln!(text, "\n{}", point.point);
            if !point.differing.is_empty() {
                text.push_str(&listed(&point.differing));
            }
            text.push_str(&rows(point, metrics));
        }
        for (side, points) in [("A", &self.only_a), ("B", &self.only_b)] {
            for point in points {
                let _ = writeln!(text, "\nonly in {side}: {point}");
            }
        }
        let [a, b] = self.flagged;
        if a + b > 0 {
            let _ = writeln!(text, "\nflagged records: {a} in A, {b} in B");
        }
        text
    }
}

fn listed(differing: &[EnvironmentDifference]) -> String {
    let side = |values: &[String]| {
        if values.is_empty() {
            "–".into()
        } else {
            values.join(" | ")
        }
    };
    let rows: Vec<Vec<String>> = differing
        .iter()
        .map(|d| vec![format!("  {}", d.key), side(&d.a), side(&d.b)])
        .collect();
    table(&["", "A", "B"], &rows)
}

fn rows(point: &PointComparison, metrics: &[String]) -> String {
    let asked = |name: &&String| !metrics.is_empty() || USUAL.contains(&name.as_str());
    let shown = point.metrics.iter().filter(|(name, _)| asked(name));
    let rows: Vec<Vec<String>> = shown.map(|(name, metric)| row(name, metric)).collect();
    if rows.is_empty() {
        return "  no quantity was measured in both A and B\n".into();
    }
    table(
        &["", "n", "median A", "median B", "B / A", "95 % interval"],
        &rows,
    )
}

fn row(name: &str, metric: &MetricComparison) -> Vec<String> {
    let dash = || "–".to_owned();
    vec![
        format!("  {name}"),
        format!("{}, {}", metric.n[0], metric.n[1]),
        said(name, metric.median_a, metric.range_a),
        said(name, metric.median_b, metric.range_b),
        metric
            .ratio
            .map_or_else(dash, |ratio| format!("{ratio:.4}")),
        metric
            .ratio_interval
            .map_or_else(dash, |[low, high]| format!("{low:.4} … {high:.4}")),
    ]
}

fn said(name: &str, median: f64, [low, high]: [f64; 2]) -> String {
    let format = |value| match name {
        _ if name.ends_with("_bps") => format_bits_per_s(value),
        _ if name.ends_with("_per_s") => format!("{value:.6}/s"),
        _ if name.ends_with("_s") => format_seconds(value),
        _ if name.starts_with("cpu_") && !name.ends_with("_cores") || name == "loss_rate" => {
            format_ratio(value)
        }
        _ => format!("{value}"),
    };
    if low == high {
        format(median)
    } else {
        format!("{} ({} … {})", format(median), format(low), format(high))
    }
}
