//! The options of a run that a plan may set: the command line's names, values in SI inside.

use crate::error::{Error, Result};
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One option's value, in SI units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// On or off.
    Switch(bool),
    /// Bytes, counts and numbers without a unit.
    Count(u64),
    /// Bits per second, frames per second, seconds.
    Number(f64),
    /// A word or a text.
    Text(String),
}

/// Options by their name on the command line, in alphabetical order so that they have one spelling.
pub type Settings = BTreeMap<String, Setting>;

/// How a value of an option is written in a plan and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word(&'static [&'static str]),
    Bytes,
    FramesPerS,
    BitsPerS,
    Seconds,
    Count,
    /// Off unless given; the command line names it without a value.
    Flag,
    /// On unless given as false; the command line says `--no-NAME`.
    OnUnlessFalse,
    Text,
    /// Bytes whose command line option is a plain number.
    PlainBytes,
    /// An axis that nobody sets, only said: `--option NAME=VALUE` on the command line.
    Label,
    /// The same with a load, said in b/s.
    LoadLabel,
}

const PATTERNS: &[&str] = &[
    "stream",
    "ping-pong",
    "oneway-batch",
    "twoway-batch",
    "call",
];

const OPTIONS: &[(&str, Kind)] = &[
    (
        "protocol",
        Kind::Word(&["tcp", "udp", "ethernet", "zeromq"]),
    ),
    ("payload", Kind::Bytes),
    ("rate", Kind::FramesPerS),
    ("load", Kind::BitsPerS),
    ("pattern", Kind::Word(PATTERNS)),
    ("reverse", Kind::Flag),
    ("duration", Kind::Seconds),
    ("frames", Kind::Count),
    ("warmup", Kind::Seconds),
    ("baseline", Kind::Seconds),
    ("cores", Kind::Count),
    ("streams", Kind::Count),
    ("cpus", Kind::Text),
    ("nagle", Kind::OnUnlessFalse),
    ("dscp", Kind::Count),
    ("send-buffer", Kind::Bytes),
    ("receive-buffer", Kind::Bytes),
    ("waiting", Kind::Word(&["blocking", "polling"])),
    ("realtime", Kind::Count),
    ("batch", Kind::Count),
    ("body", Kind::Word(&["bytes", "vector"])),
    ("reply", Kind::Bytes),
    (
        "zeromq-socket",
        Kind::Word(&["push-pull", "pub-sub", "req-rep"]),
    ),
    ("io-threads", Kind::Count),
    ("high-water-mark", Kind::Count),
    ("batch-bytes", Kind::Bytes),
    ("raw", Kind::Flag),
    ("mtu", Kind::PlainBytes),
    ("offloads", Kind::Text),
    ("switches", Kind::Count),
    ("endpoints", Kind::Count),
    ("other-goodput", Kind::BitsPerS),
    ("priority", Kind::Label),
    ("offload", Kind::Label),
    ("external-load", Kind::LoadLabel),
    ("test", Kind::Label),
];

fn kind_of(name: &str) -> Result<Kind> {
    let found = OPTIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
        Error::question(format!(
            "`{name}` is not an option of a run: a plan may set {}",
            known.join(", ")
        ))
    })
}

/// Reads one option of a plan; `None` where the value says what is so without it (`unlimited`, a flag that is off).
///
/// Loads may be ratios of the line rate: `"94 %"` of 100 Mb/s is 94 Mb/s.
///
/// # Errors
/// [`Error::Question`] for an unknown name, a value that does not fit it, or a ratio without a line rate.
pub fn read(
    name: &str,
    value: &toml::Value,
    line_rate_bps: Option<f64>,
) -> Result<Option<Setting>> {
    let kind = kind_of(name)?;
    let text = value.as_str();
    let setting = match kind {
        Kind::Word(words) => Setting::Text(word(name, value, words)?),
        Kind::Bytes | Kind::PlainBytes => {
            Setting::Count(units::parse_bytes(quantity(name, value, "\"1472 B\"")?)?)
        }
        Kind::Seconds => Setting::Number(units::parse_seconds(quantity(name, value, "\"2 s\"")?)?),
        Kind::FramesPerS | Kind::BitsPerS | Kind::LoadLabel if text == Some("unlimited") => {
            return Ok(None);
        }
        Kind::FramesPerS => {
            Setting::Number(units::parse_rate_fps(quantity(name, value, "\"1000/s\"")?)?)
        }
        Kind::BitsPerS | Kind::LoadLabel => {
            let text = quantity(name, value, "\"5 Gb/s\", \"94 %\" or \"unlimited\"")?;
            Setting::Number(bits_per_s(text, line_rate_bps)?)
        }
        Kind::Count => Setting::Count(count(name, value)?),
        Kind::Flag | Kind::OnUnlessFalse => {
            let on = value
                .as_bool()
                .ok_or_else(|| refuse(name, value, "true or false"))?;
            if on == (kind == Kind::OnUnlessFalse) {
                return Ok(None);
            }
            Setting::Switch(on)
        }
        Kind::Text | Kind::Label => Setting::Text(quantity(name, value, "a text")?.to_owned()),
    };
    Ok(Some(setting))
}

/// A load: absolute, or a ratio of the line rate; rounded to a thousandth of a bit per second.
///
/// # Errors
/// [`Error::Question`] for a text outside the grammar, or a ratio where the line rate is unknown.
pub fn bits_per_s(text: &str, line_rate_bps: Option<f64>) -> Result<f64> {
    if !text.trim_end().ends_with('%') {
        return units::parse_bits_per_s(text);
    }
    let ratio = units::parse_ratio(text)?;
    let line_rate = line_rate_bps.ok_or_else(|| {
        Error::question(format!(
            "`{text}` is a share of the line rate, which is not known here: give --line-rate, or `line_rate` in the plan"
        ))
    })?;
    Ok((ratio * line_rate * 1e3).round() / 1e3)
}

fn refuse(name: &str, value: &toml::Value, allowed: &str) -> Error {
    Error::question(format!("`{name} = {value}` does not fit: give {allowed}"))
}

fn quantity<'a>(name: &str, value: &'a toml::Value, allowed: &str) -> Result<&'a str> {
    value.as_str().ok_or_else(|| refuse(name, value, allowed))
}

fn word(name: &str, value: &toml::Value, words: &[&str]) -> Result<String> {
    let given = value.as_str().filter(|given| words.contains(given));
    let given = given.ok_or_else(|| refuse(name, value, &words.join(", ")))?;
    Ok(given.to_owned())
}

fn count(name: &str, value: &toml::Value) -> Result<u64> {
    let given = value
        .as_integer()
        .and_then(|count| u64::try_from(count).ok());
    given.ok_or_else(|| refuse(name, value, "a whole number, not negative"))
}

/// The options as arguments of `icprobe run`, quantities with their unit.
pub fn arguments(settings: &Settings) -> Vec<String> {
    let mut arguments = Vec::new();
    for (name, setting) in settings {
        let Ok(kind) = kind_of(name) else { continue };
        match (kind, setting) {
            (Kind::OnUnlessFalse, _) => arguments.push(format!("--no-{name}")),
            (Kind::Flag, _) => arguments.push(format!("--{name}")),
            (Kind::LoadLabel, _) => {
                let said = format!("{}_bps={}", name.replace('-', "_"), spelled(kind, setting));
                arguments.extend(["--option".into(), said]);
            }
            (Kind::Label, _) => {
                arguments.extend([
                    "--option".into(),
                    format!("{name}={}", spelled(kind, setting)),
                ]);
            }
            _ => arguments.extend([format!("--{name}"), spelled(kind, setting)]),
        }
    }
    arguments
}

fn spelled(kind: Kind, setting: &Setting) -> String {
    let unit = match kind {
        Kind::Bytes => " B",
        Kind::FramesPerS => "/s",
        Kind::BitsPerS => " b/s",
        Kind::Seconds => " s",
        _ => "",
    };
    match setting {
        Setting::Switch(on) => on.to_string(),
        Setting::Count(count) => format!("{count}{unit}"),
        Setting::Number(number) => format!("{number}{unit}"),
        Setting::Text(text) => text.clone(),
    }
}

/// The options for people, in the order of the table: `tcp 1472 B 5 Gb/s cores 4`.
pub fn describe(settings: &Settings) -> String {
    let given = OPTIONS.iter().filter_map(|(name, kind)| {
        let setting = settings.get(*name)?;
        Some(match (*name, kind, setting) {
            ("protocol" | "pattern", _, Setting::Text(text)) => text.clone(),
            (_, Kind::Flag, _) => (*name).to_owned(),
            (_, Kind::OnUnlessFalse, _) => format!("no {name}"),
            ("payload", _, Setting::Count(bytes)) => units::format_bytes(*bytes),
            ("load", _, Setting::Number(load)) => units::format_bits_per_s(*load),
            (_, Kind::BitsPerS | Kind::LoadLabel, Setting::Number(load)) => {
                format!("{name} {}", units::format_bits_per_s(*load))
            }
            ("rate", _, Setting::Number(rate)) => units::format_rate_fps(*rate),
            (_, Kind::Seconds, _) => return None,
            (_, Kind::PlainBytes, Setting::Count(bytes)) => {
                format!("{name} {}", units::format_bytes(*bytes))
            }
            (_, kind, setting) => format!("{name} {}", spelled(*kind, setting)),
        })
    });
    given.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml_value(text: &str) -> toml::Value {
        let table: toml::Table = format!("x = {text}").parse().unwrap();
        table["x"].clone()
    }

    fn value(name: &str, text: &str) -> Result<Option<Setting>> {
        read(name, &toml_value(text), Some(1e8))
    }

    #[test]
    fn quantities_become_si() {
        assert_eq!(
            value("payload", "\"64 KiB\"").unwrap(),
            Some(Setting::Count(65_536))
        );
        assert_eq!(
            value("load", "\"5 Gb/s\"").unwrap(),
            Some(Setting::Number(5e9))
        );
        assert_eq!(
            value("load", "\"94 %\"").unwrap(),
            Some(Setting::Number(94e6))
        );
        assert_eq!(
            value("duration", "\"200 ms\"").unwrap(),
            Some(Setting::Number(0.2))
        );
        assert_eq!(value("cores", "4").unwrap(), Some(Setting::Count(4)));
    }

    #[test]
    fn what_is_so_anyway_is_left_out() {
        for (name, text) in [
            ("load", "\"unlimited\""),
            ("rate", "\"unlimited\""),
            ("nagle", "true"),
            ("reverse", "false"),
        ] {
            assert_eq!(value(name, text).unwrap(), None, "{name}");
        }
        assert_eq!(
            value("nagle", "false").unwrap(),
            Some(Setting::Switch(false))
        );
    }

    #[test]
    fn refusals_name_what_is_allowed() {
        for (name, text, word) in [
            ("payloads", "\"1 B\"", "payload"),
            ("payload", "1472", "1472 B"),
            ("cores", "-1", "not negative"),
            ("cores", "\"4\"", "whole number"),
            ("protocol", "\"sctp\"", "zeromq"),
            ("nagle", "0", "true or false"),
            ("payload", "\"1 KB\"", "kB"),
        ] {
            let error = value(name, text).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let error = read("load", &toml_value("\"5 %\""), None).unwrap_err();
        assert!(error.to_string().contains("--line-rate"), "{error}");
    }

    #[test]
    fn arguments_carry_units() {
        let mut settings = Settings::new();
        for (name, text) in [
            ("protocol", "\"tcp\""),
            ("payload", "\"1472 B\""),
            ("load", "\"1 %\""),
            ("nagle", "false"),
            ("reverse", "true"),
            ("cores", "2"),
            ("mtu", "\"1500 B\""),
            ("priority", "\"AF41\""),
        ] {
            settings.insert(name.into(), value(name, text).unwrap().unwrap());
        }
        let line = arguments(&settings).join("|");
        assert_eq!(
            line,
            "--cores|2|--load|1000000 b/s|--mtu|1500|--no-nagle|--payload|1472 B|--option|priority=AF41|--protocol|tcp|--reverse"
        );
        assert_eq!(
            describe(&settings),
            "tcp 1472 B 1 Mb/s reverse cores 2 no nagle mtu 1500 B priority AF41"
        );
    }
}
