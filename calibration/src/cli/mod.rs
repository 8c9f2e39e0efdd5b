//! Command line: each command parses its arguments, calls one function and prints the result.

mod campaign;
mod compare;
mod lab;
mod output;
mod run;
mod schema;
mod serve;
mod simple;

use crate::error::Error;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Measures an interconnect between two applications: goodput, one-way latency, CPU load and loss.
/// Sends paced or unlimited frames over TCP, UDP, ZeroMQ or direct Ethernet. Both ends are measured over the
/// same window.
#[derive(Debug, Parser)]
#[command(
    name = "icprobe",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 success, but a run is flagged; 2 invalid input; 3 the peer or the network failed.\n\
                  Quantities need a unit: \"1472 B\", \"64 KiB\", \"5 Gb/s\", \"1000/s\", \"200 ms\".\n\n\
                  First steps, on one machine:\n  \
                  icprobe key probe.key\n  \
                  icprobe serve --bind 127.0.0.1 --key probe.key &\n  \
                  icprobe run --to 127.0.0.1 --key probe.key --protocol udp --payload \"1472 B\" --rate 1000/s"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a key file for both ends.
    Key(simple::Key),
    /// Wait for callers that hold the key and answer their runs (responder).
    Serve(serve::Serve),
    /// Measure once and print one record as a line of JSON.
    Run(Box<run::Run>),
    /// Measure all points of a plan. If killed, the same command resumes the campaign.
    Campaign(Box<campaign::CampaignArgs>),
    /// Compare two runs or campaigns, first their environments.
    Compare(compare::CompareArgs),
    /// Build test networks from network namespaces on this machine.
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// Measure the limits of icprobe on this host: clock, sleep, send rate, loopback.
    Selfcheck(simple::Selfcheck),
    /// Print the hardware and settings of this host.
    Environment(simple::EnvironmentOf),
    /// Print the JSON Schema of a record.
    Schema(simple::Schema),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command.run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("icprobe: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

impl Command {
    fn run(self) -> Result<u8, Error> {
        match self {
            Self::Key(command) => command.run(),
            Self::Serve(command) => command.run(),
            Self::Run(command) => command.run(),
            Self::Campaign(command) => command.run(),
            Self::Compare(command) => command.run(),
            Self::Lab(command) => command.run(),
            Self::Selfcheck(command) => command.run(),
            Self::Environment(command) => command.run(),
            Self::Schema(command) => command.run(),
        }
    }
}
