//! Limits a link to a rate in wire bits, with commands for tc's batch mode.
//!
//! A packet counts with its size on the wire: 7 + 1 B preamble, 14 B header, at least 46 B payload,
//! 4 B check sequence and 12 B gap (IEEE Std 802.3-2022, 3.1.1 and 4.4.2). So it counts at least 84
//! B, otherwise payload + 38 B. The kernel counts header and payload, so a size table adds 24 B.
//! The table has an entry per byte, since the default table rounds up to multiples of 4 B.

use super::address::{Port, interface_name, ports};
use super::topology::{Class, Link, Topology};

/// Ethernet overhead per packet on the wire, in bytes.
const WIRE_OVERHEAD_BYTES: u32 = 38;
/// Part of the overhead that the kernel does not count, in bytes.
const UNCOUNTED_BYTES: u32 = 24;
/// Minimum size of a packet on the wire, in bytes.
const WIRE_LEAST_BYTES: u32 = 84;
/// Depth of a link's token bucket, as a time at the link's rate. A timer that is late by up to this
/// time loses no capacity. In return, a window may once exceed the rate by this much.
const BURST_S: f64 = 1e-3;
/// Default queue of a host, in bytes. It is larger than the sockets' send buffers, so that full
/// buffers block the senders and nothing is dropped, as with a network card.
const HOST_QUEUE_BYTES: u32 = 4 << 20;
/// Default queue of a switch's port, in bytes; packets that do not fit are dropped.
const SWITCH_QUEUE_BYTES: u32 = 128 << 10;
/// Number of the tc class of the first share; the class of the whole link has the number 1.
const FIRST_CLASS: usize = 0x10;

/// Depth of a link's token bucket, in bytes: the bytes of a millisecond, and at least two packets.
pub(super) fn burst_bytes(rate_bps: f64, mtu_bytes: u32) -> u32 {
    let timer = (rate_bps / 8.0 * BURST_S).ceil() as u32; // saturates, and rates are limited
    timer.max(2 * (mtu_bytes + WIRE_OVERHEAD_BYTES))
}

impl Topology {
    /// Depth of the token bucket of the slowest limited link, in bytes; `None` if no link is
    /// limited.
    pub fn burst_bytes(&self) -> Option<u32> {
        let limited = self
            .links
            .iter()
            .filter_map(|link| Some((link.rate_bps?, link)));
        let slowest = limited.min_by(|(one, _), (other, _)| one.total_cmp(other));
        slowest.map(|(rate_bps, link)| burst_bytes(rate_bps, link.mtu_bytes))
    }

    /// Least MTU of all links, in bytes.
    pub fn mtu_bytes(&self) -> u32 {
        let least = self.links.iter().map(|link| link.mtu_bytes).min();
        least.expect("a topology has a link")
    }
}

/// Commands for tc that limit the rate at which `node` sends on each of its links.
pub(super) fn script(topology: &Topology, node: &str) -> String {
    let limits = topology.links_of(node).filter_map(|link| {
        let rate_bps = link.rate_bps?;
        let peer = link.peer_of(node);
        let default = if topology.is_switch(node) {
            SWITCH_QUEUE_BYTES
        } else {
            HOST_QUEUE_BYTES
        };
        let least = burst_bytes(rate_bps, link.mtu_bytes);
        let limit = Limit {
            interface: interface_name(peer),
            rate_bps,
            queue_bytes: link.queue_bytes.unwrap_or(default.max(2 * least)),
            link,
        };
        let shares = shares(topology, node, link, rate_bps);
        Some(if shares.len() < 2 {
            limit.plain()
        } else {
            limit.shared(&shares)
        })
    });
    limits.collect()
}

/// Share of a limited link, for packets that match one of its patterns. A share without patterns
/// takes all other packets.
struct Share {
    rate_bps: f64,
    ceil_bps: f64,
    priority: u8,
    patterns: Vec<String>,
}

/// Sharing of a link's capacity at `node`: by code points, fairly by sender, or none.
fn shares(topology: &Topology, node: &str, link: &Link, rate_bps: f64) -> Vec<Share> {
    let peer = link.peer_of(node);
    let of_end = |class: &&Class| class.from == node && class.to == peer;
    let classes = topology.classes.iter().filter(of_end).map(by_code_point);
    if link.fair && topology.is_switch(node) {
        return in_turn(topology, node, peer, rate_bps);
    }
    classes.collect()
}

fn by_code_point(class: &Class) -> Share {
    // The code point is the upper six bits of the field (RFC 2474, section 3).
    let pattern = |dscp: &u8| {
        format!(
            "protocol ip prio 1 u32 match ip dsfield {:#04x} 0xfc",
            dscp << 2
        )
    };
    Share {
        rate_bps: class.rate_bps,
        ceil_bps: class.ceil_bps,
        priority: class.priority,
        patterns: class.dscp.iter().map(pattern).collect(),
    }
}

/// Fair shares: each host that can send over this port gets an equal share and may borrow unused capacity.
/// The last class is also the default for unmatched packets, which do not occur.
fn in_turn(topology: &Topology, node: &str, peer: &str, rate_bps: f64) -> Vec<Share> {
    let ports = ports(topology);
    let beyond = |port: &&Port| port.neighbour == node || port.host == peer;
    let segment = ports.iter().find(beyond).map(|port| port.segment);
    let senders = ports
        .iter()
        .filter(|port| Some(port.segment) == segment && port.host != peer);
    let count = senders.clone().count();
    let share = |(number, port): (usize, &Port)| Share {
        rate_bps: rate_bps / count as f64,
        ceil_bps: rate_bps,
        priority: 0,
        patterns: if number + 1 == count {
            Vec::new()
        } else {
            vec![format!(
                "protocol all prio 1 u32 match ether src {}",
                port.mac()
            )]
        },
    };
    senders.enumerate().map(share).collect()
}

struct Limit<'a> {
    interface: String,
    rate_bps: f64,
    queue_bytes: u32,
    link: &'a Link,
}

impl Limit<'_> {
    fn root(&self) -> String {
        let entries = self.link.mtu_bytes + 64;
        format!(
            "qdisc add dev {} root handle 1: stab overhead {UNCOUNTED_BYTES} mpu {WIRE_LEAST_BYTES} mtu {} tsize {entries}",
            self.interface,
            entries - 1
        )
    }

    fn burst(&self, rate_bps: f64) -> u32 {
        burst_bytes(rate_bps, self.link.mtu_bytes)
    }

    fn plain(&self) -> String {
        format!(
            "{} tbf rate {:.0}bit burst {}b limit {}b\n",
            self.root(),
            self.rate_bps,
            self.burst(self.rate_bps),
            self.queue_bytes
        )
    }

    fn shared(&self, shares: &[Share]) -> String {
        let of_others = |share: &Share| share.patterns.is_empty();
        let default = shares.iter().position(of_others).unwrap_or(0);
        let (interface, rate_bps) = (&self.interface, self.rate_bps);
        let burst = self.burst(rate_bps);
        let mut lines = format!("{} htb default {:x}\n", self.root(), FIRST_CLASS + default);
        lines += &format!(
            "class add dev {interface} parent 1: classid 1:1 htb rate {rate_bps:.0}bit ceil {rate_bps:.0}bit burst {burst}b cburst {burst}b\n"
        );
        for (number, share) in shares.iter().enumerate() {
            lines += &self.share(FIRST_CLASS + number, share);
        }
        lines
    }

    fn share(&self, number: usize, share: &Share) -> String {
        let interface = &self.interface;
        let mut lines = format!(
            "class add dev {interface} parent 1:1 classid 1:{number:x} htb rate {:.0}bit ceil {:.0}bit burst {}b cburst {}b prio {} quantum {}\n",
            share.rate_bps,
            share.ceil_bps,
            self.burst(share.rate_bps),
            self.burst(share.ceil_bps),
            share.priority,
            self.link.mtu_bytes + WIRE_OVERHEAD_BYTES
        );
        lines += &format!(
            "qdisc add dev {interface} parent 1:{number:x} bfifo limit {}\n",
            self.queue_bytes
        );
        for pattern in &share.patterns {
            lines +=
                &format!("filter add dev {interface} parent 1: {pattern} flowid 1:{number:x}\n");
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_millisecond_and_two_packets() {
        assert_eq!(burst_bytes(1e8, 1500), 12_500);
        assert_eq!(burst_bytes(2e7, 1500), 3076);
        assert_eq!(burst_bytes(1e10, 9000), 1_250_000);
    }

    #[test]
    fn the_slowest_link_says_what_passes_at_once_and_the_shortest_packet_what_all_take() {
        let text = r#"
            name = "steps"
            description = "a slow link behind a fast one"
            hosts = ["A", "B"]
            switches = ["S"]
            links = [
                { a = "A", b = "S", rate = "1 Gb/s", mtu = "9000 B" },
                { a = "S", b = "B", rate = "100 Mb/s" },
            ]
        "#;
        let steps = Topology::parse(text).expect("a topology");
        assert_eq!(
            (steps.burst_bytes(), steps.mtu_bytes()),
            (Some(12_500), 1500)
        );
        assert_eq!(Topology::load("direct").expect("known").burst_bytes(), None);
        let fast = Topology::load("direct-1g").expect("known");
        assert_eq!(fast.burst_bytes(), Some(125_000));
    }

    #[test]
    fn a_limited_link_is_limited_at_both_ends() {
        let topology = Topology::load("switch-100m").expect("known");
        let truth = "qdisc add dev to-S root handle 1: stab overhead 24 mpu 84 mtu 1563 tsize 1564 tbf rate 100000000bit burst 12500b limit 4194304b\n";
        assert_eq!(script(&topology, "A"), truth);
        assert_eq!(script(&topology, "S").matches("limit 131072b").count(), 2);
    }

    #[test]
    fn classes_stand_at_one_end_of_one_link() {
        let topology = Topology::load("dscp-100m").expect("known");
        assert!(!script(&topology, "B").contains("htb"));
        let lines = script(&topology, "S");
        assert!(lines.contains("htb default 12"), "{lines}");
        assert!(
            lines.contains("match ip dsfield 0xb8 0xfc flowid 1:10"),
            "{lines}"
        );
        assert_eq!(lines.matches("filter").count(), 4);
    }

    #[test]
    fn a_fair_port_serves_its_senders_in_turn() {
        let topology = Topology::load("two-senders-100m").expect("known");
        let lines = script(&topology, "S");
        assert_eq!(
            lines
                .matches("htb rate 50000000bit ceil 100000000bit")
                .count(),
            2
        );
        assert_eq!(
            lines
                .matches("match ether src 02:00:00:00:01:01 flowid 1:10")
                .count(),
            1
        );
        assert!(lines.contains("htb default 11"), "{lines}");
        assert_eq!(lines.matches(" tbf ").count(), 2, "towards the senders");
        assert!(!script(&topology, "B").contains("htb"));
    }
}
