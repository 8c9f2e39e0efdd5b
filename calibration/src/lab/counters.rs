//! Counters of a lab: drop rules, interfaces and queues.

use super::loss::{self, LossCounter};
use super::{Lab, tool};
use crate::error::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every counter of a lab, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// The lab.
    pub name: String,
    /// Packets dropped on purpose.
    pub loss: Vec<LossCounter>,
    /// Counters of each interface of each node.
    pub interfaces: Vec<InterfaceCounter>,
}

/// Counters of one interface and its queue since the lab was built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCounter {
    /// The host or switch it belongs to.
    pub node: String,
    /// Its name.
    pub interface: String,
    /// Packets received.
    pub rx_packets: u64,
    /// Their bytes, with Ethernet headers.
    pub rx_bytes: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Their bytes, with Ethernet headers.
    pub tx_bytes: u64,
    /// Packets dropped by the interface instead of sent.
    pub tx_dropped: u64,
    /// Counters of the link's rate limit, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueCounter>,
}

/// Counters of a link's rate limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueCounter {
    /// Packets sent.
    pub packets: u64,
    /// Their bytes on the wire, preamble, padding and gap included.
    pub wire_bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
}

impl Lab {
    /// Reads the counters of this lab's drop rules, in the order of the topology; first IP, then
    /// direct Ethernet.
    ///
    /// # Errors
    /// [`crate::error::Error::Peer`] if the rules cannot be read.
    pub fn loss_counters(&self) -> Result<Vec<LossCounter>> {
        let mut counters = Vec::new();
        for host in &self.topology.hosts {
            let losses = loss::of_host(&self.topology, host, true);
            if !losses.is_empty() {
                let text = self.tool(host, "iptables-save", &["-c", "-t", "raw"])?;
                counters.extend(loss::join(&losses, &loss::read_iptables(&text)?)?);
            }
            let losses = loss::of_host(&self.topology, host, false);
            if !losses.is_empty() {
                let text = self.tool(host, "nft", &["-j", "list", "table", "netdev", "icprobe"])?;
                counters.extend(loss::join(&losses, &loss::read_nft(&text)?)?);
            }
        }
        Ok(counters)
    }

    /// Reads all counters of this lab.
    ///
    /// # Errors
    /// [`crate::error::Error::Peer`] if the counters cannot be read.
    pub fn counters(&self) -> Result<Counters> {
        let mut interfaces = Vec::new();
        for node in self.topology.nodes() {
            interfaces.extend(self.interface_counters(node)?);
        }
        Ok(Counters {
            name: self.topology.name.clone(),
            loss: self.loss_counters()?,
            interfaces,
        })
    }

    /// Counters of the interfaces of a host or switch.
    fn interface_counters(&self, node: &str) -> Result<Vec<InterfaceCounter>> {
        let json = |program: &str, arguments: &[&str]| {
            let text = self.tool(node, program, arguments)?;
            serde_json::from_str::<Vec<Value>>(&text)
                .or_peer(format_args!("{program} printed no JSON"))
        };
        let links = json("ip", &["-j", "-s", "link", "show"])?;
        let queues = json("tc", &["-j", "-s", "qdisc", "show"])?;
        let own = |link: &&Value| {
            link["ifname"]
                .as_str()
                .is_some_and(|name| name.starts_with("to-"))
        };
        Ok(links
            .iter()
            .filter(own)
            .map(|link| read_interface(node, link, &queues))
            .collect())
    }

    fn tool(&self, node: &str, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = self.door.inside(node, program)?;
        command.args(arguments);
        tool::run(command, "")
    }
}

fn read_interface(node: &str, link: &Value, queues: &[Value]) -> InterfaceCounter {
    let name = link["ifname"].as_str().unwrap_or_default();
    let (rx, tx) = (&link["stats64"]["rx"], &link["stats64"]["tx"]);
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let limit = |queue: &&Value| {
        queue["dev"] == name && queue["root"] == true && queue["kind"] != "noqueue"
    };
    let queue = queues.iter().find(limit).map(|queue| QueueCounter {
        packets: count(&queue["packets"]),
        wire_bytes: count(&queue["bytes"]),
        dropped: count(&queue["drops"]),
    });
    InterfaceCounter {
        node: node.to_owned(),
        interface: name.to_owned(),
        rx_packets: count(&rx["packets"]),
        rx_bytes: count(&rx["bytes"]),
        rx_dropped: count(&rx["dropped"]),
        tx_packets: count(&tx["packets"]),
        tx_bytes: count(&tx["bytes"]),
        tx_dropped: count(&tx["dropped"]),
        queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_and_tc_print_is_read() {
        let link = serde_json::json!({"ifname": "to-B", "stats64": {
            "rx": {"bytes": 10, "packets": 1, "errors": 0, "dropped": 3},
            "tx": {"bytes": 20, "packets": 2, "errors": 0, "dropped": 4}}});
        let queues = [
            serde_json::json!({"kind": "noqueue", "dev": "lo", "root": true, "packets": 9}),
            serde_json::json!({"kind": "bfifo", "dev": "to-B", "parent": "1:10", "packets": 8}),
            serde_json::json!({"kind": "tbf", "dev": "to-B", "root": true, "bytes": 168, "packets": 2, "drops": 5}),
        ];
        let read = read_interface("A", &link, &queues);
        let queue = QueueCounter {
            packets: 2,
            wire_bytes: 168,
            dropped: 5,
        };
        assert_eq!(
            (read.rx_packets, read.rx_dropped, read.tx_bytes, read.queue),
            (1, 3, 20, Some(queue))
        );
        assert_eq!(read_interface("A", &link, &[]).queue, None);
    }
}
