//! What UDP and direct Ethernet share: sockets that carry one frame a datagram.

use super::batch::{ReceiveBatch, SendBatch};
use super::options::SEND_PATIENCE;
use super::{Wait, socket};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What became of one attempt to send.
pub enum Attempt {
    /// The kernel refused this frame; the next may go.
    Refused,
    /// The socket is full: try again.
    Again,
}

/// Sorts the errors of a datagram's send: which lose one frame, which want another try.
#[cold]
pub fn judge(error: io::Error) -> io::Result<Attempt> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(Attempt::Again),
        Some(libc::ENOBUFS | libc::ENOMEM | libc::EPERM) => Ok(Attempt::Refused),
        _ => Err(error),
    }
}

/// Sends a held-back batch whole. Returns how many frames the kernel refused.
pub fn send_batch(
    fd: &OwnedFd,
    batch: &mut SendBatch,
    flags: i32,
    mut on_refusal: impl FnMut() -> bool,
) -> io::Result<u64> {
    let until = Instant::now() + SEND_PATIENCE;
    let (mut sent, mut refused) = (0, 0);
    while sent < batch.held() {
        let attempt = match batch.send(fd.as_raw_fd(), sent, flags) {
            Ok(count) => {
                sent += count;
                continue;
            }
            Err(e) => judge(e)?,
        };
        match attempt {
            Attempt::Again if Instant::now() >= until => return Err(io::ErrorKind::TimedOut.into()),
            Attempt::Refused if !on_refusal() => {
                sent += 1;
                refused += 1;
            }
            _ => std::hint::spin_loop(),
        }
    }
    batch.clear();
    Ok(refused)
}

/// Datagrams taken in one read at most.
const READ_FRAMES: usize = 64;
/// Room for one read, in bytes: fewer datagrams where they are long.
const READ_BYTES: usize = 256 * 1024;

/// The reading half of a datagram socket: one system call and one look at the clock for all that
/// waits. A receiver that keeps up finds one frame a call; one that lags catches up by more.
///
/// Measured over loopback at full speed beside one frame a call (medians of seven alternating
/// runs): 1.3 times the frames of 64 B and of 1472 B received a second.
pub struct Reader {
    fd: Arc<OwnedFd>,
    wait: Wait,
    batch: ReceiveBatch,
}

impl Reader {
    /// Reads datagrams of at most `most_bytes`; longer ones are cut to that.
    pub fn new(fd: Arc<OwnedFd>, most_bytes: usize, polling: bool) -> Self {
        let frames = (READ_BYTES / most_bytes).clamp(1, READ_FRAMES);
        Self {
            fd,
            wait: Wait::new(polling),
            batch: ReceiveBatch::new(frames, most_bytes),
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Waits for datagrams and hands on all of one read as they came.
    #[inline]
    pub fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(u64, &[u8]),
    ) -> io::Result<usize> {
        let (fd, batch) = (&*self.fd, &mut self.batch);
        let arm = |timeout| socket::set_timeout(fd, libc::SO_RCVTIMEO, timeout);
        let read = self.wait.call(timeout, arm, |at_once| {
            let flags = if at_once { libc::MSG_DONTWAIT } else { 0 };
            batch.receive(fd.as_raw_fd(), flags)
        })?;
        let now = crate::clock::now_ns();
        let count = read.unwrap_or(0);
        self.batch.frames(count).for_each(|frame| each(now, frame));
        Ok(count)
    }
}

/// Frames a socket dropped for want of buffer, of `SO_MEMINFO` (linux/sock_diag.h).
pub fn drops(fd: &OwnedFd) -> Option<u64> {
    /// `SK_MEMINFO_DROPS`: the ninth of the counters.
    const DROPS_AT: usize = 8 * 4;
    let mut memory = [0; DROPS_AT + 4];
    let length = socket::option_bytes(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut memory).ok()?;
    let bytes: [u8; 4] = memory.get(DROPS_AT..length)?.try_into().ok()?;
    Some(u64::from(u32::from_ne_bytes(bytes)))
}
