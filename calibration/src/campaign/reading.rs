//! Reads from a record what a campaign needs: identity, values and flags.

use crate::error::{Error, Result};
use crate::plan::mark::PlanMark;
use crate::plan::search::Trial;
use crate::plan::{RunId, RunKind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Fraction of the requested rate below which a sender missed it.
const RATE_KEPT: f64 = 0.99;

/// Data of a run kept by a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The numbers of the record's `result`, by name.
    pub values: BTreeMap<String, f64>,
    /// Flags of the run.
    pub flags: Vec<String>,
    /// The run as a trial of a search.
    pub trial: Trial,
}

impl Reading {
    /// Extracts the data from a record.
    ///
    /// # Errors
    /// [`Error::Peer`] if the value is not a record: it lacks its schema version, point or result.
    pub fn of(record: &Value) -> Result<Self> {
        let part = |key: &str| record.get(key).and_then(Value::as_object);
        let version = record.get("schema_version").and_then(Value::as_u64);
        let (Some(_), Some(_), Some(result)) = (version, part("point"), part("result")) else {
            return Err(Error::peer(
                "icprobe run did not print a record: schema_version, point or result is missing",
            ));
        };
        let flags = record.get("flags").and_then(Value::as_array);
        let flags = flags
            .into_iter()
            .flatten()
            .filter_map(|flag| flag.as_str().map(str::to_owned));
        Ok(Self {
            values: numbers(result),
            flags: flags.collect(),
            trial: trial(record, result),
        })
    }
}

/// The numbers of an object, by name.
pub fn numbers(object: &Map<String, Value>) -> BTreeMap<String, f64> {
    let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
    object.iter().filter_map(number).collect()
}

fn trial(record: &Value, result: &Map<String, Value>) -> Trial {
    let count = |name: &str| result.get(name).and_then(Value::as_u64).unwrap_or(0);
    let pacing = |name: &str| {
        record
            .get("pacing")
            .and_then(|p| p.get(name))
            .and_then(Value::as_f64)
    };
    let rate_kept = match (pacing("achieved_fps"), pacing("asked_fps")) {
        (Some(achieved), Some(asked)) => achieved >= RATE_KEPT * asked,
        _ => true,
    };
    Trial {
        sent: count("frames_sent"),
        lost: count("frames_lost"),
        rate_kept,
    }
}

/// Reads the place of a record in its campaign (the record's key `plan`).
///
/// # Errors
/// [`Error::Question`] if the record belongs to no campaign.
pub fn mark(record: &Value) -> Result<PlanMark> {
    let mark = record.get("plan").cloned().unwrap_or_default();
    serde_json::from_value(mark).map_err(|error| {
        Error::question(format!(
            "it belongs to no campaign of this version of icprobe ({error})"
        ))
    })
}

/// Key of the run that a mark identifies.
pub fn run_id(mark: &PlanMark) -> RunId {
    RunId {
        point: mark.point.clone(),
        kind: mark.kind,
        repeat: mark.repeat,
    }
}

/// Whether repeats of this kind can stop early on agreement.
pub fn is_repeated(kind: RunKind) -> bool {
    matches!(kind, RunKind::Grid | RunKind::HeldOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_is_read() {
        let record = json!({
            "schema_version": 1, "point": {}, "flags": ["stalled"],
            "result": {"goodput_bps": 1e8, "frames_sent": 1000, "frames_lost": 3, "note": "x"},
            "pacing": {"asked_fps": 1000.0, "achieved_fps": 980.0},
        });
        let reading = Reading::of(&record).unwrap();
        assert_eq!(reading.values["goodput_bps"], 1e8);
        assert!(!reading.values.contains_key("note"));
        assert_eq!(reading.flags, ["stalled"]);
        assert_eq!(
            reading.trial,
            Trial {
                sent: 1000,
                lost: 3,
                rate_kept: false
            }
        );
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for wrong in [
            json!({}),
            json!(3),
            json!({"schema_version": 1, "point": {}}),
        ] {
            assert_eq!(Reading::of(&wrong).unwrap_err().exit_code(), 3);
        }
        assert!(mark(&json!({"schema_version": 1})).is_err());
    }
}
