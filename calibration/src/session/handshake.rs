//! Both ends prove that they have the key, before anything else is said.
//!
//! ```text
//! caller                              responder
//! hello      64 B   ───────────────▶
//!                   ◀───────────────  challenge  48 B
//! proof      32 B   ───────────────▶  (checked; wrong: silence, closed)
//!                   ◀───────────────  proof      32 B
//! ```
//!
//! hello = magic 8 ‖ version u16 ‖ zero 22 ‖ nonce 32; challenge = magic 8 ‖ version u16 ‖ zero 6 ‖
//! nonce 32 (little endian). A proof is HMAC-SHA256 with the key over a word for the role and the
//! whole of hello and challenge: both nonces are new each time, so that a recorded proof is worth
//! nothing, and the words differ, so that a proof cannot be sent back to where it came from (the
//! reflection that ISO/IEC 9798-4 warns of). Until the caller has proved the key, the responder
//! sends less than it received, and it says nothing at all to what is not a hello.

use super::key::Key;
use super::{Authenticator, CODE_BYTES, code, keyed, same_code};
use crate::error::{Context, Error, Result};
use crate::settings::Role;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// First bytes of every session.
const MAGIC: [u8; 8] = *b"ICPROBE1";
/// Version of handshake and messages; ends of different versions refuse each other.
pub const VERSION: u16 = 1;
/// Length of a hello, in bytes.
pub const HELLO_BYTES: usize = 64;
/// Length of a challenge, in bytes; less than a hello.
pub const CHALLENGE_BYTES: usize = 48;
/// Length of a nonce, in bytes.
const NONCE_BYTES: usize = 32;
/// Time for the whole handshake, whatever comes and however slowly.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

const CALLER_PROOF: &[u8] = b"icprobe proof of the caller\0";
const RESPONDER_PROOF: &[u8] = b"icprobe proof of the responder\0";
const SESSION_SECRET: &[u8] = b"icprobe session\0";

/// The opening of a session by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The caller's version.
    pub version: u16,
    /// Random, used once.
    pub nonce: [u8; NONCE_BYTES],
}

impl Hello {
    /// As it travels.
    pub fn to_bytes(&self) -> [u8; HELLO_BYTES] {
        opening(self.version, &self.nonce)
    }

    /// Reads one; `None` for anything else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (version, nonce) = read_opening::<HELLO_BYTES>(bytes)?;
        Some(Self { version, nonce })
    }
}

/// The responder's answer to a hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The responder's version.
    pub version: u16,
    /// Random, used once.
    pub nonce: [u8; NONCE_BYTES],
}

impl Challenge {
    /// As it travels.
    pub fn to_bytes(&self) -> [u8; CHALLENGE_BYTES] {
        opening(self.version, &self.nonce)
    }

    /// Reads one; `None` for anything else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (version, nonce) = read_opening::<CHALLENGE_BYTES>(bytes)?;
        Some(Self { version, nonce })
    }
}

/// What both ends know after the handshake, and nobody else.
#[derive(Clone)]
pub struct Session {
    secret: [u8; CODE_BYTES],
}

impl Session {
    /// A session of a given secret, without a handshake.
    #[cfg(test)]
    pub(crate) fn of(secret: [u8; CODE_BYTES]) -> Self {
        Self { secret }
    }

    /// 16 bytes that open a data connection of this session.
    pub fn token(&self) -> [u8; 16] {
        self.first_of(b"icprobe data token\0")
    }

    /// A number that every data frame of this session carries, in clear; it says nothing of the token.
    pub fn tag(&self) -> u32 {
        u32::from_le_bytes(self.first_of(b"icprobe frame tag\0"))
    }

    /// The authenticator of the messages that `from` sends.
    pub(crate) fn direction(&self, from: Role) -> Authenticator {
        let word: &[u8] = match from {
            Role::Caller => b"icprobe messages of the caller\0",
            Role::Responder => b"icprobe messages of the responder\0",
        };
        keyed(&code(&keyed(&self.secret), &[word]))
    }

    fn first_of<const N: usize>(&self, word: &[u8]) -> [u8; N] {
        let derived = code(&keyed(&self.secret), &[word]);
        std::array::from_fn(|i| derived[i])
    }
}

/// A session's secret is never printed.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(not shown)")
    }
}

/// The four values that hello, challenge and key determine.
struct Agreement {
    caller_proof: [u8; CODE_BYTES],
    responder_proof: [u8; CODE_BYTES],
    session: Session,
}

impl Agreement {
    fn of(key: &Key, hello: &[u8; HELLO_BYTES], challenge: &[u8; CHALLENGE_BYTES]) -> Self {
        let keyed = key.authenticator();
        let over = |word: &[u8]| code(&keyed, &[word, hello, challenge]);
        Self {
            caller_proof: over(CALLER_PROOF),
            responder_proof: over(RESPONDER_PROOF),
            session: Session {
                secret: over(SESSION_SECRET),
            },
        }
    }
}

/// The caller's part of the handshake.
///
/// # Errors
/// [`Error::Peer`] if the responder is silent, of another version, closes, or does not have the key.
pub fn as_caller(stream: &TcpStream, key: &Key) -> Result<Session> {
    let mut line = Line::within(stream, HANDSHAKE_TIME);
    let hello = Hello {
        version: VERSION,
        nonce: nonce()?,
    }
    .to_bytes();
    line.send(&hello).or_peer("the responder took no hello")?;
    let challenge = line
        .receive::<CHALLENGE_BYTES>()
        .or_peer("no icprobe responder answered")?;
    let answer = Challenge::read(&challenge).ok_or_else(|| {
        Error::peer("what answered is no icprobe responder: check address and port")
    })?;
    if answer.version != VERSION {
        return Err(Error::peer(format!(
            "the responder speaks version {} of the session and this end version {VERSION}: \
             install the same icprobe on both",
            answer.version
        )));
    }
    let agreement = Agreement::of(key, &hello, &challenge);
    line.send(&agreement.caller_proof)
        .or_peer("the responder took no proof")?;
    let proof = line.receive::<CODE_BYTES>().or_peer(
        "the responder did not accept the key, or is too busy: give both ends the same key file",
    )?;
    if !same_code(&proof, &agreement.responder_proof) {
        return Err(Error::peer(
            "the responder does not have the key: it is not the one that was meant, or its key file is another",
        ));
    }
    Ok(agreement.session)
}

/// The responder's part of the handshake: silent to everything that is not right.
///
/// # Errors
/// [`Error::Peer`] with the reason, for the responder's own log; the caller only sees the
/// connection close.
pub fn as_responder(stream: &TcpStream, key: &Key) -> Result<Session> {
    let mut line = Line::within(stream, HANDSHAKE_TIME);
    let hello = line
        .receive::<HELLO_BYTES>()
        .or_peer("no whole hello came")?;
    let opening = Hello::read(&hello).ok_or_else(|| Error::peer("what came was no hello"))?;
    let challenge = Challenge {
        version: VERSION,
        nonce: nonce()?,
    }
    .to_bytes();
    line.send(&challenge)
        .or_peer("the challenge was not taken")?;
    if opening.version != VERSION {
        return Err(Error::peer(format!(
            "the caller speaks version {} of the session",
            opening.version
        )));
    }
    let agreement = Agreement::of(key, &hello, &challenge);
    let proof = line
        .receive::<CODE_BYTES>()
        .or_peer("no whole proof came")?;
    if !same_code(&proof, &agreement.caller_proof) {
        return Err(Error::peer("the caller does not have the key"));
    }
    line.send(&agreement.responder_proof)
        .or_peer("the proof was not taken")?;
    Ok(agreement.session)
}

fn nonce() -> Result<[u8; NONCE_BYTES]> {
    let mut bytes = [0u8; NONCE_BYTES];
    getrandom::fill(&mut bytes).or_peer("the system gave no random numbers for a session")?;
    Ok(bytes)
}

/// magic ‖ version ‖ zeros ‖ nonce in N bytes.
fn opening<const N: usize>(version: u16, nonce: &[u8; NONCE_BYTES]) -> [u8; N] {
    let mut bytes = [0u8; N];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    bytes[N - NONCE_BYTES..].copy_from_slice(nonce);
    bytes
}

fn read_opening<const N: usize>(bytes: &[u8]) -> Option<(u16, [u8; NONCE_BYTES])> {
    let bytes: &[u8; N] = bytes.try_into().ok()?;
    let (head, nonce) = bytes.split_at(N - NONCE_BYTES);
    let zeros = head[10..].iter().all(|&byte| byte == 0);
    let version = u16::from_le_bytes([head[8], head[9]]);
    (head[..8] == MAGIC && zeros).then_some((version, nonce.try_into().ok()?))
}

/// A connection on which all reads and writes together must be done by one moment.
struct Line<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> Line<'a> {
    fn within(stream: &'a TcpStream, time: Duration) -> Self {
        Self {
            stream,
            deadline: Instant::now() + time,
        }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                "the time for the handshake is over",
            ));
        }
        Ok(left)
    }

    fn receive<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0u8; N];
        let mut have = 0;
        while have < N {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(&mut bytes[have..]) {
                Ok(0) => {
                    return Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        "it closed the connection",
                    ));
                }
                Ok(n) => have += n,
                Err(error) if again(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        while sent < bytes.len() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            match self.stream.write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(error) if again(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether to look at the clock and try once more: interrupted, or the socket's own timeout.
pub(crate) fn again(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

#[cfg(test)]
mod tests;
