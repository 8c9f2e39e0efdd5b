//! `icprobe run`: measure once and print one record.

use super::output::print;
use crate::error::{Error, Result};
use crate::host::privileges::drop_unneeded;
use crate::interrupt::stop_at_end;
use crate::run::options::RunOptions;
use crate::run::{Target, run};
use crate::session::DEFAULT_PORT;
use crate::session::key::Key;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

/// Arguments of `icprobe run`.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    options: RunOptions,
}

/// Address, port and key of the responder.
#[derive(Debug, Args)]
#[command(next_help_heading = "The other end")]
struct TargetArgs {
    /// Address of the host where `icprobe serve` runs.
    #[arg(long, value_name = "ADDRESS")]
    to: IpAddr,
    /// Port of the control connection.
    #[arg(long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Key file; both ends need the same key.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Network interface for direct Ethernet. Default: the interface that routes to ADDRESS.
    #[arg(long)]
    interface: Option<String>,
}

impl Run {
    /// Measures and prints the record. The exit code is 1 if the run is flagged.
    pub fn run(self) -> Result<u8> {
        let key = Key::load(&self.target.key)?;
        drop_unneeded();
        let stop = stop_at_end()?;
        let question = self.options.question(Target {
            address: self.target.to,
            port: self.target.port,
            interface: self.target.interface,
        })?;
        let record = run(&question, &key, &stop)?;
        let line = serde_json::to_string(&record)
            .map_err(|e| Error::question(format!("cannot write the record as JSON: {e}")))?;
        print(&line)?;
        for flag in &record.flags {
            eprintln!("icprobe: this run is flagged {flag}");
        }
        Ok(u8::from(!record.flags.is_empty()))
    }
}
