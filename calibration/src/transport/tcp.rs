//! TCP: frames of fixed size in a byte stream; the receiver separates them by counting bytes.

use super::joining::Joining;
use super::options::{Options, SEND_PATIENCE};
use super::pause;
use super::socket;
use super::{FrameReceiver, FrameSender, OPENING_BYTES, Opening, Token};
use crate::clock::now_ns;
use crate::error::{Context, Result};
use crate::frame::Header;
use rustix::io::{ioctl_fionbio, ioctl_fionread};
use rustix::net::sockopt::{Timeout, set_tcp_nodelay};
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size of one read, in bytes, rounded down to whole frames. It is small, so that a read from a
/// full socket buffer soon lets the sender continue.
const CHUNK_BYTES: usize = 8 * 1024;
/// Greatest part of a frame, in bytes, that is moved to the front of the buffer. After a longer
/// part, the next read continues in place.
const MOVABLE_BYTES: usize = 4096;
/// Greatest number of bytes held back for a batch.
const HELD_BYTES: usize = 1 << 20;

/// Opens a listening socket on a free port; returns both.
pub fn listen(local: IpAddr, options: &Options) -> Result<(OwnedFd, u16)> {
    let opened = || -> io::Result<(OwnedFd, u16)> {
        let fd = socket::open_for(local, SocketType::STREAM)?;
        options.apply(&fd, Some(local))?;
        net::bind(&fd, &SocketAddr::new(local, 0))?;
        net::listen(&fd, options.streams.max(16) as i32)?;
        ioctl_fionbio(&fd, true)?;
        let port = socket::local_address(&fd)?.port();
        Ok((fd, port))
    };
    opened().or_peer(format!("cannot listen for TCP data on {local}"))
}

/// A connection that has not shown its token yet.
struct Candidate {
    fd: OwnedFd,
    bytes: [u8; OPENING_BYTES],
    filled: usize,
}

impl Candidate {
    /// Reads available bytes. Returns `None` if the opening is incomplete, `Some(None)` if the
    /// connection must be refused, and `Some(Some(stream))` if it is the peer's.
    fn advance(&mut self, token: &Token) -> Option<Option<u16>> {
        let rest = &mut self.bytes[self.filled..];
        match socket::receive(&self.fd, rest, RecvFlags::DONTWAIT) {
            Ok(0) => Some(None),
            Ok(count) => {
                self.filled += count;
                (self.filled == OPENING_BYTES).then(|| Opening::read(&self.bytes, token))
            }
            Err(e) if socket::is_idle(&e) => None,
            Err(_) => Some(None),
        }
    }
}

/// Accepts one connection per stream from `peer`, each after it has shown the token and its number.
///
/// Connections from other addresses or with a wrong token are closed without a reply and cause no delay.
pub fn accept(
    listener: &OwnedFd,
    peer: IpAddr,
    token: &Token,
    options: &Options,
    deadline: Duration,
) -> Result<Vec<OwnedFd>> {
    let joining = Joining::new(peer, options.streams, "TCP data connections", deadline);
    let mut streams: Vec<Option<OwnedFd>> = (0..options.streams).map(|_| None).collect();
    let mut candidates: Vec<Candidate> = Vec::new();
    while streams.iter().any(Option::is_none) {
        let left = joining.left(streams.iter().filter(|s| s.is_none()).count())?;
        let mut fds = vec![listener.as_fd()];
        fds.extend(candidates.iter().map(|c| c.fd.as_fd()));
        let ready = socket::wait_readable(&fds, left).or_peer("cannot wait for TCP data")?;
        admit(&mut candidates, &ready[1..], token, &mut streams);
        if ready[0] {
            welcome(
                listener,
                &joining,
                &mut candidates,
                2 * options.streams + 16,
            );
        }
    }
    let ready = |fd: OwnedFd| prepare(fd, options).or_peer("cannot set up a TCP data connection");
    streams.into_iter().flatten().map(ready).collect()
}

/// Takes waiting connections of the peer, up to `most` that have not shown their token.
fn welcome(listener: &OwnedFd, joining: &Joining, candidates: &mut Vec<Candidate>, most: usize) {
    while let Ok((fd, from)) = net::acceptfrom_with(listener, SocketFlags::CLOEXEC) {
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        let known = from.is_some_and(|a| joining.is_peer(a.ip()));
        if known && candidates.len() < most {
            candidates.push(Candidate {
                fd,
                bytes: [0; OPENING_BYTES],
                filled: 0,
            });
        }
    }
}

/// Moves candidates that have shown the token to their place and drops those that were wrong.
fn admit(
    candidates: &mut Vec<Candidate>,
    ready: &[bool],
    token: &Token,
    streams: &mut [Option<OwnedFd>],
) {
    for index in (0..candidates.len()).rev() {
        if !ready.get(index).copied().unwrap_or(false) {
            continue;
        }
        if let Some(verdict) = candidates[index].advance(token) {
            let candidate = candidates.swap_remove(index);
            let place = verdict.and_then(|stream| streams.get_mut(usize::from(stream)));
            if let Some(place @ None) = place {
                *place = Some(candidate.fd);
            }
        }
    }
}

/// Connects stream number `stream` and shows the token.
pub fn connect(
    local: IpAddr,
    to: SocketAddr,
    token: &Token,
    stream: u16,
    options: &Options,
    deadline: Duration,
) -> Result<OwnedFd> {
    let connected = || -> io::Result<OwnedFd> {
        let fd = socket::open_for(to.ip(), SocketType::STREAM)?;
        options.apply(&fd, Some(to.ip()))?;
        net::bind(&fd, &SocketAddr::new(local, 0))?;
        socket::set_timeout(&fd, Timeout::Send, deadline)?;
        net::connect(&fd, &to)?;
        socket::set_timeout(&fd, Timeout::Send, SEND_PATIENCE)?;
        let opening = Opening::bytes(token, stream);
        if socket::send(&fd, &opening, SendFlags::NOSIGNAL)? != opening.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        prepare(fd, options)
    };
    connected().or_peer(format!("cannot open a TCP data connection to {to}"))
}

fn prepare(fd: OwnedFd, options: &Options) -> io::Result<OwnedFd> {
    set_tcp_nodelay(&fd, !options.nagle)?;
    socket::set_timeout(&fd, Timeout::Send, SEND_PATIENCE)?;
    Ok(fd)
}

/// The greatest segment of a connection, in bytes.
pub fn segment_bytes(fd: &OwnedFd) -> io::Result<i32> {
    let mut bytes = [0; 4];
    socket::option_bytes(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}

/// Sends frames into a connection, with one system call per frame unless batching is requested.
pub struct Sender {
    fd: Arc<OwnedFd>,
    flags: SendFlags,
    batch_frames: usize,
    held: Vec<u8>,
    held_frames: usize,
}

impl Sender {
    /// A sender on a connection.
    pub fn new(fd: Arc<OwnedFd>, options: &Options) -> Self {
        Self {
            fd,
            flags: socket::sending(options.polling),
            batch_frames: options.batch_frames,
            held: Vec::new(),
            held_frames: 0,
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Holds a frame back until the batch is full; `header` is written into the held copy. To the
    /// kernel, one send of a contiguous buffer is the same as a writev of the frames.
    #[inline]
    fn hold(&mut self, frame: &[u8], header: Option<&Header>) -> io::Result<bool> {
        let start = self.held.len();
        self.held.extend_from_slice(frame);
        if let Some(header) = header {
            header.write(&mut self.held[start..]);
        }
        self.held_frames += 1;
        if self.held_frames >= self.batch_frames || self.held.len() >= HELD_BYTES {
            self.flush()?;
        }
        Ok(true)
    }

    /// Sends the bytes that a first call left over; a byte stream cannot abandon a frame halfway.
    #[cold]
    fn send_rest(&self, first: io::Result<usize>, bytes: &[u8]) -> io::Result<()> {
        let until = Instant::now() + SEND_PATIENCE;
        let mut rest = bytes;
        let mut result = first;
        loop {
            match result {
                Ok(count) => rest = &rest[count..],
                Err(e) if socket::is_idle(&e) && Instant::now() < until => std::hint::spin_loop(),
                Err(e) if socket::is_idle(&e) => return Err(io::ErrorKind::TimedOut.into()),
                Err(e) => return Err(e),
            }
            if rest.is_empty() {
                return Ok(());
            }
            result = socket::send(&self.fd, rest, self.flags);
        }
    }

    #[inline]
    fn send_all(&self, bytes: &[u8]) -> io::Result<()> {
        match socket::send(&self.fd, bytes, self.flags) {
            Ok(count) if count == bytes.len() => Ok(()),
            other => self.send_rest(other, bytes),
        }
    }
}

impl FrameSender for Sender {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if self.batch_frames > 1 {
            return self.hold(frame, None);
        }
        self.send_all(frame).map(|()| true)
    }

    /// A batch copies the frame before it writes the header: a copy of bytes that were just written
    /// must wait for them.
    #[inline]
    fn send_stamped(&mut self, header: &Header, frame: &mut [u8]) -> io::Result<bool> {
        if self.batch_frames > 1 {
            return self.hold(frame, Some(header));
        }
        header.write(frame);
        self.send_all(frame).map(|()| true)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let result = self.send_all(&self.held);
        self.held.clear();
        self.held_frames = 0;
        result
    }

    #[inline]
    fn is_holding(&self) -> bool {
        self.held_frames > 0
    }
}

/// Receives frames from a connection in chunks, with one read and one clock reading for all waiting
/// frames.
pub struct Receiver {
    fd: Arc<OwnedFd>,
    wait: super::Wait,
    /// Whether the stream is unlimited, so that the reader may pause if nothing is waiting.
    pauses: bool,
    frame_bytes: usize,
    buffer: Vec<u8>,
    /// Index of the first byte not handed on, which is always the start of a frame.
    start: usize,
    /// End of the bytes read.
    end: usize,
    /// Bytes of the connection used by the opening, before the first frame.
    opening_bytes: u64,
}

impl Receiver {
    /// A receiver on a connection; `accepted`: the peer opened it, so its token came first.
    pub fn new(fd: Arc<OwnedFd>, options: &Options, accepted: bool) -> Self {
        let frame_bytes = options.receive_bytes;
        let room = frame_bytes * (CHUNK_BYTES / frame_bytes).max(1);
        Self {
            fd,
            wait: super::Wait::new(options.polling),
            pauses: options.full_speed && !options.polling,
            frame_bytes,
            buffer: vec![0; room],
            start: 0,
            end: 0,
            opening_bytes: if accepted { OPENING_BYTES as u64 } else { 0 },
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Makes room for the next read. The buffer holds whole frames, so a full buffer leaves no
    /// rest. A short rest is moved to the front; after a long rest, the next read continues in
    /// place.
    #[inline]
    fn make_room(&mut self) {
        let rest = self.end - self.start;
        if rest == 0 {
            self.start = 0;
            self.end = 0;
        } else if self.start > 0 && rest <= MOVABLE_BYTES {
            self.buffer.copy_within(self.start..self.end, 0);
            self.start = 0;
            self.end = rest;
        }
    }

    /// Reads into the free part of the buffer; `None` if nothing came in time.
    #[inline]
    fn read(&mut self, timeout: Duration) -> io::Result<Option<usize>> {
        let room = &mut self.buffer[self.end..];
        if self.pauses {
            match socket::receive(&self.fd, room, RecvFlags::DONTWAIT) {
                Err(error) if socket::is_idle(&error) => pause::until_plenty(&self.fd),
                read => return read.map(Some),
            }
        }
        self.wait.read(&self.fd, timeout, room)
    }

    /// Passes the whole frames in the buffer to `each`; returns their number.
    #[inline]
    fn hand_on(&mut self, now: u64, each: &mut impl FnMut(u64, &[u8])) -> usize {
        let size = self.frame_bytes;
        let frames = self.buffer[self.start..self.end].chunks_exact(size);
        let count = frames.len();
        frames.for_each(|frame| each(now, frame));
        self.start += count * size;
        count
    }
}

impl FrameReceiver for Receiver {
    #[inline]
    fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(u64, &[u8]),
    ) -> io::Result<usize> {
        let mut until = None;
        loop {
            self.make_room();
            let read = self.read(timeout)?;
            let now = now_ns();
            match read {
                None => return Ok(0),
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(count) => self.end += count,
            }
            let count = self.hand_on(now, &mut each);
            let patience = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
            if count > 0 || now >= *until.get_or_insert(now.saturating_add(patience)) {
                return Ok(count);
            }
        }
    }

    fn delivered_bytes(&self) -> Option<u64> {
        delivered(&self.fd)?.checked_sub(self.opening_bytes)
    }

    fn overflow(&self) -> Option<u64> {
        None
    }
}

/// Offset of `tcpi_bytes_received` in the kernel's `struct tcp_info` (linux/tcp.h).
const BYTES_RECEIVED_AT: usize = 128;
/// `TCP_CLOSE_WAIT`, a value of `tcpi_state` (offset 0): the peer's FIN has arrived and counts as a
/// byte.
const CLOSE_WAIT: u8 = 8;

/// Bytes that the connection received, less those still waiting in the socket. The two are read one
/// after the other. So the reading is repeated until no bytes arrive in between.
fn delivered(fd: &OwnedFd) -> Option<u64> {
    let received = || -> Option<(u64, u8)> {
        let mut info = [0; BYTES_RECEIVED_AT + 8];
        let length = socket::option_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).ok()?;
        let bytes: [u8; 8] = info.get(BYTES_RECEIVED_AT..length)?.try_into().ok()?;
        Some((u64::from_ne_bytes(bytes), info[0]))
    };
    for _ in 0..1000 {
        let (before, _) = received()?;
        let waiting = ioctl_fionread(fd).ok()?;
        let (after, state) = received()?;
        if before == after {
            let fin = u64::from(state == CLOSE_WAIT);
            return after.checked_sub(waiting + fin);
        }
    }
    None
}
