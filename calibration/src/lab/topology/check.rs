//! Validation of topologies.

use super::{Class, Link, Topology};
use crate::error::{Error, Result, require};
use std::collections::{BTreeMap, BTreeSet};

/// Greatest length of a node's name. Interface names have at most 15 characters (IFNAMSIZ without
/// its final zero), and the prefix `to-` takes three.
const NODE_NAME_MAX: usize = 12;
/// Greatest length of a topology's name, which is part of file names and read by people.
const TOPOLOGY_NAME_MAX: usize = 40;
/// Greatest MTU of a limited link, in bytes. Its size table has an entry per byte, and must fit
/// into a netlink message.
const LIMITED_MTU_MAX: u32 = 16_000;

impl Topology {
    pub(super) fn check(&self) -> Result<()> {
        self.check_names()?;
        for link in &self.links {
            self.check_link(link)?;
        }
        self.check_wiring()?;
        self.check_losses()?;
        self.check_classes()?;
        self.check_clocks()
    }

    fn check_names(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        require(
            (1..=TOPOLOGY_NAME_MAX).contains(&self.name.len()) && self.name.chars().all(plain),
            || format!("its name must be 1 to {TOPOLOGY_NAME_MAX} of a to z, 0 to 9 and -"),
        )?;
        let mut seen = BTreeSet::new();
        for node in self.nodes() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            require(
                (1..=NODE_NAME_MAX).contains(&node.len()) && node.chars().all(plain),
                || {
                    format!(
                        "the name {node:?} must be 1 to {NODE_NAME_MAX} letters, digits and _, because its neighbours' interfaces are named after it"
                    )
                },
            )?;
            require(seen.insert(node), || {
                format!("two nodes are named {node:?}: give each its own name")
            })?;
        }
        let (hosts, links) = (self.hosts.len(), self.links.len());
        require((1..=250).contains(&hosts) && links <= 250, || {
            format!("it has {hosts} hosts and {links} links: give 1 to 250 of each")
        })
    }

    fn check_link(&self, link: &Link) -> Result<()> {
        let Link { a, b, .. } = link;
        for end in [a, b] {
            require(self.nodes().any(|node| node == end), || {
                format!("the link from {a:?} to {b:?} ends at no host or switch: name them first")
            })?;
        }
        require(a != b, || {
            format!("the link from {a:?} to itself leads nowhere: name two nodes")
        })?;
        let most = if link.rate_bps.is_some() {
            LIMITED_MTU_MAX
        } else {
            65_535
        };
        require((68..=most).contains(&link.mtu_bytes), || {
            format!(
                "the MTU of {} B between {a} and {b} cannot be set: give 68 B to {most} B",
                link.mtu_bytes
            )
        })?;
        require(
            link.rate_bps
                .is_none_or(|rate| (8e3..=4e11).contains(&rate)),
            || format!("the rate between {a} and {b} must lie between 8 kb/s and 400 Gb/s"),
        )?;
        let least = u64::from(crate::lab::shaping::burst_bytes(
            link.rate_bps.unwrap_or(0.0),
            link.mtu_bytes,
        ));
        require(
            link.queue_bytes
                .is_none_or(|queue| u64::from(queue) >= least),
            || format!("the queue between {a} and {b} must hold at least {least} B, one burst"),
        )?;
        let switch = self.is_switch(a) || self.is_switch(b);
        require(!link.fair || (switch && link.rate_bps.is_some()), || {
            format!(
                "the link between {a} and {b} cannot be fair: give it a switch's end and a rate"
            )
        })?;
        require(
            link.rate_bps.is_some() || link.queue_bytes.is_none(),
            || format!("the link between {a} and {b} has a queue and no rate: give both or none"),
        )
    }

    /// Checks that every node is connected, no two links are the same, switches form no ring, and
    /// no host has two links into one segment.
    fn check_wiring(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut segment: BTreeMap<&str, &str> = self
            .switches
            .iter()
            .map(|s| (s.as_str(), s.as_str()))
            .collect();
        for Link { a, b, .. } in &self.links {
            require(seen.insert((a.min(b), a.max(b))), || {
                format!(
                    "two links join {a} and {b}: give one, as interfaces are named after the neighbour"
                )
            })?;
            if let (Some(&of_a), Some(&of_b)) = (segment.get(a.as_str()), segment.get(b.as_str())) {
                require(of_a != of_b, || {
                    format!(
                        "the link from {a} to {b} closes a ring of switches, in which frames would circle: leave one out"
                    )
                })?;
                segment
                    .values_mut()
                    .filter(|of| **of == of_b)
                    .for_each(|of| *of = of_a);
            }
        }
        for node in self.nodes() {
            require(self.links_of(node).next().is_some(), || {
                format!("{node} has no link: connect it or leave it out")
            })?;
        }
        for host in &self.hosts {
            let joined: Vec<_> = self
                .links_of(host)
                .filter_map(|link| segment.get(link.peer_of(host)))
                .collect();
            let distinct: BTreeSet<_> = joined.iter().collect();
            require(distinct.len() == joined.len(), || {
                format!("{host} has two links into one segment: give it one a segment")
            })?;
        }
        Ok(())
    }

    fn linked(&self, a: &str, b: &str) -> Option<&Link> {
        let joins = |link: &&Link| (link.a == a && link.b == b) || (link.a == b && link.b == a);
        self.links.iter().find(joins)
    }

    fn check_losses(&self) -> Result<()> {
        for loss in &self.losses {
            let (host, from) = (&loss.host, &loss.from);
            require(
                self.hosts.contains(host) && self.linked(from, host).is_some(),
                || {
                    format!(
                        "the loss from {from} at {host} is on no link of a host: name a host and its neighbour"
                    )
                },
            )?;
            require((2..=1_000_000_000).contains(&loss.every), || {
                format!(
                    "the loss at {host} drops every {}th packet: give 2 to 1000000000",
                    loss.every
                )
            })?;
            require(loss.from_bytes <= 65_535, || {
                format!(
                    "the loss at {host} begins at {} B: give at most 65535 B",
                    loss.from_bytes
                )
            })?;
        }
        Ok(())
    }

    fn check_classes(&self) -> Result<()> {
        let mut ends: BTreeMap<(&str, &str), Vec<&Class>> = BTreeMap::new();
        for class in &self.classes {
            ends.entry((&class.from, &class.to))
                .or_default()
                .push(class);
        }
        for ((from, to), classes) in ends {
            let Some(rate_bps) = self.linked(from, to).and_then(|link| link.rate_bps) else {
                return Err(Error::question(format!(
                    "the classes from {from} to {to} are on no link with a rate: give the link and its rate"
                )));
            };
            let fair = self.linked(from, to).is_some_and(|link| link.fair);
            require(!(fair && self.is_switch(from)), || {
                format!("the link from {from} to {to} is fair and has classes: choose one")
            })?;
            check_shares(from, to, rate_bps, &classes)?;
            let mut points: Vec<u8> = classes
                .iter()
                .flat_map(|class| class.dscp.clone())
                .collect();
            points.sort_unstable();
            require(
                points.windows(2).all(|pair| pair[0] != pair[1])
                    && points.last().is_none_or(|last| *last < 64),
                || format!("the classes from {from} to {to} must name each DSCP once, 0 to 63"),
            )?;
            let defaults = classes.iter().filter(|class| class.dscp.is_empty()).count();
            require(defaults == 1, || {
                format!(
                    "{defaults} of the classes from {from} to {to} have `dscp = []`: give exactly one, for all other packets"
                )
            })?;
        }
        Ok(())
    }

    fn check_clocks(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for clock in &self.clocks {
            require(
                self.hosts.contains(&clock.host) && seen.insert(&clock.host),
                || {
                    format!(
                        "the clock of {:?} must be of a host, and be given once",
                        clock.host
                    )
                },
            )?;
            require(clock.ahead_s <= 1e9, || {
                format!(
                    "the clock of {} is ahead by more than 1e9 s: give less",
                    clock.host
                )
            })?;
        }
        Ok(())
    }
}

fn check_shares(from: &str, to: &str, rate_bps: f64, classes: &[&Class]) -> Result<()> {
    let sum: f64 = classes.iter().map(|class| class.rate_bps).sum();
    require(sum <= rate_bps * (1.0 + 1e-9), || {
        format!(
            "the classes from {from} to {to} are guaranteed more than the link has: lower their rates"
        )
    })?;
    for class in classes {
        require(
            8e3 <= class.rate_bps && class.rate_bps <= class.ceil_bps && class.ceil_bps <= rate_bps,
            || {
                format!(
                    "a class from {from} to {to} needs 8 kb/s <= rate <= ceil <= the link's rate"
                )
            },
        )?;
        require(class.priority <= 7, || {
            format!(
                "a class from {from} to {to} has priority {}: give 0 to 7",
                class.priority
            )
        })?;
    }
    Ok(())
}
