//! Socket types of a pattern, and their options.

use super::super::options::{Options, SEND_PATIENCE};
use super::super::{Place, Wait};
use super::socket::{Socket, name};
use super::{Handle, Receiver, Sender};
use crate::error::{Context as _, Error, Result};
use crate::settings::{Pattern, RunSettings, ZeromqSocket};
use std::ffi::c_int;
use std::io;
use std::sync::{Arc, Mutex};

/// Linger time of a closed socket, in milliseconds.
const LINGER_MS: c_int = 2000;
/// Least limit on the length of received messages, in bytes, so that the handshake's messages fit.
const LONGEST_BYTES: usize = 8192;

/// Welcome message of a publisher to a new subscriber.
const WELCOME: &[u8] = b"icprobe";

/// Socket types of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// PUSH to PULL.
    Pipeline,
    /// XPUB to SUB.
    Publication,
    /// REQ to REP, each frame acknowledged by an empty one.
    Acknowledged,
    /// REQ to REP and back.
    Lockstep,
    /// PUSH to PULL, and another pair back.
    TwoPipelines,
}

impl Shape {
    /// The shape of a run.
    ///
    /// # Errors
    /// The requested sockets cannot carry the pattern.
    pub fn of(settings: &RunSettings) -> Result<Self> {
        if settings.batch_frames > 1 {
            return Err(Error::question(
                "ZeroMQ batches by itself: leave --batch out, or set the size of its buffers with --batch-bytes",
            ));
        }
        match (settings.pattern, settings.zeromq_socket) {
            (Pattern::Stream, ZeromqSocket::PushPull) => Ok(Self::Pipeline),
            (Pattern::Stream, ZeromqSocket::PubSub) => Ok(Self::Publication),
            (Pattern::Stream, ZeromqSocket::ReqRep) => Ok(Self::Acknowledged),
            (_, ZeromqSocket::PubSub) => Err(Error::question(
                "PUB and SUB carry streams only: leave --zeromq-socket out for ping-pong and calls",
            )),
            (Pattern::PingPong | Pattern::Call, _) => Ok(Self::Lockstep),
            (_, ZeromqSocket::ReqRep) => Err(Error::question(
                "REQ and REP go in lockstep and cannot carry batched calls: leave --zeromq-socket out",
            )),
            _ => Ok(Self::TwoPipelines),
        }
    }

    /// Socket types of one stream: at the end that sends (or requests) if `asks`, otherwise at the
    /// other end.
    pub fn kinds(self, asks: bool) -> &'static [c_int] {
        match (self, asks) {
            (Self::Pipeline, true) => &[name::PUSH],
            (Self::Pipeline, false) => &[name::PULL],
            (Self::Publication, true) => &[name::XPUB],
            (Self::Publication, false) => &[name::SUB],
            (Self::Acknowledged | Self::Lockstep, true) => &[name::REQ],
            (Self::Acknowledged | Self::Lockstep, false) => &[name::REP],
            (Self::TwoPipelines, true) => &[name::PUSH, name::PULL],
            (Self::TwoPipelines, false) => &[name::PULL, name::PUSH],
        }
    }

    /// The halves of a stream on its joined sockets.
    pub fn halves(
        self,
        first: Socket,
        second: Option<Socket>,
        polling: bool,
    ) -> (Option<Sender>, Option<Receiver>) {
        if self == Self::Lockstep {
            let both = Arc::new(Mutex::new(first));
            let sender = self.sender(Handle::Shared(Arc::clone(&both)), polling);
            return (
                Some(sender),
                Some(self.receiver(Handle::Shared(both), polling)),
            );
        }
        let mut halves = (None, None);
        for socket in [Some(first), second].into_iter().flatten() {
            match socket.kind() {
                name::PUSH | name::XPUB | name::REQ => {
                    halves.0 = Some(self.sender(Handle::Own(socket), polling));
                }
                _ => halves.1 = Some(self.receiver(Handle::Own(socket), polling)),
            }
        }
        halves
    }

    fn sender(self, handle: Handle, polling: bool) -> Sender {
        let room = || (handle.with(Socket::message), false);
        Sender {
            acknowledged: (self == Self::Acknowledged).then(room),
            flags: if polling { name::DONT_WAIT } else { 0 },
            handle,
        }
    }

    fn receiver(self, handle: Handle, polling: bool) -> Receiver {
        Receiver {
            message: handle.with(Socket::message),
            wait: Wait::new(polling),
            acknowledges: self == Self::Acknowledged,
            handle,
        }
    }
}

/// Sets a socket's options, before it is bound or connected.
///
/// # Errors
/// This libzmq lacks an option that the settings need.
pub fn set_up(
    socket: &Socket,
    place: &Place,
    settings: &RunSettings,
    options: &Options,
) -> Result<()> {
    set_common(socket, place, options).or_peer("cannot set up a ZeroMQ socket")?;
    if let Some(messages) = settings.high_water_mark {
        let messages = c_int::try_from(messages).unwrap_or(c_int::MAX);
        let set = socket.set(name::SNDHWM, messages);
        set.and_then(|()| socket.set(name::RCVHWM, messages))
            .or_question(format!("libzmq refuses a high-water mark of {messages}"))?;
    }
    let Some(bytes) = settings.batch_bytes else {
        return Ok(());
    };
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    let set = socket.set(name::IN_BATCH_SIZE, bytes);
    set.and_then(|()| socket.set(name::OUT_BATCH_SIZE, bytes))
        .or_question(format!(
            "libzmq {} refuses batch buffers of {bytes} B: ZMQ_IN_BATCH_SIZE and ZMQ_OUT_BATCH_SIZE need a positive size and a libzmq built with its draft API",
            socket.context().library().version()
        ))
}

fn set_common(socket: &Socket, place: &Place, options: &Options) -> io::Result<()> {
    let patience = SEND_PATIENCE.as_millis() as c_int;
    socket.set(name::SNDTIMEO, patience)?;
    socket.set(name::RCVTIMEO, patience)?;
    socket.set(name::LINGER, linger(socket.kind()))?;
    let longest = options.receive_bytes.max(LONGEST_BYTES) as i64;
    socket.set_bytes(name::MAXMSGSIZE, &longest.to_ne_bytes())?;
    // At senders, frames wait in the application until there is a connection, not in a queue for a
    // future connection. Receivers do not set this option, since it would drop messages that came
    // before a connection ended.
    let sends_first = matches!(socket.kind(), name::PUSH | name::XPUB | name::REQ);
    socket.set(name::IMMEDIATE, c_int::from(sends_first))?;
    socket.set(name::IPV6, c_int::from(place.local.is_ipv6()))?;
    if socket.kind() == name::SUB {
        socket.set_bytes(name::SUBSCRIBE, b"")?;
    }
    if socket.kind() == name::XPUB {
        socket.set_bytes(name::XPUB_WELCOME_MSG, WELCOME)?;
    }
    let buffers = [
        (name::SNDBUF, options.send_buffer_bytes),
        (name::RCVBUF, options.receive_buffer_bytes),
        (name::TOS, options.dscp.map(|dscp| u32::from(dscp) << 2)),
    ];
    for (option, value) in buffers {
        if let Some(value) = value {
            socket.set(option, c_int::try_from(value).unwrap_or(c_int::MAX))?;
        }
    }
    Ok(())
}

fn linger(kind: c_int) -> c_int {
    match kind {
        name::PULL | name::SUB => 0,
        _ => LINGER_MS,
    }
}
