//! Questions to a network interface by ioctl: netdevice(7) and the ethtool commands of linux/ethtool.h.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
/// Large receive offload among the flags of ETHTOOL_GFLAGS.
const ETH_FLAG_LRO: u32 = 1 << 15;

/// An offload by the name that `ethtool -K` gives it, and the commands that read and set it.
struct Offload {
    name: &'static str,
    get: u32,
    set: u32,
}

/// In the order to set them: what others depend on first (no checksums, no segmentation).
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
pub(super) fn offload_names() -> impl Iterator<Item = &'static str> {
    OFFLOADS.iter().map(|o| o.name).chain([LRO])
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    version: [u8; 32],
    firmware: [u8; 32],
    bus: [u8; 32],
    rest: [u8; 64],
}

/// Name, version and firmware of a driver; empty words where it does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Driver {
    pub name: String,
    pub version: String,
    pub firmware: String,
}

/// An interface one can ask.
pub(super) struct Device {
    name: String,
    socket: OwnedFd,
}

impl Device {
    pub fn open(interface: &str) -> Result<Self> {
        if interface.is_empty() || interface.len() >= libc::IFNAMSIZ || interface.contains('\0') {
            return Err(Error::question(format!(
                "{interface:?} is no name of an interface: give one that `ip link` lists"
            )));
        }
        // SAFETY: socket(2) takes numbers only.
        let socket =
            unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            let why = io::Error::last_os_error();
            return Err(Error::peer(format!(
                "cannot open a socket to ask {interface}: {why}"
            )));
        }
        Ok(Self {
            name: interface.to_owned(),
            // SAFETY: the descriptor was just opened and belongs to nobody else.
            socket: unsafe { OwnedFd::from_raw_fd(socket) },
        })
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: an ifreq is bytes and numbers, for which zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        request
    }

    /// # Safety
    /// What `code` reads and writes in `request`, and behind its pointer, must be valid.
    unsafe fn ioctl(&self, code: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the descriptor is open; the rest is promised by the caller.
        let status = unsafe { libc::ioctl(self.socket.as_raw_fd(), code as _, request) };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// # Safety
    /// `T` must be the structure that its command reads and writes.
    unsafe fn ethtool<T>(&self, argument: &mut T) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = std::ptr::from_mut(argument).cast();
        // SAFETY: the pointer is valid during the call and what it points to as the command needs it.
        unsafe { self.ioctl(SIOCETHTOOL, &mut request) }
    }

    fn value(&self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = Value { command, data };
        // SAFETY: all commands of this module but GDRVINFO exchange a `struct ethtool_value`.
        unsafe { self.ethtool(&mut value) }?;
        Ok(value.data)
    }

    pub fn mtu_bytes(&self) -> io::Result<u32> {
        let mut request = self.request();
        // SAFETY: SIOCGIFMTU writes a number into the request.
        unsafe { self.ioctl(libc::SIOCGIFMTU as _, &mut request) }?;
        // SAFETY: the kernel has just written this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
    }

    pub fn set_mtu(&self, mtu_bytes: u32) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_mtu = libc::c_int::try_from(mtu_bytes).unwrap_or(libc::c_int::MAX);
        // SAFETY: SIOCSIFMTU reads a number from the request.
        unsafe { self.ioctl(libc::SIOCSIFMTU as _, &mut request) }
    }

    pub fn mac(&self) -> io::Result<[u8; 6]> {
        let mut request = self.request();
        // SAFETY: SIOCGIFHWADDR writes a sockaddr into the request.
        unsafe { self.ioctl(libc::SIOCGIFHWADDR as _, &mut request) }?;
        // SAFETY: the kernel has just written this member.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        let mut mac = [0; 6];
        for (to, from) in mac.iter_mut().zip(address.sa_data) {
            *to = from as u8;
        }
        Ok(mac)
    }

    pub fn driver(&self) -> io::Result<Driver> {
        let mut info = DriverInfo {
            command: ETHTOOL_GDRVINFO,
            driver: [0; 32],
            version: [0; 32],
            firmware: [0; 32],
            bus: [0; 32],
            rest: [0; 64],
        };
        // SAFETY: `DriverInfo` has the layout of the structure that GDRVINFO fills.
        unsafe { self.ethtool(&mut info) }?;
        let word = |bytes: &[u8]| {
            let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        Ok(Driver {
            name: word(&info.driver),
            version: word(&info.version),
            firmware: word(&info.firmware),
        })
    }

    pub fn offload(&self, name: &str) -> io::Result<bool> {
        if name == LRO {
            return Ok(self.value(ETHTOOL_GFLAGS, 0)? & ETH_FLAG_LRO != 0);
        }
        let offload = known(name)?;
        Ok(self.value(offload.get, 0)? != 0)
    }

    pub fn set_offload(&self, name: &str, on: bool) -> io::Result<()> {
        if name == LRO {
            let others = self.value(ETHTOOL_GFLAGS, 0)? & !ETH_FLAG_LRO;
            let flags = if on { others | ETH_FLAG_LRO } else { others };
            return self.value(ETHTOOL_SFLAGS, flags).map(drop);
        }
        self.value(known(name)?.set, on.into()).map(drop)
    }

    /// All offloads that the interface tells of.
    pub fn offloads(&self) -> BTreeMap<String, bool> {
        offload_names()
            .filter_map(|name| Some((name.to_owned(), self.offload(name).ok()?)))
            .collect()
    }
}

fn known(name: &str) -> io::Result<&'static Offload> {
    let found = OFFLOADS.iter().find(|o| o.name == name);
    found.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}
