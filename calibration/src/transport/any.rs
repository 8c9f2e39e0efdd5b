//! Whichever layer a run uses, as one type: dispatch by a match, which a sender or receiver loop
//! can also leave by taking the layer's own type out.

use super::{FrameReceiver, FrameSender, ethernet, socket, tcp, udp, zeromq};
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The sending half of a connection of any layer.
pub enum AnySender {
    /// TCP.
    Tcp(tcp::Sender),
    /// UDP.
    Udp(udp::Sender),
    /// Direct Ethernet.
    Ethernet(ethernet::Sender),
    /// ZeroMQ.
    Zeromq(zeromq::Sender),
}

/// The receiving half of a connection of any layer.
pub enum AnyReceiver {
    /// TCP.
    Tcp(tcp::Receiver),
    /// UDP.
    Udp(udp::Receiver),
    /// Direct Ethernet.
    Ethernet(ethernet::Receiver),
    /// ZeroMQ.
    Zeromq(zeromq::Receiver),
}

impl FrameSender for AnySender {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        match self {
            Self::Tcp(sender) => sender.send(frame),
            Self::Udp(sender) => sender.send(frame),
            Self::Ethernet(sender) => sender.send(frame),
            Self::Zeromq(sender) => sender.send(frame),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(sender) => sender.flush(),
            Self::Udp(sender) => sender.flush(),
            Self::Ethernet(sender) => sender.flush(),
            Self::Zeromq(sender) => sender.flush(),
        }
    }

    fn refused(&self) -> u64 {
        match self {
            Self::Tcp(sender) => sender.refused(),
            Self::Udp(sender) => sender.refused(),
            Self::Ethernet(sender) => sender.refused(),
            Self::Zeromq(sender) => sender.refused(),
        }
    }
}

impl FrameReceiver for AnyReceiver {
    #[inline]
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize> {
        match self {
            Self::Tcp(receiver) => receiver.receive(timeout, each),
            Self::Udp(receiver) => receiver.receive(timeout, each),
            Self::Ethernet(receiver) => receiver.receive(timeout, each),
            Self::Zeromq(receiver) => receiver.receive(timeout, each),
        }
    }

    fn delivered_bytes(&self) -> Option<u64> {
        match self {
            Self::Tcp(receiver) => receiver.delivered_bytes(),
            Self::Udp(receiver) => receiver.delivered_bytes(),
            Self::Ethernet(receiver) => receiver.delivered_bytes(),
            Self::Zeromq(receiver) => receiver.delivered_bytes(),
        }
    }

    fn overflow(&self) -> Option<u64> {
        match self {
            Self::Tcp(receiver) => receiver.overflow(),
            Self::Udp(receiver) => receiver.overflow(),
            Self::Ethernet(receiver) => receiver.overflow(),
            Self::Zeromq(receiver) => receiver.overflow(),
        }
    }
}

impl AnySender {
    /// What the system chose for this socket: `send_buffer_bytes`, for TCP also `mss_bytes` and
    /// `congestion_control`; for ZeroMQ what [`zeromq::Sender::chosen`] says.
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        match self {
            Self::Tcp(sender) => {
                let mut chosen = buffer(sender.fd(), "send_buffer_bytes", libc::SO_SNDBUF);
                chosen.extend(tcp_choice(sender.fd()));
                chosen
            }
            Self::Udp(sender) => buffer(sender.fd(), "send_buffer_bytes", libc::SO_SNDBUF),
            Self::Ethernet(sender) => buffer(sender.fd(), "send_buffer_bytes", libc::SO_SNDBUF),
            Self::Zeromq(sender) => sender.chosen(),
        }
    }
}

impl AnyReceiver {
    /// What the system chose for this socket: `receive_buffer_bytes`; for ZeroMQ what
    /// [`zeromq::Receiver::chosen`] says.
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        let fd = match self {
            Self::Tcp(receiver) => receiver.fd(),
            Self::Udp(receiver) => receiver.fd(),
            Self::Ethernet(receiver) => receiver.fd(),
            Self::Zeromq(receiver) => return receiver.chosen(),
        };
        buffer(fd, "receive_buffer_bytes", libc::SO_RCVBUF)
    }
}

fn buffer(fd: &OwnedFd, name: &str, option: i32) -> BTreeMap<String, Value> {
    let bytes = socket::option(fd, libc::SOL_SOCKET, option).ok();
    bytes
        .map(|b| (name.to_owned(), b.into()))
        .into_iter()
        .collect()
}

fn tcp_choice(fd: &OwnedFd) -> BTreeMap<String, Value> {
    let mut name = [0; 16];
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let control = socket::option_bytes(fd, level, option, &mut name).ok();
    let control = control.map(|length| {
        let text = String::from_utf8_lossy(&name[..length]);
        text.trim_end_matches('\0').to_owned()
    });
    let mss = socket::option(fd, level, libc::TCP_MAXSEG).ok();
    let control = control.map(|c| ("congestion_control".to_owned(), c.into()));
    let mss = mss.map(|m| ("mss_bytes".to_owned(), m.into()));
    control.into_iter().chain(mss).collect()
}

/// One stream between the ends, with the halves that the pattern uses at this end. The halves may
/// be moved to different threads.
pub struct Connection {
    /// The sending half.
    pub sender: Option<AnySender>,
    /// The receiving half.
    pub receiver: Option<AnyReceiver>,
}

impl Connection {
    /// The sending half, at the end that sends.
    ///
    /// # Errors
    /// This end only receives.
    pub fn into_sender(self) -> Result<AnySender> {
        let missing =
            || Error::question("this end of the stream only receives: ask the other end to send");
        self.sender.ok_or_else(missing)
    }

    /// The receiving half, at the end that receives.
    ///
    /// # Errors
    /// This end only sends.
    pub fn into_receiver(self) -> Result<AnyReceiver> {
        let missing =
            || Error::question("this end of the stream only sends: ask the other end to receive");
        self.receiver.ok_or_else(missing)
    }

    /// Both halves as one, for patterns that go both ways.
    ///
    /// # Errors
    /// The pattern goes one way.
    pub fn into_duplex(self) -> Result<AnyDuplex> {
        match (self.sender, self.receiver) {
            (Some(sender), Some(receiver)) => Ok(AnyDuplex { sender, receiver }),
            _ => Err(Error::question(
                "a stream goes one way: round trips need the pattern ping-pong or one of the calls",
            )),
        }
    }
}

/// Both halves of a connection, used by one thread.
pub struct AnyDuplex {
    /// The sending half.
    pub sender: AnySender,
    /// The receiving half.
    pub receiver: AnyReceiver,
}

impl FrameSender for AnyDuplex {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.sender.send(frame)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sender.flush()
    }

    fn refused(&self) -> u64 {
        self.sender.refused()
    }
}

impl FrameReceiver for AnyDuplex {
    #[inline]
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize> {
        self.receiver.receive(timeout, each)
    }

    fn delivered_bytes(&self) -> Option<u64> {
        self.receiver.delivered_bytes()
    }

    fn overflow(&self) -> Option<u64> {
        self.receiver.overflow()
    }
}
