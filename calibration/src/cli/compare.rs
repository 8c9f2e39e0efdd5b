//! `icprobe compare`: two runs or campaigns side by side.

use super::output::{print, print_json};
use crate::compare::{Comparison, Side, compare};
use crate::error::Result;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `icprobe compare`; exit code 1 where the environments differ.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Records: one JSON object or one a line.
    a: PathBuf,
    /// The records to set beside them; ratios are theirs over those of A.
    b: PathBuf,
    /// Options that may differ between points that are compared, "nagle,mtu_bytes".
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Quantities to show, by their names in `result`; else the usual ones that are there.
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
    /// [`crate::error::Error::Question`] for a file that holds no records.
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
