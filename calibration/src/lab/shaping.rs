//! Limits a link to a rate as Ethernet counts it, by tc's own batch language.
//!
//! A packet is charged what it takes on the wire: 7 + 1 B preamble, 14 B header, at least 46 B
//! payload, 4 B check sequence and 12 B gap (IEEE Std 802.3-2022, 3.1.1 and 4.4.2), so 84 B at
//! least and payload + 38 B above. The kernel counts header and payload, so 24 B are added, with a
//! size table that has an entry a byte: the default table rounds up to multiples of 4 B.

use super::address::interface_name;
use super::topology::{Class, Link, Topology};

/// What a packet takes on the wire besides what it carries, in bytes.
const WIRE_OVERHEAD_BYTES: u32 = 38;
/// What of this the kernel does not count, in bytes.
const UNCOUNTED_BYTES: u32 = 24;
/// The least a packet takes on the wire, in bytes.
const WIRE_LEAST_BYTES: u32 = 84;
/// How late the timer of the limit may be without capacity lost, and so by how much of the rate a
/// window can exceed it once.
const BURST_S: f64 = 1e-3;
/// Default queue of a host: larger than what its sockets may hold, so that these hold senders back
/// and nothing is dropped, as before a network card.
const HOST_QUEUE_BYTES: u32 = 4 << 20;
/// Default queue of a switch's port, which drops what does not fit.
const SWITCH_QUEUE_BYTES: u32 = 128 << 10;
/// The number of the default class's siblings starts behind the class of the whole link.
const FIRST_CLASS: usize = 0x10;

/// Bytes a limited link may send at once: a millisecond's worth, at least two packets.
pub(super) fn burst_bytes(rate_bps: f64, mtu_bytes: u32) -> u32 {
    let timer = (rate_bps / 8.0 * BURST_S).ceil() as u32; // saturates, and rates are limited
    timer.max(2 * (mtu_bytes + WIRE_OVERHEAD_BYTES))
}

/// The lines for tc that limit what `node` sends, over all its links.
pub(super) fn script(topology: &Topology, node: &str) -> String {
    let limits = topology.links_of(node).filter_map(|link| {
        let rate_bps = link.rate_bps?;
        let peer = link.peer_of(node);
        let of_end = |class: &&Class| class.from == node && class.to == peer;
        let classes: Vec<&Class> = topology.classes.iter().filter(of_end).collect();
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
        Some(if classes.is_empty() {
            limit.plain()
        } else {
            limit.with_classes(&classes)
        })
    });
    limits.collect()
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

    fn with_classes(&self, classes: &[&Class]) -> String {
        let default = classes
            .iter()
            .position(|class| class.dscp.is_empty())
            .unwrap_or(0);
        let (interface, rate_bps, burst) =
            (&self.interface, self.rate_bps, self.burst(self.rate_bps));
        let mut lines = format!("{} htb default {:x}\n", self.root(), FIRST_CLASS + default);
        lines += &format!(
            "class add dev {interface} parent 1: classid 1:1 htb rate {rate_bps:.0}bit ceil {rate_bps:.0}bit burst {burst}b cburst {burst}b\n"
        );
        for (number, class) in classes.iter().enumerate() {
            lines += &self.class(FIRST_CLASS + number, class);
        }
        lines
    }

    fn class(&self, number: usize, class: &Class) -> String {
        let interface = &self.interface;
        let mut lines = format!(
            "class add dev {interface} parent 1:1 classid 1:{number:x} htb rate {:.0}bit ceil {:.0}bit burst {}b cburst {}b prio {} quantum {}\n",
            class.rate_bps,
            class.ceil_bps,
            self.burst(class.rate_bps),
            self.burst(class.ceil_bps),
            class.priority,
            self.link.mtu_bytes + WIRE_OVERHEAD_BYTES
        );
        lines += &format!(
            "qdisc add dev {interface} parent 1:{number:x} bfifo limit {}\n",
            self.queue_bytes
        );
        for dscp in &class.dscp {
            // The code point is the upper six bits of the field (RFC 2474, section 3).
            lines += &format!(
                "filter add dev {interface} parent 1: protocol ip prio 1 u32 match ip dsfield {:#04x} 0xfc flowid 1:{number:x}\n",
                dscp << 2
            );
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
}
