//! Senders and receivers of all protocols as one enum, dispatched by `match`; loops can also take out the
//! protocol's own type.

use super::{FrameReceiver, FrameSender, ethernet, tcp, udp, zeromq};
use crate::error::{self, Error};
use crate::frame::Header;
use rustix::net::sockopt::{socket_recv_buffer_size, socket_send_buffer_size, tcp_congestion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// Sending half of a connection of any protocol.
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

/// Receiving half of a connection of any protocol.
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

/// Calls a method on the value in any variant.
macro_rules! each {
    ($any:expr, $layer:ident => $call:expr) => {
        match $any {
            Self::Tcp($layer) => $call,
            Self::Udp($layer) => $call,
            Self::Ethernet($layer) => $call,
            Self::Zeromq($layer) => $call,
        }
    };
}

impl FrameSender for AnySender {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        each!(self, layer => layer.send(frame))
    }

    #[inline]
    fn send_stamped(&mut self, header: &Header, frame: &mut [u8]) -> io::Result<bool> {
        each!(self, layer => layer.send_stamped(header, frame))
    }

    fn flush(&mut self) -> io::Result<()> {
        each!(self, layer => layer.flush())
    }

    #[inline]
    fn is_holding(&self) -> bool {
        each!(self, layer => layer.is_holding())
    }

    fn refused(&self) -> u64 {
        each!(self, layer => layer.refused())
    }
}

impl FrameReceiver for AnyReceiver {
    #[inline]
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize> {
        each!(self, layer => layer.receive(timeout, each))
    }

    fn delivered_bytes(&self) -> Option<u64> {
        each!(self, layer => layer.delivered_bytes())
    }

    fn overflow(&self) -> Option<u64> {
        each!(self, layer => layer.overflow())
    }
}

impl AnySender {
    /// Values chosen by the system for this socket: `send_buffer_bytes`, for TCP also `mss_bytes` and
    /// `congestion_control`; for ZeroMQ see [`zeromq::Sender::chosen`].
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        let fd = match self {
            Self::Tcp(sender) => sender.fd(),
            Self::Udp(sender) => sender.fd(),
            Self::Ethernet(sender) => sender.fd(),
            Self::Zeromq(sender) => return sender.chosen(),
        };
        let mut chosen = said("send_buffer_bytes", socket_send_buffer_size(fd));
        if matches!(self, Self::Tcp(_)) {
            chosen.extend(said("congestion_control", tcp_congestion(fd)));
            chosen.extend(said("mss_bytes", tcp::segment_bytes(fd)));
        }
        chosen
    }
}

impl AnyReceiver {
    /// Values chosen by the system for this socket: `receive_buffer_bytes`; for ZeroMQ see
    /// [`zeromq::Receiver::chosen`].
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        let fd = match self {
            Self::Tcp(receiver) => receiver.fd(),
            Self::Udp(receiver) => receiver.fd(),
            Self::Ethernet(receiver) => receiver.fd(),
            Self::Zeromq(receiver) => return receiver.chosen(),
        };
        said("receive_buffer_bytes", socket_recv_buffer_size(fd))
    }
}

/// Value of the system under its name; empty if the system returned none.
fn said<T: Into<Value>, E>(name: &str, answer: Result<T, E>) -> BTreeMap<String, Value> {
    answer
        .into_iter()
        .map(|answer| (name.to_owned(), answer.into()))
        .collect()
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
    pub fn into_sender(self) -> error::Result<AnySender> {
        let missing =
            || Error::question("this end of the stream only receives: ask the other end to send");
        self.sender.ok_or_else(missing)
    }

    /// The receiving half, at the end that receives.
    ///
    /// # Errors
    /// This end only sends.
    pub fn into_receiver(self) -> error::Result<AnyReceiver> {
        let missing =
            || Error::question("this end of the stream only sends: ask the other end to receive");
        self.receiver.ok_or_else(missing)
    }

    /// Both halves as one, for patterns that go both ways.
    ///
    /// # Errors
    /// If the pattern goes one way.
    pub fn into_duplex(self) -> error::Result<AnyDuplex> {
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
