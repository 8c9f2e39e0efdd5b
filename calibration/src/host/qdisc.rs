//! The queueing discipline at the root of an interface, asked by netlink: rtnetlink(7), RTM_GETQDISC.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const HEADER_BYTES: usize = 16;
/// `struct tcmsg` after the header: family, index, handle, parent, info.
const TC_BYTES: usize = 20;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_KIND: u16 = 1;

/// Kind of the root queueing discipline (noqueue, fq_codel, tbf …) of the interface with this
/// index; `None` where the kernel does not say.
pub(super) fn root_kind(interface_index: u32) -> Option<String> {
    let socket = open().ok()?;
    send(&socket, &request()).ok()?;
    let mut buffer = vec![0_u8; 32 * 1024];
    loop {
        let received = receive(&socket, &mut buffer).ok()?;
        let mut rest = &buffer[..received];
        while let Some((kind, body, after)) = message(rest) {
            if kind == libc::NLMSG_DONE as u16 || kind == libc::NLMSG_ERROR as u16 {
                return None;
            }
            if let Some(name) = root_of(body, interface_index) {
                return Some(name);
            }
            rest = after;
        }
        if received == 0 {
            return None;
        }
    }
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: socket(2) takes numbers only.
    let socket = unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// A dump of all queueing disciplines. Fields are in the host's byte order.
fn request() -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + TC_BYTES);
    bytes.extend(((HEADER_BYTES + TC_BYTES) as u32).to_ne_bytes());
    bytes.extend(libc::RTM_GETQDISC.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.resize(HEADER_BYTES + TC_BYTES, 0);
    bytes
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the bytes are valid to read for their length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid to write to for its length.
    let received = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

/// The first netlink message: its type, its body and the bytes after it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER_BYTES..length)?;
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    Some((kind, body, after))
}

/// Kind of a queueing discipline if it stands at the root of the interface.
fn root_of(body: &[u8], interface_index: u32) -> Option<String> {
    let (index, parent) = (u32_at(body, 4)?, u32_at(body, 12)?);
    if index != interface_index || parent != TC_H_ROOT {
        return None;
    }
    let mut attributes = body.get(TC_BYTES..)?;
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let value = attributes.get(4..usize::from(length))?;
        if kind == TCA_KIND {
            let text = value.split(|&b| b == 0).next()?;
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..)?;
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loopback_has_no_queue() {
        assert_eq!(root_kind(1).as_deref(), Some("noqueue"));
        assert_eq!(root_kind(u32::MAX), None);
    }

    proptest! {
        #[test]
        fn damaged_answers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), index in any::<u32>()) {
            if let Some((_, body, _)) = message(&bytes) {
                root_of(body, index);
            }
            root_of(&bytes, index);
        }
    }
}
