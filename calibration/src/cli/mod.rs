//! The command line: each command parses, calls one function, prints.

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

/// Measures an interconnect from application to application: goodput, one-way latency, CPU load and
/// loss of paced or unlimited frames over TCP, UDP, ZeroMQ or direct Ethernet, on both ends and over
/// the same window.
#[derive(Debug, Parser)]
#[command(
    name = "icprobe",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 done, and a run is flagged; 2 the question was wrong; 3 the peer or the network failed.\n\
                  Quantities carry their unit: \"1472 B\", \"64 KiB\", \"5 Gb/s\", \"1000/s\", \"200 ms\".\n\n\
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
    /// Make a key for both ends.
    Key(simple::Key),
    /// Answer runs of callers who hold the key.
    Serve(serve::Serve),
    /// Measure once and print one record, JSON on one line.
    Run(Box<run::Run>),
    /// Run a plan of many points; killed, the same command goes on where it stopped.
    Campaign(Box<campaign::CampaignArgs>),
    /// Set two runs or campaigns side by side, environments first.
    Compare(compare::CompareArgs),
    /// Build test networks of namespaces on this machine.
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// Measure the instrument itself: clock, sleep, own rate, loopback.
    Selfcheck(simple::Selfcheck),
    /// Print what this host is and how it is set.
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
