//! Interface names, hardware addresses and IP addresses of a test network.
//!
//! All names and addresses follow from the topology alone, so two labs of one topology are equal.
//! Nodes that a frame can reach through switches form a segment. Segment s has the network
//! 10.s.0.0/24. Its k-th host has the address 10.s.0.k and the locally administered MAC address
//! 02:00:00:00:s:k.

use super::topology::Topology;
use std::net::Ipv4Addr;

/// One host's end of one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Port {
    pub host: String,
    pub neighbour: String,
    pub segment: u8,
    pub number: u8,
}

impl Port {
    pub fn interface(&self) -> String {
        interface_name(&self.neighbour)
    }

    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.segment, 0, self.number)
    }

    pub fn mac(&self) -> String {
        format!("02:00:00:00:{:02x}:{:02x}", self.segment, self.number)
    }
}

/// Name of the interface that leads to a neighbour.
pub(super) fn interface_name(neighbour: &str) -> String {
    format!("to-{neighbour}")
}

/// Link ends at hosts, grouped by host.
pub(super) fn ports(topology: &Topology) -> Vec<Port> {
    let segment_of_link = segments(topology);
    let mut counts = vec![0u8; topology.links.len() + 1];
    let mut ports = Vec::new();
    for host in &topology.hosts {
        for (link, segment) in topology.links.iter().zip(&segment_of_link) {
            if link.a == *host || link.b == *host {
                counts[usize::from(*segment)] += 1; // at most 250 hosts, each once a segment
                ports.push(Port {
                    host: host.clone(),
                    neighbour: link.peer_of(host).to_owned(),
                    segment: *segment,
                    number: counts[usize::from(*segment)],
                });
            }
        }
    }
    ports
}

/// Number of the segment of each link, counted from 1 in the order of the file.
fn segments(topology: &Topology) -> Vec<u8> {
    let links = &topology.links;
    let mut segment: Vec<usize> = (0..links.len()).collect();
    for switch in &topology.switches {
        let joined: Vec<usize> = (0..links.len())
            .filter(|&i| links[i].a == *switch || links[i].b == *switch)
            .map(|i| segment[i])
            .collect();
        let least = joined.iter().min().copied().unwrap_or(0);
        for of in &mut segment {
            if joined.contains(of) {
                *of = least;
            }
        }
    }
    let mut order = segment.clone();
    order.sort_unstable();
    order.dedup();
    let number = |of: &usize| order.iter().position(|s| s == of).unwrap_or(0) + 1;
    segment
        .iter()
        .map(|of| u8::try_from(number(of)).unwrap_or(u8::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_behind_switches_share_a_segment() {
        let text = r#"
            name = "t"
            description = "two segments"
            hosts = ["A", "B", "C"]
            switches = ["S", "T"]
            links = [{ a = "A", b = "C" }, { a = "A", b = "S" }, { a = "S", b = "T" }, { a = "B", b = "T" }]
        "#;
        let ports = ports(&Topology::parse(text).expect("a topology"));
        let seen: Vec<_> = ports
            .iter()
            .map(|p| (p.host.as_str(), p.interface(), p.address().to_string()))
            .collect();
        let truth = [
            ("A", "to-C", "10.1.0.1"),
            ("A", "to-S", "10.2.0.1"),
            ("B", "to-T", "10.2.0.2"),
            ("C", "to-A", "10.1.0.2"),
        ];
        assert_eq!(seen, truth.map(|(h, i, a)| (h, i.to_owned(), a.to_owned())));
        assert_eq!(ports[2].mac(), "02:00:00:00:02:02");
    }
}
