//! Options of a run as a plan writes them: those of `icprobe run`, without the dashes before.

use crate::error::{Error, Result};
use crate::run::options::is_known;
use crate::units;
use std::collections::BTreeMap;
use toml::Value;

/// Options by name, in alphabetical order: texts, whole numbers, true and false, or a list of
/// these for an option that is given several times.
pub type Options = BTreeMap<String, Value>;

/// Value of an unlimited rate or load.
const UNLIMITED: &str = "unlimited";
/// Options printed first in a description, without their names.
const FIRST: [&str; 5] = ["protocol", "pattern", "payload", "rate", "load"];
/// Options omitted from a description.
const UNSAID: [&str; 3] = ["duration", "warmup", "baseline"];

/// Resolves percentages of the line rate to b/s, and removes options that state a default. Such an
/// option is `unlimited`, or true or false if the command line has only the opposite flag.
///
/// # Errors
/// [`Error::Question`] for a percentage of an unknown line rate.
pub fn resolved(written: &Options, line_rate_bps: Option<f64>) -> Result<Options> {
    let said = written.iter().filter(|(name, value)| match value {
        Value::String(text) => text != UNLIMITED,
        Value::Boolean(on) => is_known(&flag(name, *on)) || !is_known(&flag(name, !on)),
        _ => true,
    });
    said.map(|(name, value)| Ok((name.clone(), absolute(value, line_rate_bps)?)))
        .collect()
}

/// Converts a text that ends in `%` to b/s; `KEY=50 %` becomes `KEY=` and the number of b/s.
fn absolute(value: &Value, line_rate_bps: Option<f64>) -> Result<Value> {
    match value {
        Value::Array(values) => values
            .iter()
            .map(|value| absolute(value, line_rate_bps))
            .collect::<Result<_>>()
            .map(Value::Array),
        Value::String(text) if text.ends_with('%') => Ok(match text.split_once('=') {
            Some((key, share)) => format!("{key}={}", bits_per_s(share, line_rate_bps)?),
            None => format!("{} b/s", bits_per_s(text, line_rate_bps)?),
        }
        .into()),
        other => Ok(other.clone()),
    }
}

/// Parses a load, absolute or in percent of the line rate; rounds it to a thousandth of a bit per
/// second.
///
/// # Errors
/// [`Error::Question`] for an invalid text, or a percentage of an unknown line rate.
pub fn bits_per_s(text: &str, line_rate_bps: Option<f64>) -> Result<f64> {
    if !text.trim_end().ends_with('%') {
        return units::parse_bits_per_s(text);
    }
    let share = units::parse_ratio(text)?;
    let line_rate = line_rate_bps.ok_or_else(|| {
        Error::question(format!(
            "`{text}` is a share of the line rate, which is not known here: give --line-rate, or `line_rate` in the plan"
        ))
    })?;
    Ok((share * line_rate * 1e3).round() / 1e3)
}

/// The options as arguments of `icprobe run`.
pub fn arguments(options: &Options) -> Vec<String> {
    options
        .iter()
        .flat_map(|(name, value)| spelled(name, value))
        .collect()
}

fn spelled(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Boolean(on) => vec![format!("--{}", flag(name, *on))],
        Value::Array(values) => values
            .iter()
            .flat_map(|value| spelled(name, value))
            .collect(),
        value => vec![format!("--{name}={}", text_of(value))],
    }
}

fn flag(name: &str, on: bool) -> String {
    format!("{}{name}", if on { "" } else { "no-" })
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Short description of the options: `tcp 1472 B 5 Gb/s cores 4`.
pub fn describe(options: &Options) -> String {
    let first = FIRST
        .iter()
        .filter_map(|name| Some((*name, options.get(*name)?)));
    let others = options
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .filter(|(name, _)| !FIRST.contains(name) && !UNSAID.contains(name));
    first
        .chain(others)
        .map(|(name, value)| described(name, value))
        .collect::<Vec<_>>()
        .join(" ")
}

fn described(name: &str, value: &Value) -> String {
    let text = text_of(value);
    match value {
        Value::Boolean(on) => flag(name, *on).replace("no-", "no "),
        _ if name == "load" => {
            units::parse_bits_per_s(&text).map_or(text, units::format_bits_per_s)
        }
        _ if FIRST.contains(&name) => text,
        _ => format!("{name} {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        let table: toml::Table = text.parse().unwrap();
        table.into_iter().collect()
    }

    fn spelled_out(text: &str) -> String {
        arguments(&resolved(&options(text), Some(1e8)).unwrap()).join("|")
    }

    #[test]
    fn options_are_those_of_the_command_line() {
        assert_eq!(
            spelled_out(
                "protocol = \"tcp\"\npayload = \"1472 B\"\ncores = 2\nreverse = true\nnagle = false"
            ),
            "--cores=2|--no-nagle|--payload=1472 B|--protocol=tcp|--reverse"
        );
        assert_eq!(
            spelled_out("option = [\"a=1\", \"b=2\"]"),
            "--option=a=1|--option=b=2"
        );
    }

    #[test]
    fn shares_become_loads() {
        assert_eq!(spelled_out("load = \"94 %\""), "--load=94000000 b/s");
        assert_eq!(spelled_out("load = \"5 Gb/s\""), "--load=5 Gb/s");
        assert_eq!(
            spelled_out("option = [\"external_load_bps=50 %\", \"x=1\"]"),
            "--option=external_load_bps=50000000|--option=x=1"
        );
        let error = resolved(&options("load = \"5 %\""), None).unwrap_err();
        assert!(error.to_string().contains("--line-rate"), "{error}");
    }

    #[test]
    fn what_is_so_anyway_is_left_out() {
        for text in [
            "load = \"unlimited\"",
            "rate = \"unlimited\"",
            "nagle = true",
            "reverse = false",
        ] {
            assert_eq!(spelled_out(text), "", "{text}");
        }
        assert_eq!(spelled_out("revers = false"), "--no-revers");
    }

    #[test]
    fn a_description_is_short() {
        let text = "cores = 2\nload = \"1 %\"\nnagle = false\nduration = \"2 s\"\npayload = \"1472 B\"\nprotocol = \"tcp\"\nreverse = true";
        let options = resolved(&options(text), Some(1e8)).unwrap();
        assert_eq!(
            describe(&options),
            "tcp 1472 B 1 Mb/s cores 2 no nagle reverse"
        );
    }
}
