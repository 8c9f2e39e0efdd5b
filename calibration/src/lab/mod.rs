//! Test networks on one machine: hosts and switches as network namespaces, links as veth pairs,
//! with rates, classes, losses and clocks that are known because they were set.
//!
//! A lab outlives the command that built it, and is found by its name. It needs root, or a kernel
//! that allows user namespaces. Its addresses are not visible outside. `up` rebuilds a lab that is
//! up or was left behind by a crash. `down` removes everything.

mod address;
mod build;
pub mod counters;
mod door;
mod holder;
pub mod loss;
mod processes;
mod shaping;
mod state;
mod tool;
pub mod topology;

use crate::error::{Context, Error, Result};
use door::Door;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state::{Runtime, State};
use std::ffi::OsStr;
use std::net::IpAddr;
use std::process::Command;
pub use topology::Topology;

/// Test network that is up.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    topology: Topology,
    door: Door,
    hosts: Vec<LabHost>,
}

/// A host of a test network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabHost {
    /// Its name in the topology.
    pub name: String,
    /// The name of its network namespace (for `ip netns`, where the lab was built by root).
    pub namespace: String,
    /// Its addresses, one per link, in the order of the topology.
    pub addresses: Vec<IpAddr>,
    /// The interface with the first address.
    pub interface: String,
    /// All its interfaces.
    pub interfaces: Vec<LabInterface>,
}

/// A host's end of one link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabInterface {
    /// Its name in the host.
    pub name: String,
    /// The node at the other end.
    pub neighbour: String,
    /// Its hardware address.
    pub mac: String,
    /// Its IP address.
    pub address: IpAddr,
}

/// Description of a lab, printed as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The lab.
    pub name: String,
    /// Description.
    pub description: String,
    /// Line rate to which loads in percent refer, in b/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_rate_bps: Option<f64>,
    /// Whether the lab is complete. If false, it was left behind by a crash: build it again or take it down.
    pub stands: bool,
    /// Its hosts.
    pub hosts: Vec<LabHost>,
}

/// Builds a test network; replaces a network of the same name.
///
/// # Errors
/// [`Error::Question`] if labs cannot be built on this machine, [`Error::Peer`] if a tool fails.
/// Then nothing of the network remains.
pub fn up(topology: &Topology) -> Result<Lab> {
    let runtime = Runtime::here()?;
    let lock = runtime.lock()?;
    let name = &topology.name;
    runtime.clear(name, &lock)?;
    let mut state = State {
        mark: new_mark(name)?,
        topology: topology.text.clone(),
        built: false,
    };
    runtime.write(name, &state)?;
    let built = runtime.new_door(name, &state.mark).and_then(|door| {
        let lab = Lab::new(topology.clone(), door);
        lab.build(&lock)?;
        state.built = true;
        runtime.write(name, &state)?;
        Ok(lab)
    });
    if built.is_err() {
        // Report the error of the build, not of the cleanup.
        let _ = runtime.clear(name, &lock);
    }
    built
}

/// Removes a test network: its processes, namespaces, links, rules and files.
///
/// # Errors
/// [`Error::Question`] if there is no network of this name.
pub fn down(name: &str) -> Result<()> {
    let runtime = Runtime::here()?;
    let lock = runtime.lock()?;
    if runtime.clear(name, &lock)? {
        return Ok(());
    }
    Err(not_up(name))
}

/// All test networks of this user, by name.
///
/// # Errors
/// [`Error::Question`] if the folder of state files cannot be used.
pub fn list() -> Result<Vec<Description>> {
    let runtime = Runtime::here()?;
    let _lock = runtime.lock()?;
    let described = runtime.names().into_iter().map(|name| {
        let found = find(&runtime, &name);
        let topology = runtime
            .read(&name)
            .and_then(|state| Topology::parse(&state.topology).ok());
        Description {
            description: topology
                .as_ref()
                .map_or(String::new(), |t| t.description.clone()),
            line_rate_bps: topology.and_then(|t| t.line_rate_bps),
            stands: found.is_some(),
            hosts: found.map_or(Vec::new(), |lab| lab.hosts),
            name,
        }
    });
    Ok(described.collect())
}

fn not_up(name: &str) -> Error {
    Error::question(format!(
        "no lab {name:?} is up: build it with `icprobe lab up {name}`"
    ))
}

fn new_mark(name: &str) -> Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).or_peer("no random numbers")?;
    Ok(format!("{name}-{:016x}", u64::from_ne_bytes(random)))
}

fn find(runtime: &Runtime, name: &str) -> Option<Lab> {
    let state = runtime.read(name).filter(|state| state.built)?;
    let topology = Topology::parse(&state.topology).ok()?;
    let door = runtime.old_door(name, &state.mark, topology.nodes())?;
    Some(Lab::new(topology, door))
}

impl Lab {
    fn new(topology: Topology, door: Door) -> Self {
        let ports = address::ports(&topology);
        let hosts = topology.hosts.iter().map(|host| {
            let own = ports.iter().filter(|port| port.host == *host);
            let interface = |port: &address::Port| LabInterface {
                name: port.interface(),
                neighbour: port.neighbour.clone(),
                mac: port.mac(),
                address: port.address().into(),
            };
            let interfaces: Vec<LabInterface> = own.map(interface).collect();
            LabHost {
                name: host.clone(),
                namespace: door.namespace(host),
                addresses: interfaces.iter().map(|i| i.address).collect(),
                interface: interfaces.first().map_or(String::new(), |i| i.name.clone()),
                interfaces,
            }
        });
        let hosts = hosts.collect();
        Self {
            topology,
            door,
            hosts,
        }
    }

    /// Opens a test network that was built before.
    ///
    /// # Errors
    /// [`Error::Question`] if no network of this name is up.
    pub fn open(name: &str) -> Result<Self> {
        let runtime = Runtime::here()?;
        let lab = find(&runtime, name);
        if lab.is_none() {
            // Dropping the lock removes the folder if it is empty.
            drop(runtime.lock()?);
        }
        lab.ok_or_else(|| not_up(name))
    }

    /// A host by its name.
    pub fn host(&self, name: &str) -> Option<&LabHost> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// Returns a command that runs on a host of the lab: in its network namespace, with its
    /// `/sys/class/net` and its clock. `down` kills it if it still runs.
    ///
    /// Joining a user namespace clears the parent-death signal. A caller that needs the signal sets
    /// it on the returned command by `pre_exec`; the steps of this command run first.
    ///
    /// # Errors
    /// [`Error::Question`] for an unknown host, [`Error::Peer`] if the lab is gone.
    pub fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Result<Command> {
        if self.host(host).is_none() {
            return Err(Error::question(format!(
                "the lab {} has no host {host:?}: name one of {}",
                self.topology.name,
                self.topology.hosts.join(", ")
            )));
        }
        let clock = self.topology.clocks.iter().find(|clock| clock.host == host);
        self.door
            .within(host, program, clock.map_or(0.0, |clock| clock.ahead_s))
    }

    /// Describes the lab.
    pub fn describe(&self) -> Description {
        Description {
            name: self.topology.name.clone(),
            description: self.topology.description.clone(),
            line_rate_bps: self.topology.line_rate_bps,
            stands: true,
            hosts: self.hosts.clone(),
        }
    }
}
