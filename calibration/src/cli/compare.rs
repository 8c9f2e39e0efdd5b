//! `icprobe compare`: compare two runs or campaigns.

use super::output::{print, print_json};
use crate::compare::{Comparison, Side, compare};
use crate::error::Result;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `icprobe compare`. The exit code is 1 if the environments differ.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Record file A: one JSON object, or one per line.
    a: PathBuf,
    /// Record file B; ratios are B / A.
    b: PathBuf,
    /// Options ignored when points are matched, e.g. "nagle,mtu_bytes".
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Quantities to show, named as in `result`. Default: the common ones that were measured.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    metric: Vec<String>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

impl CompareArgs {
    /// Compares and prints.
    ///
    /// # Errors
    /// [`crate::error::Error::Question`] if a file contains no records.
    pub fn run(self) -> Result<u8> {
        let (a, b) = (Side::load(&self.a)?, Side::load(&self.b)?);
        let comparison: Comparison = compare(&a, &b, &self.ignore, &self.metric);
        if self.json {
            print_json(&comparison)?;
        } else {
            print(comparison.text(&self.metric).trim_end())?;
        }
        Ok(u8::from(!comparison.environment.is_empty()))
    }
}
