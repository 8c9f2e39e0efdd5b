//! Network interface settings by ioctl: netdevice(7) and the ethtool commands of linux/ethtool.h.

use crate::error::{Context, Error, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
/// Large receive offload among the flags of ETHTOOL_GFLAGS.
const ETH_FLAG_LRO: u32 = 1 << 15;
/// Length of `struct ethtool_drvinfo` in 32-bit words, the longest structure used in this module.
const ANSWER_WORDS: usize = 49;

/// Offload: its name in `ethtool -K`, and the commands that read and set it.
struct Offload {
    name: &'static str,
    get: u32,
    set: u32,
}

/// Ordered by dependency: segmentation needs checksums, so checksums come first.
const OFFLOADS: [Offload; 6] = [
    Offload::new("rx", 0x14, 0x15),
    Offload::new("tx", 0x16, 0x17),
    Offload::new("sg", 0x18, 0x19),
    Offload::new("tso", 0x1e, 0x1f),
    Offload::new("gso", 0x23, 0x24),
    Offload::new("gro", 0x2b, 0x2c),
];
const LRO: &str = "lro";

impl Offload {
    const fn new(name: &'static str, get: u32, set: u32) -> Self {
        Self { name, get, set }
    }
}

/// Names of the offloads that can be read and set, in the order to set them.
pub fn offload_names() -> impl Iterator<Item = &'static str> {
    OFFLOADS.iter().map(|o| o.name).chain([LRO])
}

/// `struct ifreq`: a name, and bytes whose meaning depends on the request.
#[repr(C, align(8))]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u8; 24],
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());

/// Requests that exchange numbers and addresses in the request itself.
#[derive(Clone, Copy)]
enum Plain {
    Mtu = libc::SIOCGIFMTU as isize,
    SetMtu = libc::SIOCSIFMTU as isize,
    Mac = libc::SIOCGIFHWADDR as isize,
}

/// Name, version and firmware of a driver; empty if not reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The firmware of the interface.
    pub firmware: String,
}

/// Handle of an interface in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Device {
    name: String,
    socket: OwnedFd,
}

impl Device {
    /// Opens the socket used for ioctl requests.
    ///
    /// # Errors
    /// [`Error::Question`] for an invalid name; [`Error::Peer`] if no socket can be opened.
    pub fn open(interface: &str) -> Result<Self> {
        if interface.is_empty() || interface.len() >= libc::IFNAMSIZ || interface.contains('\0') {
            return Err(Error::question(format!(
                "invalid interface name {interface:?}: give one that `ip link` lists"
            )));
        }
        Ok(Self {
            name: interface.to_owned(),
            socket: asking().or_peer(format!("cannot open a socket to query {interface}"))?,
        })
    }

    fn request(&self, data: [u8; 24]) -> Request {
        let mut name = [0; libc::IFNAMSIZ];
        name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        Request { name, data }
    }

    fn plain(&self, code: Plain, data: [u8; 24]) -> io::Result<[u8; 24]> {
        let mut request = self.request(data);
        let fd = self.socket.as_raw_fd();
        // SAFETY: the request is as long as the kernel's and outlives the call. None of these codes
        // reads a pointer from it.
        let status = unsafe { libc::ioctl(fd, code as _, &raw mut request) };
        checked(status).map(|()| request.data)
    }

    /// Runs an ethtool command with one number. The first word of the reply is the command.
    fn ethtool(&self, command: u32, value: u32) -> io::Result<[u32; ANSWER_WORDS]> {
        let mut answer = [0; ANSWER_WORDS];
        answer[..2].copy_from_slice(&[command, value]);
        let mut data = [0; 24];
        data[..size_of::<usize>()]
            .copy_from_slice(&answer.as_mut_ptr().expose_provenance().to_ne_bytes());
        let mut request = self.request(data);
        let fd = self.socket.as_raw_fd();
        // SAFETY: the request points to the answer, which is large enough for every command of this
        // module. Both outlive the call.
        let status = unsafe { libc::ioctl(fd, SIOCETHTOOL as _, &raw mut request) };
        checked(status).map(|()| answer)
    }

    fn value(&self, command: u32, value: u32) -> io::Result<u32> {
        self.ethtool(command, value).map(|answer| answer[1])
    }

    /// Returns the interface index.
    ///
    /// # Errors
    /// Error of the kernel, e.g. if there is no such interface.
    pub fn index(&self) -> io::Result<u32> {
        Ok(netdevice::name_to_index(&self.socket, &self.name)?)
    }

    /// Returns the MTU, in bytes.
    ///
    /// # Errors
    /// Error of the kernel.
    pub fn mtu_bytes(&self) -> io::Result<u32> {
        let [a, b, c, d, ..] = self.plain(Plain::Mtu, [0; 24])?;
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }

    /// Sets the MTU.
    ///
    /// # Errors
    /// Error of the kernel.
    pub fn set_mtu(&self, mtu_bytes: u32) -> io::Result<()> {
        let mut data = [0; 24];
        let most = mtu_bytes.min(i32::MAX as u32);
        data[..4].copy_from_slice(&most.to_ne_bytes());
        self.plain(Plain::SetMtu, data).map(drop)
    }

    /// Returns the hardware address.
    ///
    /// # Errors
    /// Error of the kernel.
    pub fn mac(&self) -> io::Result<[u8; 6]> {
        // A sockaddr: two bytes of family, then the address.
        let [_, _, a, b, c, d, e, f, ..] = self.plain(Plain::Mac, [0; 24])?;
        Ok([a, b, c, d, e, f])
    }

    /// Returns name, version and firmware of the driver.
    ///
    /// # Errors
    /// Error of the kernel.
    pub fn driver(&self) -> io::Result<Driver> {
        let answer = self.ethtool(ETHTOOL_GDRVINFO, 0)?;
        let bytes: Vec<u8> = answer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // The texts have 32 bytes each and follow the command word.
        let word = |number: usize| {
            let text = &bytes[4 + 32 * number..][..32];
            let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
            String::from_utf8_lossy(&text[..end]).into_owned()
        };
        Ok(Driver {
            name: word(0),
            version: word(1),
            firmware: word(2),
        })
    }

    /// Returns whether an offload is on.
    ///
    /// # Errors
    /// Error of the kernel; a name not in [`offload_names`].
    pub fn offload(&self, name: &str) -> io::Result<bool> {
        if name == LRO {
            return Ok(self.value(ETHTOOL_GFLAGS, 0)? & ETH_FLAG_LRO != 0);
        }
        let offload = known(name)?;
        Ok(self.value(offload.get, 0)? != 0)
    }

    /// Switches an offload on or off.
    ///
    /// # Errors
    /// Error of the kernel; a name not in [`offload_names`].
    pub fn set_offload(&self, name: &str, on: bool) -> io::Result<()> {
        if name == LRO {
            let others = self.value(ETHTOOL_GFLAGS, 0)? & !ETH_FLAG_LRO;
            let flags = if on { others | ETH_FLAG_LRO } else { others };
            return self.value(ETHTOOL_SFLAGS, flags).map(drop);
        }
        self.value(known(name)?.set, on.into()).map(drop)
    }

    /// All offloads whose state the interface reports.
    pub fn offloads(&self) -> BTreeMap<String, bool> {
        offload_names()
            .filter_map(|name| Some((name.to_owned(), self.offload(name).ok()?)))
            .collect()
    }
}

/// Returns the name of the interface with the given index.
///
/// # Errors
/// Error of the kernel, e.g. if there is no such interface.
pub fn name_of(index: u32) -> io::Result<String> {
    Ok(netdevice::index_to_name(asking()?, index)?)
}

fn asking() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, None)?)
}

fn checked(status: libc::c_int) -> io::Result<()> {
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn known(name: &str) -> io::Result<&'static Offload> {
    let found = OFFLOADS.iter().find(|o| o.name == name);
    found.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_number_one_with_an_empty_hardware_address() {
        let loopback = Device::open("lo").unwrap();
        assert_eq!(loopback.index().unwrap(), 1);
        assert_eq!(name_of(1).unwrap(), "lo");
        assert_eq!(loopback.mac().unwrap(), [0; 6]);
        assert!(loopback.mtu_bytes().unwrap() > 0);
        assert!(name_of(u32::MAX).is_err());
    }

    #[test]
    fn what_is_no_interface_is_refused() {
        assert!(Device::open("").is_err());
        assert!(Device::open("a-name-that-is-too-long").is_err());
        let unknown = Device::open("no-such").unwrap();
        assert!(unknown.index().is_err() && unknown.mtu_bytes().is_err());
    }
}
