//! Several datagrams in one system call: sendmmsg if batching is requested, and recvmmsg for
//! receivers that find more than one datagram waiting.

use super::socket;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

/// Converts a number to the argument type of a raw system call.
#[inline]
fn word(number: i32) -> libc::c_long {
    number.into()
}

/// Turns the −1 of a system call into its error.
#[inline]
fn counted(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Memory slots of equal size, with the list of them that the kernel reads.
struct Slots {
    messages: Vec<libc::mmsghdr>,
    _vectors: Vec<libc::iovec>,
    bytes: Vec<u8>,
    slot_bytes: usize,
}

// SAFETY: the pointers in `messages` and `_vectors` point into heap memory that this value alone
// owns and never reallocates, so they stay valid in any thread.
unsafe impl Send for Slots {}

impl Slots {
    fn new(count: usize, slot_bytes: usize) -> Self {
        let mut bytes = vec![0_u8; count * slot_bytes];
        let base = bytes.as_mut_ptr();
        let mut vectors: Vec<libc::iovec> = (0..count)
            .map(|index| libc::iovec {
                iov_base: base.wrapping_add(index * slot_bytes).cast(),
                iov_len: slot_bytes,
            })
            .collect();
        let messages = vectors
            .iter_mut()
            .map(|vector| {
                // SAFETY: all bits zero is a valid mmsghdr: null pointers of length zero.
                let mut message = unsafe { MaybeUninit::<libc::mmsghdr>::zeroed().assume_init() };
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        Self {
            messages,
            _vectors: vectors,
            bytes,
            slot_bytes,
        }
    }
}

/// Room for several datagrams of one read.
pub struct ReceiveBatch {
    slots: Slots,
}

impl ReceiveBatch {
    /// Creates a batch for `count` datagrams; datagrams longer than `slot_bytes` are cut.
    pub fn new(count: usize, slot_bytes: usize) -> Self {
        Self {
            slots: Slots::new(count, slot_bytes),
        }
    }

    /// Waits for one datagram, unless `flags` say otherwise, and takes all that are waiting then,
    /// in one system call.
    #[inline]
    pub fn receive(&mut self, fd: &OwnedFd, flags: RecvFlags) -> io::Result<usize> {
        let messages = &mut self.slots.messages;
        let (fd, flags) = (
            word(fd.as_raw_fd()),
            word(flags.bits() as i32 | libc::MSG_WAITFORONE),
        );
        let (list, length) = (messages.as_mut_ptr(), messages.len());
        let no_time = std::ptr::null_mut::<libc::timespec>();
        // SAFETY: the list describes memory that this value owns; no time limit is given.
        counted(unsafe { libc::syscall(libc::SYS_recvmmsg, fd, list, length, flags, no_time) })
    }

    /// Waits for one datagram, unless `flags` say otherwise, and takes only this one; cheaper if no
    /// second one is waiting.
    #[inline]
    pub fn receive_one(&mut self, fd: &OwnedFd, flags: RecvFlags) -> io::Result<usize> {
        let slot = &mut self.slots.bytes[..self.slots.slot_bytes];
        let length = socket::receive(fd, slot, flags)?;
        self.slots.messages[0].msg_len = length as libc::c_uint;
        Ok(1)
    }

    /// The first `count` datagrams of the last read, in the order of arrival.
    #[inline]
    pub fn frames(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let slots = self.slots.bytes.chunks_exact(self.slots.slot_bytes);
        let lengths = self.slots.messages.iter().map(|m| m.msg_len as usize);
        slots
            .zip(lengths)
            .take(count)
            .map(|(slot, length)| slot.get(..length).unwrap_or(slot))
    }
}

/// Datagrams held back until the batch is full.
pub struct SendBatch {
    slots: Slots,
    held: usize,
}

impl SendBatch {
    /// Creates a batch for `count` datagrams of at most `slot_bytes`.
    pub fn new(count: usize, slot_bytes: usize) -> Self {
        Self {
            slots: Slots::new(count, slot_bytes),
            held: 0,
        }
    }

    /// Adds a datagram, given in parts; returns true if the batch is now full. Fails if the
    /// datagram is too long.
    pub fn hold(&mut self, parts: &[&[u8]]) -> io::Result<bool> {
        let (index, size) = (self.held, self.slots.slot_bytes);
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let slot = self.slots.bytes.get_mut(index * size..(index + 1) * size);
        let Some(slot) = slot.filter(|slot| length <= slot.len()) else {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        };
        let mut at = 0;
        for part in parts {
            slot[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        // SAFETY: msg_iov points to this message's own entry in `vectors`.
        unsafe { (*self.slots.messages[index].msg_hdr.msg_iov).iov_len = length };
        self.held += 1;
        Ok(self.held == self.slots.messages.len())
    }

    /// Number of datagrams held back.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Sends the held datagrams from index `from` on, in one system call. Returns the number of
    /// datagrams that the kernel took.
    pub fn send(&mut self, fd: &OwnedFd, from: usize, flags: SendFlags) -> io::Result<usize> {
        let messages = &mut self.slots.messages[from..self.held];
        let (fd, flags) = (word(fd.as_raw_fd()), word(flags.bits() as i32));
        let (list, length) = (messages.as_mut_ptr(), messages.len());
        // SAFETY: the list describes memory that this value owns.
        counted(unsafe { libc::syscall(libc::SYS_sendmmsg, fd, list, length, flags) })
    }

    /// Drops all held datagrams.
    pub fn clear(&mut self) {
        self.held = 0;
    }
}
