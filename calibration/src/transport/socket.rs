//! Socket calls of the transports, by `rustix`, which calls the kernel directly.
//!
//! The C library's calls are thread cancellation points. In a process with several threads each costs two
//! atomic operations, about 30 ns.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Opens a socket of the family of an address, closed on exec.
pub fn open_for(ip: IpAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if ip.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    open(family, kind)
}

/// Opens a socket that is closed on exec.
pub fn open(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(
        family,
        kind,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// The address a socket is bound to.
pub fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(fd)?.try_into()?)
}

/// Sets how long a blocking call waits, rounded up to the kernel's tick; never endless.
pub fn set_timeout(fd: &OwnedFd, calls: Timeout, timeout: Duration) -> io::Result<()> {
    let timeout = timeout.clamp(Duration::from_micros(1), Duration::from_secs(1_000_000));
    Ok(set_socket_timeout(fd, calls, Some(timeout))?)
}

/// Sets a socket option that `rustix` does not name.
pub fn set<T: Copy>(fd: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let pointer = std::ptr::from_ref(value).cast();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointer and length describe the value, which lives through the call.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, length) })
}

/// Reads a socket option that `rustix` does not name into `bytes`; returns how many of them the
/// kernel filled.
pub fn option_bytes(fd: &OwnedFd, level: i32, name: i32, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = bytes.len() as libc::socklen_t;
    let pointer = bytes.as_mut_ptr().cast();
    // SAFETY: pointer and length describe the slice, which lives through the call.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &mut length) })?;
    Ok(length as usize)
}

/// Turns the −1 of a system call into its error.
pub fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Send flags for polling and blocking senders: never raise SIGPIPE.
pub fn sending(polling: bool) -> SendFlags {
    if polling {
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT
    } else {
        SendFlags::NOSIGNAL
    }
}

/// Hands bytes to a connected socket: one system call.
#[inline]
pub fn send(fd: &OwnedFd, bytes: &[u8], flags: SendFlags) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, flags)?)
}

/// Hands two pieces of one datagram to a bound packet socket: one system call, no copy.
#[inline]
pub fn send_parts(fd: &OwnedFd, head: &[u8], body: &[u8], flags: SendFlags) -> io::Result<usize> {
    let parts = [IoSlice::new(head), IoSlice::new(body)];
    let mut nothing = SendAncillaryBuffer::default();
    Ok(rustix::net::sendmsg(fd, &parts, &mut nothing, flags)?)
}

/// Takes bytes from a socket: one system call.
#[inline]
pub fn receive(fd: &OwnedFd, bytes: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
    Ok(rustix::net::recv(fd, bytes, flags)?.0)
}

/// Waits until one of the descriptors can be read, at most `timeout`; `true` for each that can.
pub fn wait_readable(fds: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<Vec<bool>> {
    let mut asked: Vec<PollFd<'_>> = (fds.iter())
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
    match poll(&mut asked, Some(&timeout)) {
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(asked.iter().map(|fd| !fd.revents().is_empty()).collect()),
    }
}

/// Whether an error means that nothing happened in time: `EAGAIN`, or an interruption by a signal.
pub fn is_idle(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
