//! `icprobe lab`: test networks on this machine.

use super::output::print_json;
use crate::error::{Context, Error, Result};
use crate::lab::{self, Lab, Topology};
use clap::Subcommand;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Serialize;
use std::os::unix::process::{CommandExt, ExitStatusExt};

/// Subcommands of `icprobe lab`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum LabCommand {
    /// Build a test network and print its hosts as JSON. Replaces a network of the same name.
    Up {
        /// Name of a built-in topology (see `icprobe lab list`), or path of a TOML file.
        topology: String,
        /// Name of the test network. Default: the name of the topology. A topology can be up several times
        /// under different names.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
    },
    /// Remove a test network and kill all processes in it.
    Down {
        /// Name of the test network, or path of the TOML file it was built from.
        topology: String,
    },
    /// Print the running test networks and the built-in topologies as JSON.
    List,
    /// Print a topology as JSON without building it.
    Show {
        /// Name of a built-in topology (see `icprobe lab list`), or path of a TOML file.
        topology: String,
    },
    /// Run a command on a host of a test network.
    Exec {
        /// Name of the test network. Required if several test networks have a host of this name.
        #[arg(long, value_name = "NAME")]
        lab: Option<String>,
        /// Host name, as HOST or LAB/HOST.
        host: String,
        /// The command and its arguments, after `--`.
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Print the counters of the drop rules, interfaces and queues of a test network as JSON.
    Counters {
        /// Name of the test network, or path of the TOML file it was built from.
        topology: String,
    },
}

#[derive(Serialize)]
struct Listing {
    up: Vec<lab::Description>,
    topologies: Vec<Known>,
}

#[derive(Serialize)]
struct Known {
    name: &'static str,
    description: String,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    description: String,
    hosts: Vec<String>,
    switches: Vec<String>,
    line_rate_bps: Option<f64>,
    burst_bytes: Option<u32>,
    mtu_bytes: u32,
}

impl LabCommand {
    /// Runs the subcommand and returns the exit code: 0, or for `exec` that of the command.
    ///
    /// # Errors
    /// Errors of the lab or the operating system.
    pub fn run(self) -> Result<u8> {
        match self {
            Self::Up { topology, name } => {
                let topology = Topology::load(&topology)?;
                let topology = name.map_or(Ok(topology.clone()), |name| topology.renamed(&name))?;
                print(&lab::up(&topology)?.describe())
            }
            Self::Down { topology } => lab::down(&name_of(&topology)?).map(|()| 0),
            Self::List => print(&listing()?),
            Self::Show { topology } => print(&shown(Topology::load(&topology)?)),
            Self::Exec { lab, host, command } => exec(lab, &host, &command),
            Self::Counters { topology } => print(&Lab::open(&name_of(&topology)?)?.counters()?),
        }
    }
}

/// Returns the lab's name, given the name or the TOML file it was built from.
fn name_of(topology: &str) -> Result<String> {
    if topology.ends_with(".toml") || topology.contains('/') {
        return Topology::load(topology).map(|topology| topology.name);
    }
    Ok(topology.to_owned())
}

fn print(value: &impl Serialize) -> Result<u8> {
    print_json(value).map(|()| 0)
}

fn listing() -> Result<Listing> {
    let known = Topology::known_names().into_iter().map(|name| {
        let description = Topology::load(name)?.description;
        Ok(Known { name, description })
    });
    Ok(Listing {
        up: lab::list()?,
        topologies: known.collect::<Result<_>>()?,
    })
}

fn shown(topology: Topology) -> Shown {
    Shown {
        line_rate_bps: topology.line_rate_bps,
        burst_bytes: topology.burst_bytes(),
        mtu_bytes: topology.mtu_bytes(),
        name: topology.name,
        description: topology.description,
        hosts: topology.hosts,
        switches: topology.switches,
    }
}

fn exec(lab: Option<String>, host: &str, command: &[String]) -> Result<u8> {
    let (lab, host) = match (lab, host.split_once('/')) {
        (Some(lab), _) => (name_of(&lab)?, host),
        (None, Some((lab, host))) => (lab.to_owned(), host),
        (None, None) => (only_lab_with(host)?, host),
    };
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| Error::question("give a command after --"))?;
    let mut command = Lab::open(&lab)?.command(host, program)?;
    command.args(arguments);
    // SAFETY: between fork and exec, the closure makes one system call and allocates no memory.
    unsafe { command.pre_exec(die_with_parent) };
    let status = command.status().or_question(format_args!(
        "the command {program:?} cannot be run on {host}"
    ))?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn die_with_parent() -> std::io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

fn only_lab_with(host: &str) -> Result<String> {
    let has = |lab: &lab::Description| lab.hosts.iter().any(|h| h.name == host);
    let names: Vec<String> = lab::list()?
        .into_iter()
        .filter(has)
        .map(|lab| lab.name)
        .collect();
    match &names[..] {
        [name] => Ok(name.clone()),
        [] => Err(Error::question(format!(
            "no lab with a host {host:?} is up: build one with `icprobe lab up TOPOLOGY`"
        ))),
        _ => Err(Error::question(format!(
            "several labs have a host {host:?} ({}): choose one with --lab",
            names.join(", ")
        ))),
    }
}
