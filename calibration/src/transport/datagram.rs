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

/// Greatest number of datagrams taken in one read.
const READ_FRAMES: usize = 64;
/// Buffer size of one read, in bytes; it limits the number of long datagrams.
const READ_BYTES: usize = 256 * 1024;

/// If two reads end within this time, in ns, the second datagram was already waiting, and so a
/// third may be waiting.
const HURRY_NS: u64 = 2_000;

/// Reading half of a datagram socket, with one system call and one clock reading per read. A
/// receiver that keeps up reads one datagram per call. A receiver that lags reads all waiting
/// datagrams.
///
/// Measured between two hosts of the lab at full speed (medians of seven alternating runs, 64 B and
/// 1472 B): reading all waiting datagrams receives 1.6 and 1.5 times as many frames per second as
/// reading one per call. If only one is waiting, as in round trips, it costs 0.2 µs more.
pub struct Reader {
    fd: Arc<OwnedFd>,
    wait: Wait,
    batch: ReceiveBatch,
    /// Whether more than one datagram may be waiting.
    lags: bool,
    /// End of the last read that returned a datagram, in ns.
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

    /// Waits for datagrams, and passes all of one read to `each`, in order of arrival.
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

    /// Chooses the kind of the next read after a read of `count` datagrams that ended at `now`.
    /// After several datagrams, or one that followed within [`HURRY_NS`], the next read takes all
    /// that are waiting.
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

    /// Reader of datagrams of one byte, and the socket that sends to it.
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
