//! Code shared by UDP and direct Ethernet: sockets that carry one frame per datagram.

use super::batch::{ReceiveBatch, SendBatch};
use super::options::SEND_PATIENCE;
use super::{Wait, socket};
use rustix::net::SendFlags;
use rustix::net::sockopt::Timeout;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Outcome of one attempt to send.
pub enum Attempt {
    /// The kernel refused this frame; the next may go.
    Refused,
    /// The socket is full: try again.
    Again,
}

/// Classifies send errors: frame lost, or try again.
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
    flags: SendFlags,
    mut on_refusal: impl FnMut() -> bool,
) -> io::Result<u64> {
    let until = Instant::now() + SEND_PATIENCE;
    let (mut sent, mut refused) = (0, 0);
    while sent < batch.held() {
        let attempt = match batch.send(fd, sent, flags) {
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

/// Two reads that end within this time, in ns, had no sleep between them: the second datagram was
/// waiting already, and so may a third.
const HURRY_NS: u64 = 2_000;

/// The reading half of a datagram socket: one system call and one look at the clock a read. A
/// receiver that keeps up reads one datagram a call, one that lags all that wait.
///
/// Measured between two hosts of the lab at full speed (medians of seven alternating runs, 64 B and
/// 1472 B): reading all that wait takes in 1.6 and 1.5 times as many frames a second as one a call.
/// If only one is waiting, as in round trips, it costs 0.2 µs more.
pub struct Reader {
    fd: Arc<OwnedFd>,
    wait: Wait,
    batch: ReceiveBatch,
    /// More than one datagram may wait.
    lags: bool,
    /// End of the last read that took something.
    read_ns: u64,
}

impl Reader {
    /// Reads datagrams of at most `most_bytes`; longer ones are cut to that.
    pub fn new(fd: Arc<OwnedFd>, most_bytes: usize, polling: bool) -> Self {
        let frames = (READ_BYTES / most_bytes).clamp(1, READ_FRAMES);
        Self {
            fd,
            wait: Wait::new(polling),
            batch: ReceiveBatch::new(frames, most_bytes),
            lags: false,
            read_ns: 0,
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
        let (fd, batch, lags) = (&*self.fd, &mut self.batch, self.lags);
        let arm = |timeout| socket::set_timeout(fd, Timeout::Recv, timeout);
        let read = self.wait.call(timeout, arm, |at_once| {
            let flags = super::reading(at_once);
            match lags {
                true => batch.receive(fd, flags),
                false => batch.receive_one(fd, flags),
            }
        })?;
        let now = crate::clock::now_ns();
        let count = read.unwrap_or(0);
        self.note(now, count);
        self.batch.frames(count).for_each(|frame| each(now, frame));
        Ok(count)
    }

    /// Judges from a read that ended at `now` how to do the next: a single datagram that came in a
    /// hurry is worth one look for more, several are worth another.
    #[inline]
    fn note(&mut self, now: u64, count: usize) {
        let hurried = !self.lags && now.saturating_sub(self.read_ns) < HURRY_NS;
        self.lags = count > 1 || (count == 1 && hurried);
        if count > 0 {
            self.read_ns = now;
        }
    }
}

/// Frames dropped by a socket because its buffer was full, from `SO_MEMINFO` (linux/sock_diag.h).
pub fn drops(fd: &OwnedFd) -> Option<u64> {
    /// `SK_MEMINFO_DROPS`: the ninth of the counters.
    const DROPS_AT: usize = 8 * 4;
    let mut memory = [0; DROPS_AT + 4];
    let length = socket::option_bytes(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut memory).ok()?;
    let bytes: [u8; 4] = memory.get(DROPS_AT..length)?.try_into().ok()?;
    Some(u64::from(u32::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{SocketType, bind, connect};
    use std::net::{Ipv4Addr, SocketAddr};

    /// A reader of datagrams of one byte, and whom it hears.
    fn pair() -> (Reader, OwnedFd) {
        let open = || {
            let fd = socket::open_for(Ipv4Addr::LOCALHOST.into(), SocketType::DGRAM).unwrap();
            bind(&fd, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
            fd
        };
        let (reads, sends) = (open(), open());
        let at = socket::local_address(&reads).unwrap();
        connect(&sends, &at).unwrap();
        (Reader::new(Arc::new(reads), 1, false), sends)
    }

    fn read(reader: &mut Reader) -> Vec<u8> {
        let mut bytes = Vec::new();
        let each = |_, frame: &[u8]| bytes.extend_from_slice(frame);
        let count = reader.receive(Duration::from_millis(5), each).unwrap();
        assert_eq!(count, bytes.len());
        bytes
    }

    #[test]
    fn a_reader_that_lags_takes_all_that_wait() {
        let (mut reader, sends) = pair();
        for byte in 0..10 {
            socket::send(&sends, &[byte], SendFlags::NOSIGNAL).unwrap();
        }
        reader.lags = true;
        assert_eq!(read(&mut reader), (0..10).collect::<Vec<u8>>());
        assert!(reader.lags);
        assert!(read(&mut reader).is_empty());
        assert!(!reader.lags);
    }

    #[test]
    fn a_reader_that_keeps_up_takes_one() {
        let (mut reader, sends) = pair();
        for byte in 0..3 {
            socket::send(&sends, &[byte], SendFlags::NOSIGNAL).unwrap();
        }
        assert_eq!(read(&mut reader), [0]);
        assert!(!reader.lags);
    }

    #[test]
    fn one_in_a_hurry_is_worth_one_look_for_more() {
        let (mut reader, _sends) = pair();
        let mut judged = |now, count| {
            reader.note(now, count);
            reader.lags
        };
        assert!(!judged(10_000, 1));
        assert!(judged(11_000, 1));
        assert!(!judged(12_000, 1));
        assert!(judged(12_500, 1));
        assert!(judged(99_000, 2));
        assert!(!judged(99_500, 0));
        assert!(!judged(200_000, 1));
    }
}
