//! Transports that carry frames: TCP, UDP, direct Ethernet and ZeroMQ, all behind the same two
//! traits.
//!
//! Both ends [`prepare`] (open ports, look up interfaces) and exchange their [`Announce`] over the
//! control channel. Then both call [`Prepared::establish`] at the same time, which returns one
//! [`Connection`] per stream. The n-th connection of one end belongs to the n-th of the other. Data
//! is exchanged only with the peer of the control connection; TCP and UDP connections begin with a
//! token.

mod any;
mod batch;
mod datagram;
mod endpoint;
pub mod ethernet;
mod joining;
mod options;
mod pause;
mod socket;
pub mod tcp;
pub mod udp;
pub mod zeromq;

pub use any::{AnyDuplex, AnyReceiver, AnySender, Connection};
pub use endpoint::{Announce, Place, Prepared, prepare};
pub use options::{ANSWER_BYTES, Options, SEND_PATIENCE, answer_bytes};

use crate::frame::Header;
use rustix::net::RecvFlags;
use rustix::net::sockopt::Timeout;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Sends whole frames.
pub trait FrameSender: Send {
    /// Sends one frame, waiting while the socket is full. `Ok(false)` means that the system refused
    /// this frame (`ENOBUFS`, `ENOMEM`, `EPERM`). Such a frame is a send error and does not count
    /// as sent.
    ///
    /// # Errors
    /// The connection is broken, or stayed full for [`SEND_PATIENCE`].
    fn send(&mut self, frame: &[u8]) -> io::Result<bool>;

    /// Writes `header` to the start of `frame` and sends it.
    ///
    /// # Errors
    /// As [`FrameSender::send`].
    #[inline]
    fn send_stamped(&mut self, header: &Header, frame: &mut [u8]) -> io::Result<bool> {
        header.write(frame);
        self.send(frame)
    }

    /// Hands the held frames of a batch to the system; also called at the end of the stream.
    ///
    /// # Errors
    /// As [`FrameSender::send`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether frames of a batch are held back, so that the last `send` made no system call.
    fn is_holding(&self) -> bool {
        false
    }

    /// Frames refused after `send` had taken them into a batch.
    fn refused(&self) -> u64 {
        0
    }
}

/// Receives whole frames.
pub trait FrameReceiver: Send {
    /// Waits at most `timeout` for frames (rounded up to the kernel's tick; zero polls once). Calls
    /// `each(received_ns, frame)` for every frame of one read; `received_ns` is the clock after
    /// that read. Returns the number of frames; 0 if none came in time.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer closed; others when the connection is broken.
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize>;

    /// Payload bytes delivered to this process so far, from the socket's own counter, if it has one.
    fn delivered_bytes(&self) -> Option<u64>;

    /// Frames dropped so far by the socket because its buffer was full, if it counts them.
    fn overflow(&self) -> Option<u64>;
}

/// Secret that authenticates a data connection.
pub type Token = [u8; 16];

/// Length of an [`Opening`].
pub(crate) const OPENING_BYTES: usize = 18;

/// The first bytes of a data connection: token, then the stream's number, little endian.
pub(crate) struct Opening;

impl Opening {
    /// The bytes to send.
    pub(crate) fn bytes(token: &Token, stream: u16) -> [u8; OPENING_BYTES] {
        let mut bytes = [0; OPENING_BYTES];
        bytes[..16].copy_from_slice(token);
        bytes[16..].copy_from_slice(&stream.to_le_bytes());
        bytes
    }

    /// Returns the stream's number if the token is right; the comparison takes constant time.
    pub(crate) fn read(bytes: &[u8], token: &Token) -> Option<u16> {
        let bytes: &[u8; OPENING_BYTES] = bytes.try_into().ok()?;
        let same: bool = bytes[..16].ct_eq(token).into();
        same.then(|| u16::from_le_bytes([bytes[16], bytes[17]]))
    }
}

/// Wait mode of a receiver: in the kernel with a timeout set once, or busy polling.
pub(crate) struct Wait {
    polling: bool,
    armed: Option<Duration>,
}

impl Wait {
    pub(crate) fn new(polling: bool) -> Self {
        Self {
            polling,
            armed: None,
        }
    }

    /// Repeats `call` until something comes; `None` if nothing comes in time. When blocking, there
    /// is only one call, in which the kernel waits. `arm` sets the kernel's timeout, and is called
    /// only if `timeout` changed. `call(true)` must not block.
    #[inline]
    pub(crate) fn call<T>(
        &mut self,
        timeout: Duration,
        arm: impl FnOnce(Duration) -> io::Result<()>,
        mut call: impl FnMut(bool) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        if self.polling || timeout.is_zero() {
            return poll(timeout, call);
        }
        if self.armed != Some(timeout) {
            arm(timeout)?;
            self.armed = Some(timeout);
        }
        match call(false) {
            Ok(got) => Ok(Some(got)),
            Err(e) if socket::is_idle(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads from a kernel socket by [`Wait::call`].
    #[inline]
    pub(crate) fn read(
        &mut self,
        fd: &OwnedFd,
        timeout: Duration,
        buffer: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let arm = |timeout| socket::set_timeout(fd, Timeout::Recv, timeout);
        self.call(timeout, arm, |at_once| {
            socket::receive(fd, buffer, reading(at_once))
        })
    }
}

/// Flags of a read: non-blocking if `at_once`, otherwise blocking.
#[inline]
fn reading(at_once: bool) -> RecvFlags {
    if at_once {
        RecvFlags::DONTWAIT
    } else {
        RecvFlags::empty()
    }
}

#[inline]
fn poll<T>(
    timeout: Duration,
    mut call: impl FnMut(bool) -> io::Result<T>,
) -> io::Result<Option<T>> {
    let mut until = None;
    loop {
        match call(true) {
            Ok(got) => return Ok(Some(got)),
            Err(e) if !socket::is_idle(&e) => return Err(e),
            Err(_) => {}
        }
        let now = crate::clock::now_ns();
        let patience = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        if now >= *until.get_or_insert(now.saturating_add(patience)) {
            return Ok(None);
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_opening_is_read_with_its_own_token_alone(
            token: Token, stream: u16, at in 0usize..16, flip in 1u8..
        ) {
            let mut bytes = Opening::bytes(&token, stream);
            prop_assert_eq!(Opening::read(&bytes, &token), Some(stream));
            bytes[at] ^= flip;
            prop_assert_eq!(Opening::read(&bytes, &token), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..40), token: Token
        ) {
            let own = bytes.len() == OPENING_BYTES && bytes.starts_with(&token);
            prop_assert_eq!(Opening::read(&bytes, &token).is_some(), own);
        }
    }

    #[test]
    fn polling_asks_until_the_time_is_over_and_gives_errors_on() {
        let mut wait = Wait::new(true);
        let mut asked = 0;
        let idle = |at_once: bool| -> io::Result<()> {
            assert!(at_once);
            asked += 1;
            Err(io::ErrorKind::WouldBlock.into())
        };
        let arm = |_| unreachable!("polling needs no timer");
        let nothing = wait.call(Duration::from_millis(2), arm, idle);
        assert_eq!(nothing.unwrap(), None);
        assert!(asked > 1);
        let broken = |_| -> io::Result<()> { Err(io::ErrorKind::ConnectionReset.into()) };
        assert!(
            wait.call(Duration::from_secs(1), |_| Ok(()), broken)
                .is_err()
        );
    }

    #[test]
    fn blocking_sets_its_time_once_and_again_when_it_changes() {
        let mut wait = Wait::new(false);
        let mut armed = Vec::new();
        for millis in [5, 5, 7, 7, 5] {
            let arm = |timeout| {
                armed.push(timeout);
                Ok(())
            };
            let got = wait.call(Duration::from_millis(millis), arm, Ok);
            assert_eq!(got.unwrap(), Some(false));
        }
        assert_eq!(armed, [5, 7, 5].map(Duration::from_millis));
    }
}
