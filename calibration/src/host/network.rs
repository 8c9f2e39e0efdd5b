//! Network interfaces: which one leads to a peer, who it is, and what it counted.

use super::{ethtool::Device, number_of};
use crate::error::{Context, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::ops::{Add, Sub};
use std::path::Path;

/// What an interface counted, or the difference of two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCounters {
    /// Packets received; merged ones (GRO by hardware, or segments a virtual link never cut) count once.
    pub rx_packets: u64,
    /// Bytes received, Ethernet headers included.
    pub rx_bytes: u64,
    /// Packets received and dropped by the kernel before any protocol.
    pub rx_dropped: u64,
    /// Packets the interface missed for want of buffers.
    pub rx_missed: u64,
    /// Packets received damaged.
    pub rx_errors: u64,
    /// Packets sent; segments that the interface cuts itself (TSO) count as the driver counts them.
    pub tx_packets: u64,
    /// Bytes sent, Ethernet headers included.
    pub tx_bytes: u64,
    /// Packets dropped on the way out.
    pub tx_dropped: u64,
    /// Packets that failed to leave.
    pub tx_errors: u64,
}

impl InterfaceCounters {
    /// Reads the counters of an interface below `root` (`/` for the live system).
    ///
    /// Fails where there is no such interface.
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

    /// What was counted since; a counter that was reset counts as unchanged.
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

/// The interface that packets to `address` leave through. Asks the routing table; sends nothing.
///
/// An address of this host itself is reached through the loopback interface, whichever owns it.
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
    let addresses = Addresses::of_this_host()?;
    let found = if local == address || address.is_loopback() {
        addresses.find(|a| a.loopback)
    } else {
        addresses.find(|a| a.address == Some(local))
    };
    found.ok_or_else(|| {
        Error::peer(format!(
            "no interface carries {local}, the own address towards {address}: name one with --interface"
        ))
    })
}

/// One entry of getifaddrs(3).
struct Entry {
    address: Option<IpAddr>,
    loopback: bool,
}

/// The host's interface addresses, released when dropped.
struct Addresses(*mut libc::ifaddrs);

impl Addresses {
    fn of_this_host() -> Result<Self> {
        let mut first = std::ptr::null_mut();
        // SAFETY: `first` is a valid place for the list's head.
        if unsafe { libc::getifaddrs(&mut first) } != 0 {
            let why = std::io::Error::last_os_error();
            return Err(Error::peer(format!("cannot list the interfaces: {why}")));
        }
        Ok(Self(first))
    }

    /// Name of the first interface with an entry that is wanted.
    fn find(&self, wanted: impl Fn(&Entry) -> bool) -> Option<String> {
        let mut next = self.0;
        while !next.is_null() {
            // SAFETY: the list lives as long as self, and `next` is one of its entries.
            let entry = unsafe { &*next };
            let read = Entry {
                // SAFETY: the kernel's entry holds null or a sockaddr of its family.
                address: unsafe { ip_of(entry.ifa_addr) },
                loopback: entry.ifa_flags & libc::IFF_LOOPBACK as libc::c_uint != 0,
            };
            if wanted(&read) {
                // SAFETY: the name is a C string that lives as long as the list.
                let name = unsafe { CStr::from_ptr(entry.ifa_name) };
                return Some(name.to_string_lossy().into_owned());
            }
            next = entry.ifa_next;
        }
        None
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        // SAFETY: the list came from getifaddrs and is released once.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

/// # Safety
/// `address` must be null or point to a sockaddr as long as its family says.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, and every sockaddr starts with its family.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: of this family it is a sockaddr_in; read without asking for alignment.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: of this family it is a sockaddr_in6; read without asking for alignment.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// The MTU of an interface, in bytes.
pub fn mtu_of(interface: &str) -> Result<u32> {
    let mtu = Device::open(interface)?.mtu_bytes();
    mtu.or_peer(format!("cannot read the MTU of {interface}"))
}

/// The kernel's number of an interface.
pub fn index_of(interface: &str) -> Result<u32> {
    let name = CString::new(interface).or_question(format!("{interface:?} names no interface"))?;
    // SAFETY: `name` is a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(Error::question(format!(
            "there is no interface {interface:?}: give one that `ip link` lists"
        )));
    }
    Ok(index)
}

/// A MAC address as people write it.
pub fn format_mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests;
