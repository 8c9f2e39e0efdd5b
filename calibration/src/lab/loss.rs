//! Drops every n-th packet by counting rules of the kernel, and reads the counters of these rules.
//!
//! IP packets are dropped by the statistic match of iptables, before reassembly and delivery, so
//! each fragment counts as a packet. Direct Ethernet frames are dropped by nftables at the ingress
//! of the interface. Both kinds of rules count the dropped packets. The first dropped packet is the
//! n-th.

use super::address::interface_name;
use super::topology::{Loss, LossProtocol, Topology};
use crate::error::{Context, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Local experimental EtherType 1 (IEEE Std 802), which this tool's direct Ethernet frames carry.
const ETHER_TYPE: &str = "0x88b5";

/// Counters of one drop rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossCounter {
    /// Host whose incoming packets are dropped.
    pub host: String,
    /// Interface on which the packets arrive.
    pub interface: String,
    /// Packets that the rule matches.
    pub protocol: LossProtocol,
    /// Drop interval: every n-th packet is dropped.
    pub every: u32,
    /// Packets dropped since the lab was built.
    pub dropped_packets: u64,
    /// Their bytes above the Ethernet header.
    pub dropped_bytes: u64,
}

/// Losses of one host: those of IP packets if `ip`, otherwise those of direct Ethernet frames.
pub(super) fn of_host<'a>(topology: &'a Topology, host: &str, ip: bool) -> Vec<&'a Loss> {
    let wanted =
        |loss: &&Loss| loss.host == host && (loss.protocol != LossProtocol::Ethernet) == ip;
    topology.losses.iter().filter(wanted).collect()
}

/// Arguments of iptables that create the rule of an IP loss.
pub(super) fn iptables_arguments(loss: &Loss) -> Vec<String> {
    let protocol = if loss.protocol == LossProtocol::Tcp {
        "tcp"
    } else {
        "udp"
    };
    let line = format!(
        "-w -t raw -A PREROUTING -i {} -p {protocol} -m length --length {}:65535 -m statistic --mode nth --every {} --packet {} -j DROP",
        interface_name(&loss.from),
        loss.from_bytes,
        loss.every,
        loss.every - 1
    );
    line.split(' ').map(str::to_owned).collect()
}

/// Input of nft that creates the rules of direct Ethernet losses.
pub(super) fn nft_script(losses: &[&Loss]) -> String {
    let chain = |(number, loss): (usize, &&Loss)| {
        format!(
            "  chain loss{number} {{\n    type filter hook ingress device \"{}\" priority 0;\n    ether type {ETHER_TYPE} meta length >= {} numgen inc mod {} == {} counter drop\n  }}\n",
            interface_name(&loss.from),
            loss.from_bytes,
            loss.every,
            loss.every - 1
        )
    };
    let chains: String = losses.iter().enumerate().map(chain).collect();
    format!("table netdev icprobe {{\n{chains}}}\n")
}

/// Reads packets and bytes of each rule, in order, from the output of `iptables-save -c -t raw`.
pub(super) fn read_iptables(text: &str) -> Result<Vec<(u64, u64)>> {
    let rules = text.lines().filter(|line| line.contains("-A PREROUTING"));
    let counts = rules.map(|line| {
        let counter = line.strip_prefix('[')?.split_once(']')?.0;
        let (packets, bytes) = counter.split_once(':')?;
        Some((packets.parse().ok()?, bytes.parse().ok()?))
    });
    let counts: Option<_> = counts.collect();
    counts.ok_or_else(|| Error::peer("iptables-save printed rules without counters"))
}

/// Reads packets and bytes of each rule, in order, from the output of `nft -j list table`.
pub(super) fn read_nft(text: &str) -> Result<Vec<(u64, u64)>> {
    let document: serde_json::Value = serde_json::from_str(text).or_peer("nft printed no JSON")?;
    let rules = document["nftables"].as_array().into_iter().flatten();
    let expressions = rules
        .filter_map(|object| object["rule"]["expr"].as_array())
        .flatten();
    let counters = expressions.filter_map(|expression| expression.get("counter"));
    let read = |counter: &serde_json::Value| {
        Some((counter["packets"].as_u64()?, counter["bytes"].as_u64()?))
    };
    let counts: Option<_> = counters.map(read).collect();
    counts.ok_or_else(|| Error::peer("nft printed rules without counters"))
}

/// Combines the rules with their counters.
pub(super) fn join(losses: &[&Loss], counts: &[(u64, u64)]) -> Result<Vec<LossCounter>> {
    if losses.len() != counts.len() {
        return Err(Error::peer(format!(
            "the lab has {} drop rules instead of {}: build it again",
            counts.len(),
            losses.len()
        )));
    }
    let counter = |(loss, count): (&&Loss, &(u64, u64))| LossCounter {
        host: loss.host.clone(),
        interface: interface_name(&loss.from),
        protocol: loss.protocol,
        every: loss.every,
        dropped_packets: count.0,
        dropped_bytes: count.1,
    };
    Ok(losses.iter().zip(counts).map(counter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_in_the_order_of_the_rules() {
        let text = "# made\n*raw\n:PREROUTING ACCEPT [9:900]\n[12:3400] -A PREROUTING -i to-A -p udp -j DROP\n[0:0] -A PREROUTING -p tcp -j DROP\nCOMMIT\n";
        assert_eq!(read_iptables(text), Ok(vec![(12, 3400), (0, 0)]));
        assert!(read_iptables("-A PREROUTING -j DROP").is_err());
        let text = r#"{"nftables": [{"metainfo": {}}, {"table": {}}, {"rule": {"expr": [{"match": {}},
            {"counter": {"packets": 7, "bytes": 420}}, {"drop": null}]}}]}"#;
        assert_eq!(read_nft(text), Ok(vec![(7, 420)]));
        assert!(read_nft("{").is_err());
    }

    #[test]
    fn the_nth_packet_is_the_first_dropped() {
        let topology = Topology::load("loss-udp-10").expect("known");
        let line = iptables_arguments(of_host(&topology, "B", true)[0]).join(" ");
        assert!(line.contains("--length 64:65535"), "{line}");
        assert!(line.contains("--every 10 --packet 9"), "{line}");
        let topology = Topology::load("loss-ethernet-1000").expect("known");
        let lines = nft_script(&of_host(&topology, "B", false));
        assert!(
            lines.contains("numgen inc mod 1000 == 999 counter drop"),
            "{lines}"
        );
    }
}
