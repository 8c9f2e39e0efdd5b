//! One point of a plan: what is asked of `icprobe run`, and its identity.

use super::mark::RunKind;
use super::options::{self, Setting, Settings};
use crate::error::{Context, Error, Result};
use crate::settings::{Protocol, RunSettings};
use clap::ValueEnum;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Time a run takes besides baseline, warm-up and window: start, handshake, clock exchanges, end; in seconds.
const OVERHEAD_S: f64 = 0.4;
/// Time that background streams add before and after it, in seconds.
const BACKGROUND_S: f64 = 2.5;

/// A stream that runs beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Background {
    /// The lab's host that sends.
    pub from: String,
    /// The lab's host that receives.
    pub to: String,
    /// Its own options.
    pub settings: Settings,
}

/// One point of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The first 16 hexadecimal digits of the SHA-256 of `settings` and `background`.
    pub id: String,
    /// Why it is in the plan.
    pub kind: RunKind,
    /// A fit may not see it.
    pub held_out: bool,
    /// The hosts may refuse it without the campaign having failed.
    pub optional: bool,
    /// What is asked.
    pub settings: Settings,
    /// What runs beside it.
    pub background: Vec<Background>,
}

impl Point {
    /// A point with its identity.
    pub fn new(kind: RunKind, settings: Settings, background: Vec<Background>) -> Self {
        let canonical = serde_json::json!({"settings": settings, "background": background});
        let mut id = digest_of(&canonical);
        id.truncate(16);
        let held_out = kind == RunKind::HeldOut;
        Self {
            id,
            kind,
            held_out,
            optional: false,
            settings,
            background,
        }
    }

    /// The arguments of `icprobe run`, without the peer.
    pub fn arguments(&self) -> Vec<String> {
        options::arguments(&self.settings)
    }

    /// Refuses before the start what `icprobe run` would refuse.
    ///
    /// # Errors
    /// [`Error::Question`] naming the point.
    pub fn check(&self) -> Result<()> {
        let named = |error: Error| {
            Error::question(format!(
                "the point `{}`: {error}",
                options::describe(&self.settings)
            ))
        };
        run_settings(&self.settings)
            .and_then(|s| s.check())
            .map_err(named)?;
        for background in &self.background {
            run_settings(&background.settings)
                .and_then(|s| s.check())
                .map_err(|error| {
                    Error::question(format!("the background from {}: {error}", background.from))
                })?;
        }
        Ok(())
    }

    /// How long the measured run itself takes, in seconds, as far as the settings say.
    pub fn run_s(&self) -> f64 {
        run_settings(&self.settings).map_or(OVERHEAD_S, |settings| duration_s(&settings))
    }

    /// How long a run takes with the streams beside it, in seconds.
    pub fn estimate_s(&self) -> f64 {
        self.run_s()
            + if self.background.is_empty() {
                0.0
            } else {
                BACKGROUND_S
            }
    }
}

fn duration_s(settings: &RunSettings) -> f64 {
    let window = match (settings.frames, settings.rate_fps) {
        (Some(frames), Some(rate)) => frames as f64 / rate,
        _ => settings.duration_s,
    };
    settings.baseline_s + settings.warmup_s + window + OVERHEAD_S
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

/// The settings of a run as both ends know them; labels and what is set around the run are not among them.
///
/// # Errors
/// [`Error::Question`] where protocol or payload is missing, both rate and load are given, or a number is too large.
pub fn run_settings(settings: &Settings) -> Result<RunSettings> {
    let protocol = word::<Protocol>(settings, "protocol")?.ok_or_else(|| {
        Error::question("no protocol: set `protocol` in the grid or in the defaults")
    })?;
    let payload = small(settings, "payload")?.ok_or_else(|| {
        Error::question("no payload: set `payload` in the grid or in the defaults")
    })?;
    let mut run = RunSettings::new(protocol, payload);
    run.rate_fps = rate_fps(settings, payload)?;
    read_lengths(&mut run, settings)?;
    read_counts(&mut run, settings)?;
    read_words(&mut run, settings)?;
    read_zeromq(&mut run, settings)?;
    Ok(run)
}

fn rate_fps(settings: &Settings, payload_bytes: u32) -> Result<Option<f64>> {
    match (number(settings, "rate"), number(settings, "load")) {
        (Some(_), Some(_)) => Err(Error::question("both rate and load: give one of them")),
        (Some(rate), None) => Ok(Some(rate)),
        (None, load) => Ok(load.map(|load| load / (8.0 * f64::from(payload_bytes)))),
    }
}

fn read_lengths(run: &mut RunSettings, settings: &Settings) -> Result<()> {
    run.duration_s = number(settings, "duration").unwrap_or(run.duration_s);
    run.warmup_s = number(settings, "warmup").unwrap_or(run.warmup_s);
    run.baseline_s = number(settings, "baseline").unwrap_or(run.baseline_s);
    run.frames = count(settings, "frames");
    run.send_buffer_bytes = small(settings, "send-buffer")?;
    run.receive_buffer_bytes = small(settings, "receive-buffer")?;
    run.reply_bytes = small(settings, "reply")?;
    Ok(())
}

fn read_counts(run: &mut RunSettings, settings: &Settings) -> Result<()> {
    run.cores = small(settings, "cores")?.unwrap_or(run.cores);
    run.streams = small(settings, "streams")?.unwrap_or(run.cores);
    run.dscp = small(settings, "dscp")?;
    run.realtime_priority = small(settings, "realtime")?;
    run.batch_frames = small(settings, "batch")?.unwrap_or(run.batch_frames);
    Ok(())
}

fn read_words(run: &mut RunSettings, settings: &Settings) -> Result<()> {
    run.pattern = word(settings, "pattern")?.unwrap_or(run.pattern);
    run.waiting = word(settings, "waiting")?.unwrap_or(run.waiting);
    run.body = word(settings, "body")?.unwrap_or(run.body);
    run.zeromq_socket = word(settings, "zeromq-socket")?.unwrap_or(run.zeromq_socket);
    run.reverse = settings.contains_key("reverse");
    run.raw = settings.contains_key("raw");
    run.nagle = !settings.contains_key("nagle");
    Ok(())
}

fn read_zeromq(run: &mut RunSettings, settings: &Settings) -> Result<()> {
    run.io_threads = small(settings, "io-threads")?;
    run.high_water_mark = small(settings, "high-water-mark")?;
    run.batch_bytes = small(settings, "batch-bytes")?;
    Ok(())
}

fn number(settings: &Settings, name: &str) -> Option<f64> {
    match settings.get(name)? {
        Setting::Number(number) => Some(*number),
        _ => None,
    }
}

fn count(settings: &Settings, name: &str) -> Option<u64> {
    match settings.get(name)? {
        Setting::Count(count) => Some(*count),
        _ => None,
    }
}

fn small<T: TryFrom<u64, Error: std::fmt::Display>>(
    settings: &Settings,
    name: &str,
) -> Result<Option<T>> {
    let Some(count) = count(settings, name) else {
        return Ok(None);
    };
    T::try_from(count)
        .map(Some)
        .or_question(format!("`{name}` is {count}"))
}

fn word<T: ValueEnum>(settings: &Settings, name: &str) -> Result<Option<T>> {
    let Some(Setting::Text(text)) = settings.get(name) else {
        return Ok(None);
    };
    T::from_str(text, false)
        .map(Some)
        .or_question(format!("`{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, Setting)]) -> Settings {
        entries
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    fn tcp(load: f64) -> Settings {
        settings(&[
            ("protocol", Setting::Text("tcp".into())),
            ("payload", Setting::Count(1000)),
            ("load", Setting::Number(load)),
        ])
    }

    #[test]
    fn identity_follows_the_settings_alone() {
        let a = Point::new(RunKind::Grid, tcp(8e6), Vec::new());
        let b = Point::new(RunKind::HeldOut, tcp(8e6), Vec::new());
        let c = Point::new(RunKind::Grid, tcp(9e6), Vec::new());
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
    fn load_becomes_a_rate() {
        let run = run_settings(&tcp(8e6)).unwrap();
        assert_eq!(run.rate_fps, Some(1000.0));
        assert_eq!(run.streams, 1);
    }

    #[test]
    fn impossible_points_are_refused_before_the_start() {
        let mut wrong = tcp(8e6);
        wrong.insert("protocol".into(), Setting::Text("udp".into()));
        wrong.insert("payload".into(), Setting::Count(65_535));
        let error = Point::new(RunKind::Grid, wrong, Vec::new())
            .check()
            .unwrap_err();
        assert!(error.to_string().contains("65507"), "{error}");
        let mut both = tcp(8e6);
        both.insert("rate".into(), Setting::Number(1.0));
        assert!(run_settings(&both).is_err());
        assert!(run_settings(&Settings::new()).is_err());
    }

    #[test]
    fn the_estimate_adds_up() {
        let mut timed = tcp(8e6);
        timed.insert("duration".into(), Setting::Number(10.0));
        let point = Point::new(RunKind::Grid, timed, Vec::new());
        assert!((point.estimate_s() - 11.1).abs() < 1e-9);
    }
}
