//! Summary of a campaign: measured and missing points, and the exit code.

use super::agenda::Agenda;
use super::reading::Reading;
use crate::error::Error;
use crate::plan::options::describe;
use crate::plan::{Point, RunKind, RunSpec};
use crate::units::{format_bits_per_s, format_ratio, format_seconds};
use std::fmt::Write;

/// Failures of a campaign.
#[derive(Debug, Default)]
pub struct Summary {
    /// Runs that failed twice: description and reason.
    pub missing: Vec<(String, String)>,
    /// Points refused by the hosts: description and reason.
    pub refused: Vec<(String, String)>,
    /// Optional points refused by the hosts.
    pub not_offered: Vec<(String, String)>,
    /// Too many runs failed in a row.
    pub ended_early: bool,
}

impl Summary {
    pub(super) fn left_out(&mut self, spec: &RunSpec, error: Error) {
        let list = match (&error, spec.point.optional) {
            (Error::Peer(_), _) => &mut self.missing,
            (Error::Question(_), false) => &mut self.refused,
            (Error::Question(_), true) => &mut self.not_offered,
        };
        list.push((describe(&spec.point.options), error.to_string()));
    }

    /// Exit code: 3 if runs are missing, 2 if hosts refuse points, 1 if a run is flagged, otherwise 0.
    pub fn exit_code(&self, agenda: &Agenda) -> u8 {
        if self.ended_early || !self.missing.is_empty() {
            3
        } else if !self.refused.is_empty() {
            2
        } else {
            u8::from(agenda.done().values().any(|run| !run.flags.is_empty()))
        }
    }

    /// Formats the table of points, then the missing ones.
    pub fn text(&self, agenda: &Agenda) -> String {
        let rows: Vec<Vec<String>> = agenda
            .points()
            .iter()
            .map(|point| row(agenda, point))
            .collect();
        let head = [
            "point",
            "runs",
            "goodput",
            "± half-width",
            "loss",
            "latency",
            "flagged",
            "remark",
        ];
        let mut text = table(&head, &rows);
        for (title, list) in [
            (
                "missing after two attempts; run the same command to try again",
                &self.missing,
            ),
            ("refused by the hosts", &self.refused),
            ("not offered by the hosts", &self.not_offered),
        ] {
            for (point, why) in list {
                // Writing to a String does not fail.
                let _ = writeln!(text, "{title}: {point}: {why}");
            }
        }
        if self.ended_early {
            text.push_str("ended early: too many runs failed in a row; run the same command again to continue\n");
        }
        text
    }
}

fn row(agenda: &Agenda, point: &Point) -> Vec<String> {
    let runs = agenda.readings(point);
    let flagged = runs.iter().filter(|run| !run.flags.is_empty()).count();
    let last = u32::try_from(runs.len().saturating_sub(1)).unwrap_or(u32::MAX);
    let confidence = agenda
        .confidence(&point.id, point.kind, last)
        .filter(|_| !runs.is_empty());
    let width = confidence
        .as_ref()
        .and_then(|c| c.relative_half_widths.values().copied().reduce(f64::max));
    let latency = ["latency_mean_s", "rtt_half_mean_s"]
        .iter()
        .find_map(|name| mean(&runs, name));
    let dash = || "–".to_owned();
    vec![
        describe(&point.options),
        runs.len().to_string(),
        mean(&runs, "goodput_bps").map_or_else(dash, format_bits_per_s),
        width.map_or_else(dash, format_ratio),
        mean(&runs, "loss_rate").map_or_else(dash, format_ratio),
        latency.map_or_else(dash, format_seconds),
        if flagged == 0 {
            dash()
        } else {
            flagged.to_string()
        },
        remark(agenda, point, confidence.is_some_and(|c| !c.met)),
    ]
}

fn remark(agenda: &Agenda, point: &Point, not_met: bool) -> String {
    if let Some(found) = agenda.found(point) {
        return match found.loss_free_bps {
            Some(load) => format!(
                "loss-free up to {} (loss below {})",
                format_bits_per_s(load),
                format_ratio(found.loss_rate_high)
            ),
            None => "loses frames at the lowest load".into(),
        };
    }
    let kind = match point.kind {
        RunKind::HeldOut => "held out",
        RunKind::Reference => "reference",
        RunKind::Search => "search not finished",
        RunKind::Grid => "",
    };
    let doubt = if not_met { "confidence not met" } else { "" };
    [kind, doubt]
        .iter()
        .filter(|text| !text.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(", ")
}

fn mean(runs: &[&Reading], metric: &str) -> Option<f64> {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.values.get(metric).copied())
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Formats a table with fitted column widths.
pub fn table<H: AsRef<str>>(head: &[H], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|cell| cell.as_ref().to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head)
            .chain(rows)
            .filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells =
            row.iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    std::iter::once(&head).chain(rows).map(line).collect()
}
