//! The control connection after the handshake: whole messages, bounded in time and memory.
//!
//! One thread owns a channel. Clock exchanges need no other thread and no lock, so they go on
//! while data threads work.

use super::framing::{Kind, Opener, Sealer};
use super::handshake::{self, Session};
use super::key::Key;
use super::message::Message;
use crate::clock::fit::Exchange;
use crate::clock::now_ns;
use crate::error::{Context, Error, Result};
use crate::settings::Role;
use rustix::net::{RecvFlags, recv};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Most bytes taken from the system in one read; memory grows by no more than this before what
/// has come was looked at.
const READ_BYTES: usize = 16 << 10;
/// What a longer wait is shortened to.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);
/// Time for the peer to take a message.
const SEND_TIME: Duration = Duration::from_secs(20);
/// Time for a TCP connection to be opened.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A proved connection between the two ends.
pub struct Channel {
    stream: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    session: Session,
    sealer: Sealer,
    opener: Opener,
    inbox: Vec<u8>,
    read_ns: u64,
    ends: Option<Instant>,
    broken: bool,
}

/// Opens the control connection to a responder and proves the key, both ways.
///
/// # Errors
/// [`Error::Peer`] if nobody listens there, or the responder does not prove the key in time.
pub fn connect(address: SocketAddr, key: &Key) -> Result<Channel> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIME).or_peer(format!(
        "no connection to {address}, is `icprobe serve` running there"
    ))?;
    Channel::as_caller(stream, key)
}

impl Channel {
    /// The caller's end of an open connection; does the handshake.
    ///
    /// # Errors
    /// [`Error::Peer`] as [`handshake::as_caller`] says.
    pub fn as_caller(stream: TcpStream, key: &Key) -> Result<Self> {
        // Small messages go out at once; else the delayed acknowledgement of one would time the next.
        stream.set_nodelay(true).or_peer("the control connection")?;
        let session = handshake::as_caller(&stream, key)?;
        Self::new(stream, session, Role::Caller)
    }

    /// The responder's end of an accepted connection; does the handshake.
    ///
    /// # Errors
    /// [`Error::Peer`] as [`handshake::as_responder`] says.
    pub fn as_responder(stream: TcpStream, key: &Key) -> Result<Self> {
        stream.set_nodelay(true).or_peer("the control connection")?;
        let session = handshake::as_responder(&stream, key)?;
        Self::new(stream, session, Role::Responder)
    }

    fn new(stream: TcpStream, session: Session, role: Role) -> Result<Self> {
        Ok(Self {
            peer: stream.peer_addr().or_peer("the control connection")?,
            local: stream.local_addr().or_peer("the control connection")?,
            sealer: Sealer::new(&session, role),
            opener: Opener::new(&session, role.peer()),
            inbox: Vec::new(),
            read_ns: 0,
            ends: None,
            broken: false,
            stream,
            session,
        })
    }

    /// Address of the proved peer: the only one that data may go to.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Own address towards that peer.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// What data connections of this session are known by.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Lets the responder's reports be as large as the latency of every frame needs. Both ends say
    /// so when the settings ask for it.
    pub fn allow_raw(&mut self) {
        self.sealer.allow_raw();
        self.opener.allow_raw();
    }

    /// Ends the channel after `time`, whatever is said on it until then, unless it ends sooner.
    ///
    /// Waiting for one message has its own limit; this one holds for a peer that keeps talking.
    pub fn end_within(&mut self, time: Duration) {
        let ends = Instant::now().checked_add(time);
        self.ends = [self.ends, ends].into_iter().flatten().min();
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Error::Peer`] if the peer is gone or does not take it in time; the channel is then over.
    pub fn send(&mut self, message: &Message) -> Result<()> {
        let frame = self.sealer.seal(message.kind(), &message.encode()?)?;
        self.write(&frame, SEND_TIME)
    }

    /// Waits for the next message, at most `timeout`.
    ///
    /// # Errors
    /// [`Error::Peer`] if none came in time, the peer closed, or what came cannot be believed.
    pub fn receive(&mut self, timeout: Duration) -> Result<Message> {
        self.receive_stamped(timeout).map(|(message, _)| message)
    }

    /// Waits for the next message; also the own clock just after the read that completed it.
    ///
    /// # Errors
    /// As [`Channel::receive`].
    pub fn receive_stamped(&mut self, timeout: Duration) -> Result<(Message, u64)> {
        self.poll(timeout)?.ok_or_else(|| {
            Error::peer(format!(
                "{} said nothing for {} s: see whether it still runs and is still reached",
                self.peer,
                timeout.as_secs_f64()
            ))
        })
    }

    /// Waits for the next message, at most `timeout`; `None` if none came. A message of which only
    /// a part came is not lost: the next call goes on with it.
    ///
    /// # Errors
    /// [`Error::Peer`] if the peer closed, or what came cannot be believed; the channel is then over.
    pub fn poll(&mut self, timeout: Duration) -> Result<Option<(Message, u64)>> {
        self.usable()?;
        let result = self.next(timeout);
        self.broken = result.is_err();
        result
    }

    /// Answers a question for the time that was read at `received_ns`. The own clock is read again
    /// as late as the code over the answer allows.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn answer_clock(&mut self, sent_ns: u64, received_ns: u64) -> Result<()> {
        self.send(&Message::ClockReply {
            sent_ns,
            received_ns,
            replied_ns: now_ns(),
        })
    }

    /// Asks the peer for the time; the answer is one of the next messages.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn ask_clock(&mut self) -> Result<()> {
        self.send(&Message::Clock { sent_ns: now_ns() })
    }

    /// Asks the peer for the time and waits for the answer, at most `timeout` in all. Answers to
    /// earlier questions are passed over, but win no time.
    ///
    /// # Errors
    /// As [`Channel::send`] and [`Channel::receive`]; also if the peer answers something else.
    pub fn exchange(&mut self, timeout: Duration) -> Result<Exchange> {
        let asked_ns = now_ns();
        self.send(&Message::Clock { sent_ns: asked_ns })?;
        let deadline = self.deadline(timeout);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some((answer, read_ns)) = self.poll(left)? {
                let exchange = answer.granted()?.into_exchange(read_ns)?;
                if exchange.sent_ns == asked_ns {
                    return Ok(exchange);
                }
                if exchange.sent_ns > asked_ns {
                    return Err(self.gone("it answered a question that was never asked"));
                }
            }
            if Instant::now() >= deadline {
                return Err(self.gone("it did not tell the time when asked"));
            }
        }
    }

    fn next(&mut self, timeout: Duration) -> Result<Option<(Message, u64)>> {
        let deadline = self.deadline(timeout);
        loop {
            let needs = self.opener.needs(&self.inbox)?;
            if self.inbox.len() >= needs && needs > super::framing::HEADER_BYTES {
                let (kind, body) = self.opener.open(&self.inbox[..needs])?;
                let message = Message::decode(kind, body)?;
                self.take(needs, kind);
                return Ok(Some((message, self.read_ns)));
            }
            if !self.read(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Forgets the first `length` bytes, and the memory that a large message needed.
    fn take(&mut self, length: usize, kind: Kind) {
        self.inbox.drain(..length);
        if kind == Kind::Report {
            self.inbox.shrink_to(READ_BYTES);
        }
    }

    /// Reads what is there, waiting until `deadline`; whether anything came.
    fn read(&mut self, deadline: Instant) -> Result<bool> {
        let mut bytes = [0u8; READ_BYTES];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let read = if left.is_zero() {
                self.read_now(&mut bytes)
            } else {
                self.stream
                    .set_read_timeout(Some(left))
                    .or_peer("the control connection")?;
                self.stream.read(&mut bytes)
            };
            match read {
                Ok(0) => return Err(self.gone("it closed the control connection")),
                Ok(n) => {
                    self.read_ns = now_ns();
                    self.inbox.extend_from_slice(&bytes[..n]);
                    return Ok(true);
                }
                Err(error) if handshake::again(&error) && left.is_zero() => return Ok(false),
                Err(error) if handshake::again(&error) => {}
                Err(error) => return Err(self.gone(&error.to_string())),
            }
        }
    }

    /// Reads what is there without waiting; a socket's own timeout waits a tick of the kernel at least.
    fn read_now(&self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(recv(&self.stream, bytes, RecvFlags::DONTWAIT)?.0)
    }

    fn write(&mut self, frame: &[u8], time: Duration) -> Result<()> {
        self.usable()?;
        let deadline = self.deadline(time);
        let mut rest = frame;
        self.broken = true;
        while !rest.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.gone("it takes no message"));
            }
            self.stream
                .set_write_timeout(Some(left))
                .or_peer("the control connection")?;
            match self.stream.write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    return Err(self.gone("it closed the control connection"));
                }
                Err(error) if handshake::again(&error) => {}
                Err(error) => return Err(self.gone(&error.to_string())),
            }
        }
        self.broken = false;
        Ok(())
    }

    fn deadline(&self, timeout: Duration) -> Instant {
        let now = Instant::now();
        let asked = now.checked_add(timeout).unwrap_or(now + FOR_EVER);
        self.ends.map_or(asked, |ends| asked.min(ends))
    }

    fn usable(&self) -> Result<()> {
        if self.ends.is_some_and(|ends| ends <= Instant::now()) {
            return Err(self.gone("the time that the session may take is over"));
        }
        if self.broken {
            return Err(Error::peer(format!(
                "the control connection to {} is over: start a new run",
                self.peer
            )));
        }
        Ok(())
    }

    fn gone(&self, why: &str) -> Error {
        Error::peer(format!("{} is gone, {why}", self.peer))
    }
}

#[cfg(test)]
mod tests;
