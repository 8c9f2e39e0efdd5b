//! One point of a plan: options of `icprobe run` and identity.

use super::mark::RunKind;
use super::options::{Options, arguments, describe};
use crate::error::{Error, Result};
use crate::run::options::settings_of;
use crate::settings::RunSettings;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Time a run takes besides baseline, warm-up and window: start, handshake, clock exchanges, end; in seconds.
const OVERHEAD_S: f64 = 0.4;
/// Time that background streams take before and after a run, in seconds.
const BACKGROUND_S: f64 = 2.5;

/// A stream that runs beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Background {
    /// The lab's host that sends.
    pub from: String,
    /// The lab's host that receives.
    pub to: String,
    /// Its own options.
    pub options: Options,
}

/// One point of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The first 16 hexadecimal digits of the SHA-256 of `options` and `background`.
    pub id: String,
    /// Purpose of the point in the plan.
    pub kind: RunKind,
    /// The point is held out of fits.
    pub held_out: bool,
    /// If the hosts refuse it, the campaign still succeeds.
    pub optional: bool,
    /// Options of `icprobe run`.
    pub options: Options,
    /// Background streams.
    pub background: Vec<Background>,
    /// Estimated time of the measured run, in seconds, from the options.
    pub run_s: f64,
}

impl Point {
    /// Creates a point and computes its identity.
    ///
    /// # Errors
    /// [`Error::Question`] naming the point if `icprobe run` would refuse it.
    pub fn new(kind: RunKind, options: Options, background: Vec<Background>) -> Result<Self> {
        let settings = settings_of(&arguments(&options)).map_err(|error| {
            Error::question(format!("the point `{}`: {error}", describe(&options)))
        })?;
        for stream in &background {
            settings_of(&arguments(&stream.options)).map_err(|error| {
                Error::question(format!("the background from {}: {error}", stream.from))
            })?;
        }
        let asked = serde_json::json!({"options": options, "background": background});
        let mut id = digest_of(&asked);
        id.truncate(16);
        Ok(Self {
            id,
            kind,
            held_out: kind == RunKind::HeldOut,
            optional: false,
            options,
            background,
            run_s: duration_s(&settings),
        })
    }

    /// Estimated time of a run including background streams, in seconds.
    pub fn estimate_s(&self) -> f64 {
        let beside = if self.background.is_empty() {
            0.0
        } else {
            BACKGROUND_S
        };
        self.run_s + beside
    }
}

fn duration_s(settings: &RunSettings) -> f64 {
    let window = match (settings.frames, settings.rate_fps) {
        (Some(frames), Some(rate)) => frames as f64 / rate,
        _ => settings.duration_s,
    };
    let tail = settings.tail_s.unwrap_or(0.0);
    settings.baseline_s + settings.warmup_s + window + tail + OVERHEAD_S
}

/// SHA-256 in hexadecimal of a JSON value with its keys in alphabetical order.
pub fn digest_of(value: &serde_json::Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_canonical(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in entries {
                text.push_str(&serde_json::Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        serde_json::Value::Array(values) => {
            text.push('[');
            for value in values {
                write_canonical(value, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(kind: RunKind, text: &str) -> Result<Point> {
        let table: toml::Table = text.parse().unwrap();
        Point::new(kind, table.into_iter().collect(), Vec::new())
    }

    const TCP: &str = "protocol = \"tcp\"\npayload = \"1000 B\"\nload = \"8 Mb/s\"\n";

    #[test]
    fn identity_follows_what_is_asked_alone() {
        let a = point(RunKind::Grid, TCP).unwrap();
        let b = point(RunKind::HeldOut, TCP).unwrap();
        let c = point(RunKind::Grid, &TCP.replace('8', "9")).unwrap();
        assert_eq!(a.id, b.id);
        assert_ne!(a.id, c.id);
        assert_eq!(a.id.len(), 16);
    }

    #[test]
    fn the_digest_does_not_see_the_order_of_keys() {
        let a: serde_json::Value = serde_json::from_str(r#"{"a":1,"b":{"c":2,"d":[3]}}"#).unwrap();
        let b: serde_json::Value = serde_json::from_str(r#"{"b":{"d":[3],"c":2},"a":1}"#).unwrap();
        assert_eq!(digest_of(&a), digest_of(&b));
    }

    #[test]
    fn what_icprobe_run_would_refuse_is_refused_before_the_start() {
        for (text, word) in [
            (
                TCP.replace("tcp", "udp").replace("1000 B", "65535 B"),
                "65507",
            ),
            (format!("{TCP}rate = \"1/s\""), "--rate"),
            (TCP.replace("1000 B", "1 KB"), "KiB"),
            (TCP.replace("tcp", "sctp"), "zeromq"),
            (format!("{TCP}cores = \"one\""), "--cores"),
            (format!("{TCP}cors = 1"), "--cores"),
            (format!("{TCP}to = \"127.0.0.1\""), "--to"),
            ("protocol = \"tcp\"".into(), "--payload"),
        ] {
            let error = point(RunKind::Grid, &text).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert_eq!(error.exit_code(), 2);
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn the_estimate_adds_up() {
        let timed = point(RunKind::Grid, &format!("{TCP}duration = \"10 s\"")).unwrap();
        assert!((timed.estimate_s() - 11.1).abs() < 1e-9);
    }
}
