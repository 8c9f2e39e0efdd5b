//! Control connection after the handshake: whole messages, bounded in time and memory.
//!
//! One thread owns a channel. Clock exchanges need no other thread and no lock, so they go on
//! while data threads work.

use super::framing::Sealed;
use super::handshake::{self, Session};
use super::key::Key;
use super::line::Line;
use super::message::Message;
use crate::clock::fit::Exchange;
use crate::clock::now_ns;
use crate::error::{Context, Error, Result};
use crate::settings::Role;
use std::io::ErrorKind;
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
    sealed: Sealed,
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
        let (noise, session) = handshake::as_caller(&stream, key)?;
        Self::new(stream, Sealed::new(noise, Role::Caller), session)
    }

    /// The responder's end of an accepted connection; does the handshake.
    ///
    /// # Errors
    /// [`Error::Peer`] as [`handshake::as_responder`] says.
    pub fn as_responder(stream: TcpStream, key: &Key) -> Result<Self> {
        stream.set_nodelay(true).or_peer("the control connection")?;
        let (noise, session) = handshake::as_responder(&stream, key)?;
        Self::new(stream, Sealed::new(noise, Role::Responder), session)
    }

    fn new(stream: TcpStream, sealed: Sealed, session: Session) -> Result<Self> {
        Ok(Self {
            peer: stream.peer_addr().or_peer("the control connection")?,
            local: stream.local_addr().or_peer("the control connection")?,
            sealed,
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
        self.sealed.allow_raw();
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
        let deadline = self.deadline(SEND_TIME);
        let message = message.encode()?;
        for content in self.sealed.parts(&message)? {
            let part = self.sealed.seal(content)?;
            self.write(&part, deadline)?;
        }
        Ok(())
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
    /// as late as sealing the answer allows.
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
            if let Some(message) = self.sealed.open(&mut self.inbox)? {
                return Ok(Some((Message::decode(&message)?, self.read_ns)));
            }
            if !self.read(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Reads what is there, waiting until `deadline`; whether anything came.
    fn read(&mut self, deadline: Instant) -> Result<bool> {
        let mut bytes = [0u8; READ_BYTES];
        match Line::until(&self.stream, deadline).read(&mut bytes) {
            Ok(count) => {
                self.read_ns = now_ns();
                self.inbox.extend_from_slice(&bytes[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(false),
            Err(error) => Err(self.gone(&error.to_string())),
        }
    }

    fn write(&mut self, part: &[u8], deadline: Instant) -> Result<()> {
        self.usable()?;
        self.broken = true;
        Line::until(&self.stream, deadline)
            .send(part)
            .map_err(|error| match error.kind() {
                ErrorKind::TimedOut => self.gone("it takes no message"),
                _ => self.gone(&error.to_string()),
            })?;
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
