//! Network interfaces: route to a peer, identity, counters and queueing discipline.

use super::netlink::{attribute, list, u32_at};
use super::number_of;
use crate::device::{self, Device};
use crate::error::{Context, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::ops::{Add, Sub};
use std::path::Path;

/// The number of every network namespace's loopback interface (`LOOPBACK_IFINDEX`).
const LOOPBACK_INDEX: u32 = 1;
/// `struct ifaddrmsg`: family, prefix length, flags, scope, index.
const ADDRESS_BYTES: usize = 8;
/// `struct tcmsg`: family, index, handle, parent, info.
const TC_BYTES: usize = 20;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_KIND: u16 = 1;

/// Counters of an interface, or the difference of two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCounters {
    /// Packets received; merged packets (hardware GRO, or segments never split by a virtual link) count once.
    pub rx_packets: u64,
    /// Bytes received, Ethernet headers included.
    pub rx_bytes: u64,
    /// Packets received and dropped by the kernel before any protocol.
    pub rx_dropped: u64,
    /// Packets missed by the interface because its buffers were full.
    pub rx_missed: u64,
    /// Packets received with errors.
    pub rx_errors: u64,
    /// Packets sent; segments made by the interface (TSO) are counted as the driver does.
    pub tx_packets: u64,
    /// Bytes sent, Ethernet headers included.
    pub tx_bytes: u64,
    /// Packets dropped before sending.
    pub tx_dropped: u64,
    /// Packets not sent because of errors.
    pub tx_errors: u64,
}

impl InterfaceCounters {
    /// Reads the counters of an interface below `root` (`/` for the live system).
    ///
    /// Fails if there is no such interface.
    pub fn read(root: &Path, interface: &str) -> Result<Self> {
        let folder = Path::new("sys/class/net")
            .join(interface)
            .join("statistics");
        let counter = |name: &str| number_of::<u64>(root, folder.join(name));
        let Some(rx_packets) = counter("rx_packets") else {
            return Err(Error::peer(format!(
                "interface {interface:?} has no counters in /sys/class/net: give one that `ip link` lists"
            )));
        };
        let counter = |name| counter(name).unwrap_or(0);
        Ok(Self {
            rx_packets,
            rx_bytes: counter("rx_bytes"),
            rx_dropped: counter("rx_dropped"),
            rx_missed: counter("rx_missed_errors"),
            rx_errors: counter("rx_errors"),
            tx_packets: counter("tx_packets"),
            tx_bytes: counter("tx_bytes"),
            tx_dropped: counter("tx_dropped"),
            tx_errors: counter("tx_errors"),
        })
    }

    fn each(self, other: Self, f: fn(u64, u64) -> u64) -> Self {
        Self {
            rx_packets: f(self.rx_packets, other.rx_packets),
            rx_bytes: f(self.rx_bytes, other.rx_bytes),
            rx_dropped: f(self.rx_dropped, other.rx_dropped),
            rx_missed: f(self.rx_missed, other.rx_missed),
            rx_errors: f(self.rx_errors, other.rx_errors),
            tx_packets: f(self.tx_packets, other.tx_packets),
            tx_bytes: f(self.tx_bytes, other.tx_bytes),
            tx_dropped: f(self.tx_dropped, other.tx_dropped),
            tx_errors: f(self.tx_errors, other.tx_errors),
        }
    }
}

impl Sub for InterfaceCounters {
    type Output = Self;

    /// Difference to an earlier reading; a counter that was reset counts as unchanged.
    fn sub(self, before: Self) -> Self {
        self.each(before, u64::saturating_sub)
    }
}

impl Add for InterfaceCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }
}

/// Returns the interface through which packets to `address` leave. Asks the routing table; sends
/// nothing.
///
/// Addresses of this host itself are reached through the loopback interface.
pub fn interface_towards(address: IpAddr) -> Result<String> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let no_way = || format!("no route leads to {address}");
    let socket = UdpSocket::bind((any, 0)).or_peer(no_way())?;
    // Port 9 is discard; connecting a datagram socket only looks up the route.
    socket.connect((address, 9)).or_peer(no_way())?;
    let local = socket.local_addr().or_peer(no_way())?.ip();
    let found = if local == address || address.is_loopback() {
        Some(LOOPBACK_INDEX)
    } else {
        let addresses =
            list(libc::RTM_GETADDR, &[0; ADDRESS_BYTES]).or_peer("cannot list the interfaces")?;
        addresses
            .iter()
            .filter_map(|entry| address_of(entry))
            .find_map(|(index, address)| (address == local).then_some(index))
    };
    let found = found.and_then(|index| device::name_of(index).ok());
    found.ok_or_else(|| {
        Error::peer(format!(
            "no interface carries {local}, the own address towards {address}: name one with --interface"
        ))
    })
}

/// Reads interface index and address from an entry of the kernel's address list.
fn address_of(entry: &[u8]) -> Option<(u32, IpAddr)> {
    /// Attribute with the interface's own address; `IFA_ADDRESS` may be the other end of a
    /// point-to-point link.
    const IFA_LOCAL: u16 = 2;
    const IFA_ADDRESS: u16 = 1;
    let attributes = entry.get(ADDRESS_BYTES..)?;
    let bytes = attribute(attributes, IFA_LOCAL).or_else(|| attribute(attributes, IFA_ADDRESS))?;
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = v4
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()?;
    Some((u32_at(entry, 4)?, address))
}

/// The MTU of an interface, in bytes.
pub fn mtu_of(interface: &str) -> Result<u32> {
    let mtu = Device::open(interface)?.mtu_bytes();
    mtu.or_peer(format!("cannot read the MTU of {interface}"))
}

/// The kernel's number of an interface.
pub fn index_of(interface: &str) -> Result<u32> {
    Device::open(interface)?.index().map_err(|_| {
        Error::question(format!(
            "there is no interface {interface:?}: give one that `ip link` lists"
        ))
    })
}

/// Formats a MAC address.
pub fn format_mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Kind of the queueing discipline at the root of an interface (noqueue, fq_codel, tbf …), from
/// rtnetlink(7), RTM_GETQDISC; `None` if the kernel does not report it.
pub(super) fn root_qdisc(interface_index: u32) -> Option<String> {
    let disciplines = list(libc::RTM_GETQDISC, &[0; TC_BYTES]).ok()?;
    disciplines
        .iter()
        .find_map(|discipline| qdisc_at_root(discipline, interface_index))
}

/// Kind of a queueing discipline if it is at the root of the interface.
fn qdisc_at_root(body: &[u8], interface_index: u32) -> Option<String> {
    let (index, parent) = (u32_at(body, 4)?, u32_at(body, 12)?);
    if index != interface_index || parent != TC_H_ROOT {
        return None;
    }
    let text = attribute(body.get(TC_BYTES..)?, TCA_KIND)?;
    let text = text.split(|&b| b == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests;
