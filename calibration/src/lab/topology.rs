//! Topology of a test network: hosts, switches, links, losses, classes and clocks.
//!
//! The file is TOML with quantities as texts (`rate = "100 Mb/s"`). Reading refuses unknown keys
//! and every network that cannot be built or would differ from its description.

mod check;
mod known;

use crate::error::{Context, Error, Result};
use crate::units;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Ethernet's usual maximum transmission unit, in bytes.
const MTU_BYTES: u64 = 1500;

/// A network that can be built.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// Its name: part of the names of its namespaces.
    pub name: String,
    /// Description.
    pub description: String,
    /// Line rate to which loads like `94 %` refer, in b/s; default: the rate of the slowest link.
    pub line_rate_bps: Option<f64>,
    /// The hosts, each a network namespace.
    pub hosts: Vec<String>,
    /// The switches, each a bridge in a network namespace of its own.
    pub switches: Vec<String>,
    /// The links, each a veth pair.
    pub links: Vec<Link>,
    /// Packets dropped on purpose.
    pub losses: Vec<Loss>,
    /// Classes by DSCP.
    pub classes: Vec<Class>,
    /// Hosts whose clocks are ahead.
    pub clocks: Vec<Clock>,
    /// The text it was read from.
    pub(super) text: String,
}

/// A full-duplex link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate on the wire in each direction, with preamble and gap, in b/s; `None` is unlimited.
    pub rate_bps: Option<f64>,
    /// Maximum transmission unit, in bytes.
    pub mtu_bytes: u32,
    /// Size of the queue of a limited link, in wire bytes; `None`: the default of the sending end.
    pub queue_bytes: Option<u32>,
    /// Whether the switch's end serves its sending hosts in turn, like a switch that arbitrates
    /// between its inputs. Otherwise it serves first come, first served, and the streams' phases
    /// decide whose packets are dropped.
    pub fair: bool,
    /// Whether senders may hand over several segments as one packet (GSO).
    pub gso: bool,
    /// Other features of both interfaces, by their names in `ethtool -K`.
    pub offloads: BTreeMap<String, bool>,
}

/// Packets to which a loss applies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LossProtocol {
    /// UDP packets, fragments each by themselves.
    Udp,
    /// TCP packets.
    Tcp,
    /// Direct Ethernet frames of this tool's EtherType.
    Ethernet,
}

/// Loss of every n-th packet that reaches a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// Host for which the packets are dropped.
    pub host: String,
    /// Neighbour at the other end of the link on which the packets arrive.
    pub from: String,
    /// Packets to which the loss applies.
    pub protocol: LossProtocol,
    /// Drop interval n; the first dropped packet is the n-th.
    pub every: u32,
    /// Least size of a counted packet above its Ethernet header, in bytes; smaller packets pass.
    pub from_bytes: u32,
}

/// Traffic class: share of one direction of a link, for packets with certain DSCPs.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The sending end.
    pub from: String,
    /// The receiving end.
    pub to: String,
    /// DSCPs of the class, 0…63; empty for all packets that no other class takes.
    pub dscp: Vec<u8>,
    /// Guaranteed rate, in wire bits per second.
    pub rate_bps: f64,
    /// Greatest rate, in wire bits per second.
    pub ceil_bps: f64,
    /// Priority for borrowing unused capacity, 0 (first) to 7.
    pub priority: u8,
}

/// Host with a shifted clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// The host.
    pub host: String,
    /// Offset by which its monotonic clock is ahead, in seconds.
    pub ahead_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopologyText {
    name: String,
    description: String,
    line_rate: Option<String>,
    hosts: Vec<String>,
    #[serde(default)]
    switches: Vec<String>,
    links: Vec<LinkText>,
    #[serde(default)]
    loss: Vec<LossText>,
    #[serde(default)]
    classes: Vec<ClassText>,
    #[serde(default)]
    clocks: Vec<ClockText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkText {
    a: String,
    b: String,
    rate: Option<String>,
    mtu: Option<String>,
    queue: Option<String>,
    #[serde(default)]
    fair: bool,
    gso: Option<bool>,
    #[serde(default)]
    offloads: BTreeMap<String, bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LossText {
    host: String,
    from: Option<String>,
    protocol: LossProtocol,
    every: u32,
    from_size: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassText {
    from: String,
    to: String,
    dscp: Vec<u8>,
    rate: String,
    ceil: Option<String>,
    priority: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockText {
    host: String,
    ahead: String,
}

impl Topology {
    /// Reads a topology from the text of its file.
    ///
    /// # Errors
    /// [`Error::Question`] that names the mistake in the text or the network.
    pub fn parse(text: &str) -> Result<Self> {
        let read: TopologyText = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(0, |span| text[..span.start].lines().count());
            let what = error.message().replace('\n', ", ");
            Error::question(format!(
                "the topology cannot be read near line {line}: {what}"
            ))
        })?;
        let name = read.name.clone();
        let topology = read
            .resolve(text)
            .and_then(|topology| topology.check().map(|()| topology));
        topology.map_err(|error| Error::question(format!("the topology {name:?}: {error}")))
    }

    /// Loads a built-in topology by its name, or a topology file by its path.
    ///
    /// # Errors
    /// [`Error::Question`] for an unknown name, an unreadable file, or a wrong topology.
    pub fn load(name_or_path: &str) -> Result<Self> {
        if let Some(text) = known::text_of(name_or_path) {
            return Self::parse(text);
        }
        if !name_or_path.contains('/') && !name_or_path.ends_with(".toml") {
            return Err(Error::question(format!(
                "there is no topology {name_or_path:?}: give the path of a TOML file or one of {}",
                Self::known_names().join(", ")
            )));
        }
        let text = std::fs::read_to_string(Path::new(name_or_path))
            .or_question(format_args!("the topology {name_or_path:?} cannot be read"))?;
        Self::parse(&text)
    }

    /// Names of the built-in topologies.
    pub fn known_names() -> Vec<&'static str> {
        known::names()
    }

    /// Copies the network under another name, so that both networks can be up at the same time.
    ///
    /// # Errors
    /// [`Error::Question`] for an invalid name.
    pub fn renamed(&self, name: &str) -> Result<Self> {
        let mut table: toml::Table = toml::from_str(&self.text).or_question("the topology")?;
        table.insert("name".into(), name.into());
        Self::parse(&toml::to_string(&table).or_question("the topology")?)
    }

    /// Hosts and switches, in this order.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().chain(&self.switches).map(String::as_str)
    }

    /// True for a switch of this network.
    pub fn is_switch(&self, node: &str) -> bool {
        self.switches.iter().any(|name| name == node)
    }

    /// The links of a node, in the order of the file.
    pub fn links_of<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a Link> {
        self.links
            .iter()
            .filter(move |link| link.a == node || link.b == node)
    }
}

impl Link {
    /// The other end.
    pub fn peer_of(&self, node: &str) -> &str {
        if self.a == node { &self.b } else { &self.a }
    }
}

impl TopologyText {
    fn resolve(self, text: &str) -> Result<Topology> {
        let limited = self.links.iter().any(|link| link.rate.is_some());
        let links: Vec<Link> = self
            .links
            .into_iter()
            .map(|link| link.resolve(!limited))
            .collect::<Result<_>>()?;
        let slowest = links
            .iter()
            .filter_map(|link| link.rate_bps)
            .reduce(f64::min);
        let stated = self.line_rate.as_deref().map(units::parse_bits_per_s);
        let losses = self.loss.into_iter().map(|loss| loss.resolve(&links));
        Ok(Topology {
            line_rate_bps: stated.transpose()?.or(slowest),
            losses: losses.collect::<Result<_>>()?,
            classes: self
                .classes
                .into_iter()
                .map(ClassText::resolve)
                .collect::<Result<_>>()?,
            clocks: self
                .clocks
                .into_iter()
                .map(ClockText::resolve)
                .collect::<Result<_>>()?,
            name: self.name,
            description: self.description,
            hosts: self.hosts,
            switches: self.switches,
            links,
            text: text.to_owned(),
        })
    }
}

/// Parses a size that must fit into 32 bits, as the kernel requires.
fn small_bytes(text: &str) -> Result<u32> {
    let bytes = units::parse_bytes(text)?;
    u32::try_from(bytes)
        .map_err(|_| Error::question(format!("{text:?} is too large: give at most 4 GB")))
}

impl LinkText {
    fn resolve(self, gso: bool) -> Result<Link> {
        let mtu = self.mtu.unwrap_or_else(|| units::format_bytes(MTU_BYTES));
        Ok(Link {
            rate_bps: self
                .rate
                .as_deref()
                .map(units::parse_bits_per_s)
                .transpose()?,
            mtu_bytes: small_bytes(&mtu)?,
            queue_bytes: self.queue.as_deref().map(small_bytes).transpose()?,
            fair: self.fair,
            gso: self.gso.unwrap_or(gso),
            offloads: self.offloads,
            a: self.a,
            b: self.b,
        })
    }
}

impl LossText {
    fn resolve(self, links: &[Link]) -> Result<Loss> {
        let own = |link: &&Link| link.a == self.host || link.b == self.host;
        let from = match self.from {
            Some(from) => from,
            None => match links.iter().filter(own).collect::<Vec<_>>()[..] {
                [link] => link.peer_of(&self.host).to_owned(),
                _ => {
                    return Err(Error::question(format!(
                        "the loss at {:?} needs `from`, the neighbour its packets come from, as it has not just one link",
                        self.host
                    )));
                }
            },
        };
        Ok(Loss {
            from,
            from_bytes: self.from_size.as_deref().map_or(Ok(0), small_bytes)?,
            host: self.host,
            protocol: self.protocol,
            every: self.every,
        })
    }
}

impl ClassText {
    fn resolve(self) -> Result<Class> {
        let rate_bps = units::parse_bits_per_s(&self.rate)?;
        let ceil = self
            .ceil
            .as_deref()
            .map(units::parse_bits_per_s)
            .transpose()?;
        Ok(Class {
            from: self.from,
            to: self.to,
            dscp: self.dscp,
            rate_bps,
            ceil_bps: ceil.unwrap_or(rate_bps),
            priority: self.priority,
        })
    }
}

impl ClockText {
    fn resolve(self) -> Result<Clock> {
        Ok(Clock {
            ahead_s: units::parse_seconds(&self.ahead)?,
            host: self.host,
        })
    }
}

#[cfg(test)]
mod tests;
