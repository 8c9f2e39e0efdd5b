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

/// Greatest number of bytes of one read. Memory grows by at most this before received bytes are
/// checked.
const READ_BYTES: usize = 16 << 10;
/// Default lifetime of a channel.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);
/// Timeout for the peer to take a message.
const SEND_TIME: Duration = Duration::from_secs(20);
/// Timeout for opening a TCP connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Authenticated connection between the two ends.
pub struct Channel {
    /// Address of the authenticated peer; data goes to no other address.
    pub peer: SocketAddr,
    /// Own address towards that peer.
    pub local: SocketAddr,
    /// Random values that identify the session in its data connections.
    pub session: Session,
    /// Own clock just after the read that completed the last message.
    pub read_ns: u64,
    stream: TcpStream,
    sealed: Sealed,
    inbox: Vec<u8>,
    ends: Instant,
}

/// Opens the control connection to a responder; both ends prove that they have the key.
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
        // Send small messages at once; otherwise they would wait for a delayed acknowledgement.
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

    /// Raises the size limit of the responder's reports, so that they can hold the latency of every
    /// frame. Both ends call this if the settings request these latencies.
    pub fn allow_raw(&mut self) {
        self.sealed.allow_raw();
    }

    /// Limits the remaining lifetime of the channel to `time`.
    pub fn end_within(&mut self, time: Duration) {
        self.ends = self.deadline(time);
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Error::Peer`] if the message is too large. Also if the peer does not take it in time; the
    /// channel is then over.
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
            gone(self.peer, format!("it sent nothing for {waited_s} s"))
        })
    }

    /// Waits for the next message, at most `timeout`; `None` if none came. A partly received
    /// message is kept for the next call.
    ///
    /// # Errors
    /// [`Error::Question`] if the peer refused the request. [`Error::Peer`] if the peer failed or
    /// closed, or sent something invalid. The channel is then over.
    pub fn poll(&mut self, timeout: Duration) -> Result<Option<Message>> {
        self.check_open()?;
        self.next(self.deadline(timeout))
            .or_else(|error| self.end_by(error))
    }

    /// Asks the peer for the time and waits for the answer, at most `timeout` in all. Late answers
    /// to earlier requests are skipped, and do not extend the timeout.
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
                    return Err(gone(self.peer, "it sent a clock reply without a request"));
                }
                Ordering::Less if Instant::now() < deadline => {}
                Ordering::Less => break,
            }
        }
        Err(gone(self.peer, "it sent no clock reply in time"))
    }

    /// Reads a clock exchange from the message received last.
    ///
    /// # Errors
    /// [`Error::Peer`] if it is another kind of message.
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

    /// Answers the clock request received last. The own clock is read as late as possible, just
    /// before the answer is sealed.
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
                "the session with {peer} is over: start a new run"
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
        "the connection to {peer} is lost, {why}: check that it runs and can be reached"
    ))
}

#[cfg(test)]
mod tests;
