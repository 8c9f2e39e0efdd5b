//! Progress of a campaign: a bar with the remaining time, or one line per run without a terminal.

use super::agenda::Agenda;
use super::reading::Reading;
use crate::error::Error;
use crate::plan::RunSpec;
use crate::plan::options::describe;
use crate::units::{format_bits_per_s, format_seconds};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Instant;

/// Weight of the newest run in the running ratio of real to estimated time.
const NEWEST: f64 = 0.2;

/// Progress on standard error.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    began: Instant,
    /// Real time of a run over its estimate, smoothed.
    slowness: f64,
    number: usize,
    total: usize,
    left: String,
}

impl Progress {
    /// Creates a progress bar on a terminal, or one line per run elsewhere.
    pub fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self {
            bar: terminal.then(bar),
            ..Self::quiet_one(false)
        }
    }

    /// Creates a progress that prints nothing.
    pub fn quiet() -> Self {
        Self::quiet_one(true)
    }

    fn quiet_one(quiet: bool) -> Self {
        Self {
            bar: None,
            quiet,
            began: Instant::now(),
            slowness: 1.0,
            number: 0,
            total: 0,
            left: String::new(),
        }
    }

    pub(super) fn begin(&mut self, agenda: &Agenda, spec: &RunSpec) {
        self.began = Instant::now();
        if self.quiet {
            return;
        }
        let ((least, least_s), (most, most_s)) = agenda.remaining();
        let done = agenda.done().len();
        self.number = done + 1;
        self.total = done + least.max(1);
        self.left = span(least_s * self.slowness, most_s * self.slowness);
        if let Some(bar) = &self.bar {
            bar.set_length((done + least.max(1)).max(done + usize::from(most > 0)) as u64);
            bar.set_position(done as u64);
            bar.set_message(format!("{} left; {}", self.left, asked(spec)));
        }
    }

    pub(super) fn end(&mut self, spec: &RunSpec, reading: &Reading) {
        let estimate_s = spec.point.estimate_s();
        let real = self.began.elapsed().as_secs_f64() / estimate_s;
        self.slowness += NEWEST * (real - self.slowness);
        if self.bar.is_none() {
            self.say(&format!("{}: {}", asked(spec), outcome(reading)));
        }
    }

    pub(super) fn failed(&self, spec: &RunSpec, error: &Error) {
        self.say(&format!("{}: left out: {error}", asked(spec)));
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        let line = format!(
            "[{}/{}] {text}; {} left",
            self.number, self.total, self.left
        );
        match &self.bar {
            Some(bar) => bar.println(line),
            None if self.quiet => {}
            None => eprintln!("{line}"),
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed} spent, {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(std::time::Duration::from_secs(1));
    bar
}

fn asked(spec: &RunSpec) -> String {
    let load = spec
        .load_bps
        .map(|load| format!(" {}", format_bits_per_s(load)));
    format!(
        "{}{}",
        describe(&spec.point.options),
        load.unwrap_or_default()
    )
}

fn outcome(reading: &Reading) -> String {
    let goodput = reading
        .values
        .get("goodput_bps")
        .map(|value| format_bits_per_s(*value));
    let latency = ["latency_mean_s", "rtt_half_mean_s"]
        .iter()
        .find_map(|name| reading.values.get(*name));
    let latency = latency.map(|value| format_seconds(*value));
    let flags = (!reading.flags.is_empty()).then(|| format!("flagged {}", reading.flags.join(" ")));
    let parts: Vec<String> = [goodput, latency, flags].into_iter().flatten().collect();
    if parts.is_empty() {
        "done".into()
    } else {
        parts.join(", ")
    }
}

/// Formats a time: `40 s`, `3 min`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..=99 => format!("{whole} s"),
        100..=5999 => format!("{} min", whole.div_ceil(60)),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Formats a range of times, or one time if both are equal.
pub fn span(least_s: f64, most_s: f64) -> String {
    let (least, most) = (duration(least_s), duration(most_s));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        assert_eq!(duration(40.2), "40 s");
        assert_eq!(duration(150.0), "3 min");
        assert_eq!(duration(7500.0), "2 h 5 min");
        assert_eq!(span(10.0, 10.2), "10 s");
        assert_eq!(span(10.0, 20.0), "10 s to 20 s");
    }
}
