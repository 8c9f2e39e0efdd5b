//! Kernel lists read by rtnetlink(7). Fields are in the host's byte order.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::os::fd::OwnedFd;

const HEADER_BYTES: usize = 16;
const ANSWER_BYTES: usize = 32 * 1024;

/// Requests a list and returns the bodies of all reply messages, without their headers.
pub(super) fn list(request: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let socket: OwnedFd = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // NETLINK_ROUTE
    )?;
    send(&socket, &message_of(request, body), SendFlags::empty())?;
    let mut buffer = vec![0_u8; ANSWER_BYTES];
    let mut bodies = Vec::new();
    loop {
        let (received, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..received];
        while let Some((kind, body, after)) = message(rest) {
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(bodies),
                libc::NLMSG_ERROR => {
                    return Err(io::Error::other("the kernel refused the netlink request"));
                }
                _ => bodies.push(body.to_vec()),
            }
            rest = after;
        }
        if received == 0 {
            return Ok(bodies);
        }
    }
}

fn message_of(request: u16, body: &[u8]) -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let length = HEADER_BYTES + body.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(request.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend(body);
    bytes
}

/// The first message: its type, its body and the bytes after it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER_BYTES..length)?;
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    Some((kind, body, after))
}

/// The value of the first attribute of a kind.
pub(super) fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let value = attributes.get(4..usize::from(length))?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(usize::from(length).next_multiple_of(4)..)?;
    }
    None
}

/// Reads the number at an offset.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn damaged_answers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), wanted in any::<u16>()) {
            if let Some((_, body, _)) = message(&bytes) {
                attribute(body, wanted);
            }
            attribute(&bytes, wanted);
        }

        #[test]
        fn what_is_asked_is_one_message(request in any::<u16>(), body in prop::collection::vec(any::<u8>(), 0..9)) {
            let bytes = message_of(request, &body);
            prop_assert_eq!(message(&bytes), Some((request, &body[..], &[][..])));
        }
    }
}
