//! Text with units at the edges, SI numbers inside; the only place that knows prefixes.
//!
//! A quantity is a number and one unit of its kind: `9.4 Gb/s`, `64 KiB`, `50 us`. k, M, G, T are
//! powers of 1000; Ki, Mi, Gi of 1024; b, bit and bps count bits, B counts bytes. Nothing is
//! guessed: a bare number, `KB`, an amount where a rate is needed, nan, inf, a sign or a comma are
//! refused. Decimals are read exactly and rounded once, to the nearest double. icmodel reads the
//! same texts in the same way.

mod exact;

use crate::error::{Error, Result};
use exact::{Exact, Factor, factor};

const DECIMAL: &[(&str, Factor)] = &[
    ("", factor(1, 0)),
    ("k", factor(1, 3)),
    ("M", factor(1, 6)),
    ("G", factor(1, 9)),
    ("T", factor(1, 12)),
];
const BINARY: &[(&str, Factor)] = &[
    ("Ki", factor(1 << 10, 0)),
    ("Mi", factor(1 << 20, 0)),
    ("Gi", factor(1 << 30, 0)),
];
const NO_PREFIX: &[(&str, Factor)] = &[("", factor(1, 0))];

/// A kind of quantity: the closed table of its units, and the words for a refusal.
struct Kind {
    noun: &'static str,
    units: &'static [(&'static str, Factor)],
    prefixes: &'static [&'static [(&'static str, Factor)]],
    allowed: &'static str,
    example: &'static str,
}

const BYTES: Kind = Kind {
    noun: "size",
    units: &[("B", factor(1, 0))],
    prefixes: &[DECIMAL, BINARY],
    allowed: "B (bytes) with k, M, G, T (powers of 1000) or Ki, Mi, Gi (powers of 1024)",
    example: "65535 B or 64 KiB",
};
const BITS_PER_S: Kind = Kind {
    noun: "bit rate",
    units: &[
        ("b/s", factor(1, 0)),
        ("bit/s", factor(1, 0)),
        ("bps", factor(1, 0)),
        ("B/s", factor(8, 0)),
    ],
    prefixes: &[DECIMAL, BINARY],
    allowed: "b/s, bit/s or bps (bits) or B/s (bytes) with k, M, G, T (powers of 1000) or Ki, Mi, Gi (powers of 1024)",
    example: "9.4 Gb/s or 100 MB/s",
};
const RATE_FPS: Kind = Kind {
    noun: "frame rate",
    units: &[
        ("/s", factor(1, 0)),
        ("f/s", factor(1, 0)),
        ("fps", factor(1, 0)),
    ],
    prefixes: &[DECIMAL],
    allowed: "/s, f/s or fps with k, M, G, T (powers of 1000)",
    example: "6700/s or 1.5 Mfps",
};
const SECONDS: Kind = Kind {
    noun: "time",
    units: &[
        ("s", factor(1, 0)),
        ("ms", factor(1, -3)),
        ("us", factor(1, -6)),
        ("\u{b5}s", factor(1, -6)),  // micro sign
        ("\u{3bc}s", factor(1, -6)), // Greek mu
        ("ns", factor(1, -9)),
        ("min", factor(60, 0)),
        ("h", factor(3600, 0)),
    ],
    prefixes: &[NO_PREFIX],
    allowed: "ns, us or µs, ms, s, min, h",
    example: "50 us",
};
const RATIO: Kind = Kind {
    noun: "share",
    units: &[("%", factor(1, -2))],
    prefixes: &[NO_PREFIX],
    allowed: "% from 0 to 100",
    example: "0.1 %",
};

impl Kind {
    /// The factor of a unit with its prefix, if this kind has it.
    fn find(&self, text: &str) -> Option<Factor> {
        let prefixes = self.prefixes.iter().flat_map(|table| table.iter());
        prefixes
            .filter_map(|(prefix, by)| Some((text.strip_prefix(prefix)?, by)))
            .find_map(|(rest, by)| {
                let (_, unit) = self.units.iter().find(|(name, _)| *name == rest)?;
                Some(by.with(*unit))
            })
    }

    /// The one sentence of every refusal: what was given, what is wrong, what is allowed.
    fn refuse(&self, text: &str, what: &str) -> Error {
        Error::question(format!(
            "the {} {text:?} {what}: write a number and one unit of {}, such as {}",
            self.noun, self.allowed, self.example
        ))
    }

    /// Describes the error in the text after the number.
    fn wrong_unit(&self, unit: &str) -> String {
        let Some(first) = unit.chars().next() else {
            return "has no unit".into();
        };
        if first == ',' {
            return "has a comma, and numbers take a decimal point and no thousands separator"
                .into();
        }
        if first.is_ascii_digit() || "_'.".contains(first) {
            return "has a broken number, and numbers take one decimal point and no separator"
                .into();
        }
        if let Some(rest) = unit.strip_prefix('K')
            && self.find(&format!("k{rest}")).is_some()
        {
            return match self.find(&format!("Ki{rest}")) {
                Some(_) => format!(
                    "has the unclear prefix K, and k{rest} (1000) or Ki{rest} (1024) is meant"
                ),
                None => format!("has the unclear prefix K, and k{rest} is meant"),
            };
        }
        if self.find(&format!("{unit}/s")).is_some() {
            return "is an amount where a rate is needed ('/s' is missing)".into();
        }
        if unit.ends_with("/s") || unit.ends_with("ps") {
            return format!(
                "has the unknown unit {unit:?} (misspelt, or a rate where none belongs)"
            );
        }
        format!("has the unknown unit {unit:?}")
    }
}

/// Describes the error in a text that does not start with a number.
fn wrong_number(text: &str) -> &'static str {
    let word = text.trim_start_matches('+').to_lowercase();
    if text.starts_with(['-', '\u{2212}']) {
        "is negative"
    } else if word.starts_with("inf") || word.starts_with("nan") {
        "is not a finite number"
    } else {
        "does not start with a plain number"
    }
}

fn read(kind: &Kind, text: &str) -> Result<Exact> {
    let trimmed = text.trim();
    let (number, unit) =
        Exact::split(trimmed).ok_or_else(|| kind.refuse(text, wrong_number(trimmed)))?;
    let by = kind
        .find(unit)
        .ok_or_else(|| kind.refuse(text, &kind.wrong_unit(unit)))?;
    Ok(number.times(by))
}

fn parse_f64(kind: &Kind, text: &str) -> Result<f64> {
    let value = read(kind, text)?.to_f64();
    if value.is_finite() {
        Ok(value)
    } else {
        Err(kind.refuse(text, "is too large"))
    }
}

/// Reads a size such as `64 KiB` or `1.5 kB` as a whole number of bytes.
///
/// # Errors
/// [`Error::Question`] for a text outside the grammar, a part of a byte, or 2^63 B and more.
pub fn parse_bytes(text: &str) -> Result<u64> {
    match read(&BYTES, text)?.to_whole() {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(BYTES.refuse(text, "is too large (at most 9223372036854775807 B)")),
        Err(()) => Err(BYTES.refuse(text, "is not a whole number of bytes")),
    }
}

/// Reads a frame rate such as `6700/s` or `1.5 Mfps` in frames per second.
///
/// # Errors
/// [`Error::Question`] for a text outside the grammar.
pub fn parse_rate_fps(text: &str) -> Result<f64> {
    parse_f64(&RATE_FPS, text)
}

/// Reads a bit rate such as `9.4 Gb/s` or `100 MB/s` in bits per second.
///
/// # Errors
/// [`Error::Question`] for a text outside the grammar.
pub fn parse_bits_per_s(text: &str) -> Result<f64> {
    parse_f64(&BITS_PER_S, text)
}

/// Reads a time such as `50 us` or `17 ms` in seconds.
///
/// # Errors
/// [`Error::Question`] for a text outside the grammar.
pub fn parse_seconds(text: &str) -> Result<f64> {
    parse_f64(&SECONDS, text)
}

/// Reads a share such as `0.1 %` as a ratio from 0 to 1.
///
/// # Errors
/// [`Error::Question`] for a text outside the grammar or more than 100 %.
pub fn parse_ratio(text: &str) -> Result<f64> {
    let ratio = parse_f64(&RATIO, text)?;
    if ratio > 1.0 {
        return Err(RATIO.refuse(text, "is more than 100 %"));
    }
    Ok(ratio)
}

/// Significant digits people see.
const DIGITS: i32 = 4;
const SI_STEPS: &[(i32, &str)] = &[(12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, "")];
const LARGE_STEPS: &[(i32, &str)] = &[(9, "G"), (6, "M"), (0, "")];
const TIME_STEPS: &[(i32, &str)] = &[(0, ""), (-3, "m"), (-6, "µ"), (-9, "n")];

/// `value` ÷ 10^`step` with up to four significant digits, without trailing zeros.
fn plain(value: f64, step: i32) -> String {
    let text = format!("{:.*e}", DIGITS as usize - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().unwrap_or(0) - step + 1;
    let number = if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else if point < DIGITS {
        let (whole, fraction) = digits.split_at(point as usize); // positive here
        format!("{whole}.{fraction}")
    } else {
        format!("{digits}{}", "0".repeat((point - DIGITS) as usize)) // not negative here
    };
    let sign = if value < 0.0 { "-" } else { "" };
    if number.contains('.') {
        format!(
            "{sign}{}",
            number.trim_end_matches('0').trim_end_matches('.')
        )
    } else {
        format!("{sign}{number}")
    }
}

/// `value` with the largest prefix of `steps` that leaves at least 1 before the point.
fn scaled(value: f64, unit: &str, steps: &[(i32, &str)], infinite: &str) -> String {
    if value.is_nan() {
        return "–".into();
    }
    if value.is_infinite() {
        return infinite.into();
    }
    if value == 0.0 {
        return format!("0{unit}");
    }
    let fitting = steps
        .iter()
        .find(|(step, _)| value.abs() >= 10f64.powi(*step));
    let (step, prefix) = fitting.or(steps.last()).copied().unwrap_or((0, ""));
    let unit = match prefix {
        "" => unit.to_owned(),
        _ => format!(" {prefix}{}", unit.trim_start()),
    };
    format!("{}{unit}", plain(value, step))
}

/// `65535 B`: a count, printed in full.
pub fn format_bytes(value_bytes: u64) -> String {
    format!("{value_bytes} B")
}

/// `6700/s`, `14.88 M/s`; infinite is `unlimited`, NaN is `–`.
pub fn format_rate_fps(value_fps: f64) -> String {
    scaled(value_fps, "/s", LARGE_STEPS, "unlimited")
}

/// `2.718 Gb/s`; infinite is `unlimited`, NaN is `–`.
pub fn format_bits_per_s(value_bps: f64) -> String {
    scaled(value_bps, " b/s", SI_STEPS, "unlimited")
}

/// `27.18 µs`; NaN is `–`.
pub fn format_seconds(value_s: f64) -> String {
    scaled(value_s, " s", TIME_STEPS, "∞")
}

/// `2.72 %`; NaN is `–`.
pub fn format_ratio(value: f64) -> String {
    scaled(value, " %", &[(-2, "")], "∞")
}

#[cfg(test)]
mod tests;
