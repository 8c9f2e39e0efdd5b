//! The system calls under the transports: thin, without allocation, errors as the kernel gives them.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A socket address as the kernel wants it.
pub struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Address {
    fn empty() -> Self {
        // SAFETY: all bits zero is a valid sockaddr_storage (family AF_UNSPEC).
        let storage = unsafe { MaybeUninit::<libc::sockaddr_storage>::zeroed().assume_init() };
        Self {
            storage,
            length: size_of::<libc::sockaddr_storage>() as libc::socklen_t,
        }
    }

    /// Wraps any of the kernel's address structures.
    pub fn of<T: Copy>(value: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        let mut address = Self::empty();
        // SAFETY: the assertion above leaves room for a T in the storage, which is aligned for
        // every address structure of the kernel; T is plain data.
        unsafe { std::ptr::write_unaligned((&raw mut address.storage).cast::<T>(), value) };
        address.length = size_of::<T>() as libc::socklen_t;
        address
    }

    fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    /// The address and port, if it is one of IPv4 or IPv6.
    pub fn internet(&self) -> Option<SocketAddr> {
        match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that the storage holds a sockaddr_in, which is smaller.
                let v4 = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddr::new(ip.into(), u16::from_be(v4.sin_port)))
            }
            libc::AF_INET6 => {
                // SAFETY: the family says that the storage holds a sockaddr_in6, which is smaller.
                let v6 = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in6>() };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Some(SocketAddr::new(ip.into(), u16::from_be(v6.sin6_port)))
            }
            _ => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }
}

/// Turns the −1 of a system call into its error.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Turns the −1 of a reading or writing system call into its error.
#[inline]
pub fn counted(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// A number as a system call that goes past the C library takes it.
#[inline]
pub fn word(number: i32) -> libc::c_long {
    number.into()
}

/// Opens a socket that is closed on exec.
pub fn open(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: socket() takes plain numbers.
    let fd = checked(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the descriptor was just made and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Opens a socket of the family of an address: `SOCK_STREAM` or `SOCK_DGRAM`.
pub fn open_for(ip: IpAddr, kind: i32) -> io::Result<OwnedFd> {
    let domain = if ip.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    open(domain, kind, 0)
}

/// Binds a socket to an address.
pub fn bind(fd: &OwnedFd, address: &Address) -> io::Result<()> {
    // SAFETY: pointer and length describe the address, which lives through the call.
    checked(unsafe { libc::bind(fd.as_raw_fd(), address.pointer(), address.length) }).map(drop)
}

/// Connects a socket; a blocking one waits at most its `SO_SNDTIMEO`.
pub fn connect(fd: &OwnedFd, address: &Address) -> io::Result<()> {
    // SAFETY: pointer and length describe the address, which lives through the call.
    checked(unsafe { libc::connect(fd.as_raw_fd(), address.pointer(), address.length) }).map(drop)
}

/// Starts listening.
pub fn listen(fd: &OwnedFd, backlog: i32) -> io::Result<()> {
    // SAFETY: listen() takes plain numbers.
    checked(unsafe { libc::listen(fd.as_raw_fd(), backlog) }).map(drop)
}

/// Accepts a connection, without waiting where the listener does not wait.
pub fn accept(listener: &OwnedFd) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
    let mut from = Address::empty();
    let storage = (&raw mut from.storage).cast();
    // SAFETY: storage and length describe room for any address, alive through the call.
    let result = unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            storage,
            &mut from.length,
            libc::SOCK_CLOEXEC,
        )
    };
    let fd = checked(result)?;
    // SAFETY: the descriptor was just made and has no other owner.
    Ok((unsafe { OwnedFd::from_raw_fd(fd) }, from.internet()))
}

/// The address a socket is bound to.
pub fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    let mut local = Address::empty();
    let storage = (&raw mut local.storage).cast();
    // SAFETY: storage and length describe room for any address, alive through the call.
    checked(unsafe { libc::getsockname(fd.as_raw_fd(), storage, &mut local.length) })?;
    local
        .internet()
        .ok_or_else(|| io::Error::other("the socket has no internet address"))
}

/// Sets a socket option to any plain value.
pub fn set<T: Copy>(fd: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let pointer = std::ptr::from_ref(value).cast();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointer and length describe the value, which lives through the call.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, length) }).map(drop)
}

/// Reads a socket option into `bytes`; returns how many of them the kernel filled.
pub fn option_bytes(fd: &OwnedFd, level: i32, name: i32, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = bytes.len() as libc::socklen_t;
    let pointer = bytes.as_mut_ptr().cast();
    // SAFETY: pointer and length describe the slice, which lives through the call.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &mut length) })?;
    Ok(length as usize)
}

/// Reads a socket option that is one int.
pub fn option(fd: &OwnedFd, level: i32, name: i32) -> io::Result<i32> {
    let mut bytes = [0; 4];
    option_bytes(fd, level, name, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}

/// Sets how long a blocking call waits (`SO_RCVTIMEO`, `SO_SNDTIMEO`), rounded up to the kernel's
/// tick; never endless.
pub fn set_timeout(fd: &OwnedFd, name: i32, timeout: Duration) -> io::Result<()> {
    let micros = timeout.as_micros().clamp(1, 1_000_000_000_000) as i64;
    let value = libc::timeval {
        tv_sec: micros / 1_000_000,
        tv_usec: micros % 1_000_000,
    };
    set(fd, libc::SOL_SOCKET, name, &value)
}

/// Makes the calls on a socket wait or not wait.
pub fn set_blocking(fd: &OwnedFd, blocking: bool) -> io::Result<()> {
    let mut off = libc::c_int::from(!blocking);
    // SAFETY: FIONBIO reads one int, which lives through the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &mut off) }).map(drop)
}

/// Bytes waiting in a stream socket (`SIOCINQ`).
pub fn waiting_bytes(fd: &OwnedFd) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, which lives through the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &mut bytes) })?;
    Ok(u32::try_from(bytes).unwrap_or(0))
}

// The calls of the measuring loops go to the kernel directly. Those of the C library are points
// where a thread may be cancelled, which costs two atomic operations a call, some 30 ns, as soon as
// a process has a second thread. What arguments the kernel takes: linux/syscalls.h.

/// Hands bytes to a connected socket: one system call, never a signal.
#[inline]
pub fn send(fd: RawFd, bytes: &[u8], flags: i32) -> io::Result<usize> {
    let (fd, flags) = (word(fd), word(flags | libc::MSG_NOSIGNAL));
    let (at, length) = (bytes.as_ptr(), bytes.len());
    let nobody = std::ptr::null::<libc::sockaddr>();
    // SAFETY: pointer and length describe the slice, which lives through the call; no address is given.
    counted(unsafe { libc::syscall(libc::SYS_sendto, fd, at, length, flags, nobody, 0_usize) })
}

/// Takes bytes from a socket: one system call.
#[inline]
pub fn receive(fd: RawFd, bytes: &mut [u8], flags: i32) -> io::Result<usize> {
    let (fd, flags) = (word(fd), word(flags));
    let (at, length) = (bytes.as_mut_ptr(), bytes.len());
    let nobody = std::ptr::null_mut::<libc::sockaddr>();
    // SAFETY: pointer and length describe the slice, which lives through the call; no address is asked for.
    counted(unsafe { libc::syscall(libc::SYS_recvfrom, fd, at, length, flags, nobody, nobody) })
}

/// Takes one datagram and says where it came from.
pub fn receive_from(
    fd: &OwnedFd,
    bytes: &mut [u8],
    flags: i32,
) -> io::Result<(usize, Option<SocketAddr>, Address)> {
    let mut from = Address::empty();
    let storage = (&raw mut from.storage).cast();
    let buffer = bytes.as_mut_ptr().cast();
    // SAFETY: both pointers and lengths describe memory that lives through the call.
    let count = counted(unsafe {
        let fd = fd.as_raw_fd();
        libc::recvfrom(fd, buffer, bytes.len(), flags, storage, &mut from.length) as libc::c_long
    })?;
    Ok((count, from.internet(), from))
}

/// Waits until one of the descriptors can be read, at most `timeout`; `true` for each that can.
pub fn wait_readable(fds: &[RawFd], timeout: Duration) -> io::Result<Vec<bool>> {
    let mut asked: Vec<libc::pollfd> = fds
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let millis = i32::try_from(timeout.as_millis() + 1).unwrap_or(i32::MAX);
    // SAFETY: pointer and count describe the vector, which lives through the call.
    let result = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, millis) };
    match checked(result) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(asked.iter().map(|p| p.revents != 0).collect()),
    }
}

/// Whether a call found nothing to do in its time: `EAGAIN`, or a signal came.
pub fn is_idle(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Hands two pieces of one datagram to a bound packet socket: one system call, no copy.
#[inline]
pub fn send_parts(fd: RawFd, head: &[u8], body: &[u8], flags: i32) -> io::Result<usize> {
    let part = |bytes: &[u8]| libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let mut parts = [part(head), part(body)];
    // SAFETY: all bits zero is a valid msghdr: null pointers of length zero.
    let mut message = unsafe { MaybeUninit::<libc::msghdr>::zeroed().assume_init() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len();
    // SAFETY: the message describes the two slices, which live through the call and are only read.
    counted(unsafe {
        let flags = word(flags | libc::MSG_NOSIGNAL);
        libc::syscall(libc::SYS_sendmsg, word(fd), &raw const message, flags)
    })
}

/// Asks the kernel one thing about an interface (netdevice(7)).
pub fn interface_request(
    fd: &OwnedFd,
    name: &str,
    request: libc::Ioctl,
) -> io::Result<libc::ifreq> {
    // SAFETY: all bits zero is a valid ifreq.
    let mut asked = unsafe { MaybeUninit::<libc::ifreq>::zeroed().assume_init() };
    if name.len() >= asked.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in asked.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the request reads and writes one ifreq, which lives through the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), request, &mut asked) })?;
    Ok(asked)
}
