//! Control connection after the handshake: whole messages, bounded in time and memory.
//!
//! One thread owns a channel. Clock exchanges need no other thread and no lock, so they go on
//! while data threads work.

use super::framing::Sealed;
use super::handshake::{self, Secrets, Session};
use super::key::Key;
use super::line::Line;
use super::message::{Message, printable};
use crate::clock::fit::Exchange;
use crate::clock::now_ns;
use crate::error::{Context, Error, Result};
use std::cmp::Ordering;
use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Most bytes of one read: memory grows by no more before what has come was looked at.
const READ_BYTES: usize = 16 << 10;
/// Time that a channel lasts unless it is told to end sooner.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);
/// Time for the peer to take a message.
const SEND_TIME: Duration = Duration::from_secs(20);
/// Time for a TCP connection to be opened.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A proved connection between the two ends.
pub struct Channel {
    /// Address of the proved peer: the only one that data may go to.
    pub peer: SocketAddr,
    /// Own address towards that peer.
    pub local: SocketAddr,
    /// Values that data connections of this session show.
    pub session: Session,
    /// Own clock just after the read that completed the last message.
    pub read_ns: u64,
    stream: TcpStream,
    sealed: Sealed,
    inbox: Vec<u8>,
    ends: Instant,
}

/// Opens the control connection to a responder and proves the key, both ways.
///
/// # Errors
/// [`Error::Peer`] if nobody listens there, or the responder does not prove the key in time.
pub fn connect(address: SocketAddr, key: &Key) -> Result<Channel> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIME).or_peer(format!(
        "no connection to {address}, is `icprobe serve` running there"
    ))?;
    let secrets = handshake::as_caller(&stream, key)?;
    Channel::new(stream, secrets)
}

impl Channel {
    /// Creates an end of a connection whose handshake is done.
    ///
    /// # Errors
    /// [`Error::Peer`] if the connection is already gone.
    pub fn new(stream: TcpStream, (noise, session): Secrets) -> Result<Self> {
        // Small messages go out at once; else the delayed acknowledgement of one would time the next.
        stream.set_nodelay(true).or_peer("the control connection")?;
        Ok(Self {
            peer: stream.peer_addr().or_peer("the control connection")?,
            local: stream.local_addr().or_peer("the control connection")?,
            session,
            read_ns: 0,
            stream,
            sealed: Sealed::new(noise),
            inbox: Vec::new(),
            ends: Instant::now() + LONGEST,
        })
    }

    /// Lets the responder's reports be as large as the latency of every frame needs. Both ends say
    /// so when the settings ask for it.
    pub fn allow_raw(&mut self) {
        self.sealed.allow_raw();
    }

    /// Ends the channel after `time`, whatever is said on it until then, unless it ends sooner.
    pub fn end_within(&mut self, time: Duration) {
        self.ends = self.deadline(time);
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Error::Peer`] if the message is too large; or if the peer does not take it in time, and the
    /// channel is over.
    pub fn send(&mut self, message: &Message) -> Result<()> {
        self.check_open()?;
        let message = message.encode()?;
        let line = Line {
            stream: &self.stream,
            deadline: self.deadline(SEND_TIME),
        };
        let sent = self
            .sealed
            .seal(&message)?
            .try_for_each(|part| line.send(&part?).map_err(|error| gone(self.peer, error)));
        sent.or_else(|error| self.end_by(error))
    }

    /// Waits for the next message, at most `timeout`.
    ///
    /// # Errors
    /// As [`Channel::poll`]; also if no message came in time.
    pub fn receive(&mut self, timeout: Duration) -> Result<Message> {
        let message = self.poll(timeout)?;
        message.ok_or_else(|| {
            let waited_s = timeout.as_secs_f64();
            gone(self.peer, format!("it said nothing for {waited_s} s"))
        })
    }

    /// Waits for the next message, at most `timeout`; `None` if none came. A message of which only
    /// a part came is not lost: the next call goes on with it.
    ///
    /// # Errors
    /// [`Error::Question`] if the peer refused, for such a question cannot be asked there.
    /// [`Error::Peer`] if the peer failed or closed, or what came cannot be believed. The channel
    /// is then over.
    pub fn poll(&mut self, timeout: Duration) -> Result<Option<Message>> {
        self.check_open()?;
        self.next(self.deadline(timeout))
            .or_else(|error| self.end_by(error))
    }

    /// Asks the peer for the time and waits for the answer, at most `timeout` in all. Answers to
    /// earlier questions are passed over, but win no time.
    ///
    /// # Errors
    /// As [`Channel::send`] and [`Channel::poll`]; also if the peer answers something else.
    pub fn exchange(&mut self, timeout: Duration) -> Result<Exchange> {
        let deadline = self.deadline(timeout);
        let asked_ns = now_ns();
        self.send(&Message::Clock { sent_ns: asked_ns })?;
        while let Some(answer) = self.poll(deadline.saturating_duration_since(Instant::now()))? {
            let exchange = self.exchange_of(answer)?;
            match exchange.sent_ns.cmp(&asked_ns) {
                Ordering::Equal => return Ok(exchange),
                Ordering::Greater => {
                    return Err(gone(
                        self.peer,
                        "it answered a question that was never asked",
                    ));
                }
                Ordering::Less if Instant::now() < deadline => {}
                Ordering::Less => break,
            }
        }
        Err(gone(self.peer, "it did not tell the time when asked"))
    }

    /// Reads the answer to a question for the time from the message that came last.
    ///
    /// # Errors
    /// [`Error::Peer`] if it is something else.
    pub fn exchange_of(&self, answer: Message) -> Result<Exchange> {
        match answer {
            Message::ClockReply {
                sent_ns,
                received_ns,
                replied_ns,
            } => Ok(Exchange {
                sent_ns,
                peer_received_ns: received_ns,
                peer_sent_ns: replied_ns,
                received_ns: self.read_ns,
            }),
            other => Err(other.unexpected("clock-reply")),
        }
    }

    /// Sends the answer to the question for the time that came last. The own clock is read again as
    /// late as sealing the answer allows.
    pub fn answer_clock(&mut self, sent_ns: u64) -> Result<()> {
        self.send(&Message::ClockReply {
            sent_ns,
            received_ns: self.read_ns,
            replied_ns: now_ns(),
        })
    }

    fn next(&mut self, deadline: Instant) -> Result<Option<Message>> {
        loop {
            if let Some(message) = self.sealed.open(&mut self.inbox)? {
                return granted(Message::decode(&message)?).map(Some);
            }
            let stream = &self.stream;
            let mut bytes = [0u8; READ_BYTES];
            match (Line { stream, deadline }).read(&mut bytes) {
                Ok(count) => {
                    self.read_ns = now_ns();
                    self.inbox.extend_from_slice(&bytes[..count]);
                }
                Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(None),
                Err(error) => return Err(gone(self.peer, error)),
            }
        }
    }

    fn deadline(&self, timeout: Duration) -> Instant {
        let asked = Instant::now().checked_add(timeout);
        asked.map_or(self.ends, |asked| asked.min(self.ends))
    }

    fn check_open(&self) -> Result<()> {
        if self.ends <= Instant::now() {
            let peer = self.peer;
            return Err(Error::peer(format!(
                "the session with {peer} is over, its time has passed: start a new run"
            )));
        }
        Ok(())
    }

    /// Ends the channel now, since nothing after an error can be believed or read.
    fn end_by<T>(&mut self, error: Error) -> Result<T> {
        self.ends = Instant::now();
        Err(error)
    }
}

/// Returns the message unless the peer refused or failed; its reason is made safe to print.
fn granted(message: Message) -> Result<Message> {
    match message {
        Message::Refused { reason } => Err(Error::question(format!(
            "the peer refused: {}",
            printable(&reason)
        ))),
        Message::Failed { reason } => Err(Error::peer(format!(
            "the peer failed: {}",
            printable(&reason)
        ))),
        other => Ok(other),
    }
}

fn gone(peer: SocketAddr, why: impl fmt::Display) -> Error {
    Error::peer(format!(
        "{peer} is gone, {why}: see whether it still runs and is still reached"
    ))
}

#[cfg(test)]
mod tests;
