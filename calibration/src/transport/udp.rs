//! UDP: one frame per datagram, on sockets connected to the peer's address and port.

use super::batch::SendBatch;
use super::datagram::{self, Attempt, Reader};
use super::joining::Joining;
use super::options::{Options, SEND_PATIENCE};
use super::socket;
use super::{FrameReceiver, FrameSender, OPENING_BYTES, Opening, Token};
use crate::error::{Context, Error, Result};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use rustix::net::{self, RecvFlags, SendFlags, SocketType};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Repeat interval of the opening datagram until it is confirmed.
const REPEAT: Duration = Duration::from_millis(50);

/// Opens a socket on a free port and returns both; nothing is answered before [`admit`].
pub fn bind(local: IpAddr, options: &Options) -> Result<(OwnedFd, u16)> {
    let opened = || -> io::Result<(OwnedFd, u16)> {
        let fd = socket::open_for(local, SocketType::DGRAM)?;
        options.apply(&fd, Some(local))?;
        fragment_freely(&fd, local)?;
        net::bind(&fd, &SocketAddr::new(local, 0))?;
        let port = socket::local_address(&fd)?.port();
        Ok((fd, port))
    };
    opened().or_peer(format!("cannot open a UDP socket on {local}"))
}

/// Lets the kernel fragment frames, and lets it report frames that its own queues refuse.
fn fragment_freely(fd: &OwnedFd, local: IpAddr) -> io::Result<()> {
    if local.is_ipv4() {
        set_ip_mtu_discover(fd, Ipv4PathMtuDiscovery::DONT)?;
        socket::set(fd, libc::IPPROTO_IP, libc::IP_RECVERR, &1_i32)
    } else {
        set_ipv6_mtu_discover(fd, Ipv6PathMtuDiscovery::DONT)?;
        socket::set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, &1_i32)
    }
}

/// Caller's side: connects to the responder's port, and sends the token until it is confirmed.
pub fn open(
    fd: &OwnedFd,
    to: SocketAddr,
    token: &Token,
    stream: u16,
    deadline: Duration,
) -> Result<()> {
    let opened = || -> io::Result<bool> {
        net::connect(fd, &to)?;
        let opening = Opening::bytes(token, stream);
        let until = Instant::now() + deadline;
        while Instant::now() < until {
            match socket::send(fd, &opening, SendFlags::NOSIGNAL) {
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                sent => drop(sent?),
            }
            let repeat = Instant::now() + REPEAT;
            while socket::wait_readable(&[fd.as_fd()], repeat - Instant::now().min(repeat))?[0] {
                if takes_opening(fd, token, stream) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    };
    if opened().or_peer(format!("cannot open the UDP data path to {to}"))? {
        return Ok(());
    }
    Err(Error::peer(format!(
        "{to} did not answer the opening datagram within {} s: look for a firewall between the hosts",
        deadline.as_secs_f64()
    )))
}

/// Reads one datagram; returns whether it is the opening of this stream.
fn takes_opening(fd: &OwnedFd, token: &Token, stream: u16) -> bool {
    let mut bytes = [0; OPENING_BYTES + 1];
    match socket::receive(fd, &mut bytes, RecvFlags::DONTWAIT) {
        Ok(count) => Opening::read(&bytes[..count], token) == Some(stream),
        Err(_) => false,
    }
}

/// Responder's side: waits for the peer's opening datagram on every socket, connects each socket to
/// the source of its opening, and confirms. Other senders get no answer, and their waiting
/// datagrams are dropped.
pub fn admit(fds: &[OwnedFd], peer: IpAddr, token: &Token, deadline: Duration) -> Result<()> {
    let joining = Joining::new(peer, fds.len(), "opening datagrams", deadline);
    let mut open: Vec<u16> = (0..fds.len() as u16).collect();
    while !open.is_empty() {
        let left = joining.left(open.len())?;
        let raw: Vec<_> = open.iter().map(|&s| fds[usize::from(s)].as_fd()).collect();
        let ready = socket::wait_readable(&raw, left).or_peer("cannot wait for UDP data")?;
        let mut ready = ready.into_iter();
        let mut failure = None;
        open.retain(|&stream| {
            let fd = &fds[usize::from(stream)];
            !ready.next().unwrap_or(false)
                || !admit_one(fd, &joining, token, stream).unwrap_or_else(|e| {
                    failure = Some(e);
                    false
                })
        });
        if let Some(e) = failure {
            return Err(e).or_peer(format!("cannot connect a UDP socket to {peer}"));
        }
    }
    Ok(())
}

/// Reads one datagram; connects to its source and confirms if it is the peer's opening.
fn admit_one(fd: &OwnedFd, joining: &Joining, token: &Token, stream: u16) -> io::Result<bool> {
    let mut bytes = [0; OPENING_BYTES + 1];
    let received = net::recvfrom(fd, &mut bytes[..], RecvFlags::DONTWAIT);
    let Ok((count, _, Some(from))) = received else {
        return Ok(false);
    };
    let from = SocketAddr::try_from(from)?;
    if !joining.is_peer(from.ip()) || Opening::read(&bytes[..count], token) != Some(stream) {
        return Ok(false);
    }
    net::connect(fd, &from)?;
    drain(fd);
    socket::send(fd, &Opening::bytes(token, stream), SendFlags::NOSIGNAL)?;
    Ok(true)
}

/// Drops datagrams that came before the socket was connected; at most 100 000, in case more keep
/// coming.
fn drain(fd: &OwnedFd) {
    let mut byte = [0];
    for _ in 0..100_000 {
        if socket::receive(fd, &mut byte, RecvFlags::DONTWAIT).is_err() {
            return;
        }
    }
}

/// Sends one frame per datagram, with one system call per frame unless batching is requested.
pub struct Sender {
    fd: Arc<OwnedFd>,
    flags: SendFlags,
    batch: Option<SendBatch>,
    refused: u64,
}

impl Sender {
    /// A sender on a connected socket.
    pub fn new(fd: Arc<OwnedFd>, options: &Options) -> Self {
        let many = options.batch_frames > 1;
        Self {
            fd,
            flags: socket::sending(options.polling),
            batch: many.then(|| SendBatch::new(options.batch_frames, options.send_bytes)),
            refused: 0,
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    #[cold]
    fn send_again(&self, error: io::Error, frame: &[u8]) -> io::Result<bool> {
        let until = Instant::now() + SEND_PATIENCE;
        let mut error = error;
        loop {
            match datagram::judge(error)? {
                Attempt::Refused => return Ok(false),
                Attempt::Again if Instant::now() < until => std::hint::spin_loop(),
                Attempt::Again => return Err(io::ErrorKind::TimedOut.into()),
            }
            match socket::send(&self.fd, frame, self.flags) {
                Ok(_) => return Ok(true),
                Err(e) => error = e,
            }
        }
    }
}

impl FrameSender for Sender {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if let Some(batch) = &mut self.batch {
            if batch.hold(&[frame])? {
                self.flush()?;
            }
            return Ok(true);
        }
        match socket::send(&self.fd, frame, self.flags) {
            Ok(_) => Ok(true),
            Err(e) => self.send_again(e, frame),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(batch) = &mut self.batch {
            self.refused += datagram::send_batch(&self.fd, batch, self.flags, || false)?;
        }
        Ok(())
    }

    #[inline]
    fn is_holding(&self) -> bool {
        self.batch.as_ref().is_some_and(|batch| batch.held() > 0)
    }

    fn refused(&self) -> u64 {
        self.refused
    }
}

/// Receives frames from the connected peer.
pub struct Receiver {
    reader: Reader,
}

impl Receiver {
    /// Creates a receiver on a connected socket. A datagram longer than a frame is cut to one byte
    /// more.
    pub fn new(fd: Arc<OwnedFd>, options: &Options) -> Self {
        Self {
            reader: Reader::new(fd, options.receive_bytes + 1, options.polling),
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        self.reader.fd()
    }
}

impl FrameReceiver for Receiver {
    #[inline]
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize> {
        self.reader.receive(timeout, each)
    }

    fn delivered_bytes(&self) -> Option<u64> {
        None
    }

    fn overflow(&self) -> Option<u64> {
        datagram::drops(self.reader.fd())
    }
}
