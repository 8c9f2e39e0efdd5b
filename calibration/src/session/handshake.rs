//! Proof of the key by both ends, with the Noise protocol, before anything else is said.
//!
//! ```text
//! caller                              responder
//! hello   80 B   ───────────────▶     (made without the key: silence, closed)
//!                ◀───────────────     answer  64 B
//! proof   36 B   ───────────────▶     (wrong: closed)
//! ```
//!
//! The handshake is `Noise_NNpsk0_25519_ChaChaPoly_SHA256` (Noise Protocol Framework, revision 34).
//! hello = head 32 ‖ first Noise message 48; answer = head 16 ‖ second Noise message 48;
//! proof = first transport message of the caller. A head is magic 8 ‖ version u16, little endian ‖ zeros.
//! The head of the hello is the prologue of Noise.
//!
//! `psk0` mixes the key into the hello, so a hello made without it gets no answer. Both ends add a fresh
//! key pair (`ee`), so a recorded session stays closed when the key is lost. A hello can be recorded
//! and repeated, a proof cannot: it depends on the fresh key of the responder.
//!
//! The lengths keep to those of version 1 (hello 64 B, challenge 48 B), so that ends of
//! different versions name the difference.

use super::key::Key;
use super::line::Line;
use crate::error::{Context, Error, Result};
use crate::settings::Role;
use snow::{HandshakeState, TransportState};
use std::fmt;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Name of the Noise protocol: pattern, curve, cipher and hash.
const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// First bytes of every session.
const MAGIC: [u8; 8] = *b"ICPROBE1";
/// Version of handshake and messages; ends of different versions refuse each other.
pub const VERSION: u16 = 2;
/// Length of the head of a hello, in bytes.
const HELLO_HEAD_BYTES: usize = 32;
/// Length of the head of an answer, in bytes.
const ANSWER_HEAD_BYTES: usize = 16;
/// Length of a handshake message of Noise, in bytes: a public key and a code.
const NOISE_BYTES: usize = 48;
/// Length of a hello, in bytes.
pub const HELLO_BYTES: usize = HELLO_HEAD_BYTES + NOISE_BYTES;
/// Length of an answer, in bytes; less than a hello.
pub const ANSWER_BYTES: usize = ANSWER_HEAD_BYTES + NOISE_BYTES;
/// Length of a proof, in bytes: the values of a [`Session`] and a code.
pub const PROOF_BYTES: usize = SESSION_BYTES + 16;
/// Length of the hello of version 1, in bytes, and least length of that of any version.
const LEAST_HELLO_BYTES: usize = 64;
/// Length of the answer to a hello of another version, in bytes: that of a challenge of version 1.
const OTHER_VERSION_BYTES: usize = 48;
/// Length of the values of a [`Session`], in bytes.
const SESSION_BYTES: usize = 20;
/// Time for the whole handshake, whatever comes and however slowly.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

/// Random values of a session, known to its two ends alone.
#[derive(Clone, PartialEq)]
pub struct Session([u8; SESSION_BYTES]);

impl Session {
    fn random() -> Result<Self> {
        let mut bytes = [0; SESSION_BYTES];
        getrandom::fill(&mut bytes).or_peer("the system gave no random numbers for a session")?;
        Ok(Self(bytes))
    }

    /// 16 bytes that open a data connection of this session.
    pub fn token(&self) -> [u8; 16] {
        std::array::from_fn(|i| self.0[i])
    }

    /// Number that every data frame of this session carries, in clear; independent of the token.
    pub fn tag(&self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| self.0[16 + i]))
    }
}

/// A session's token is never printed.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(not shown)")
    }
}

/// Does the caller's part of the handshake.
///
/// # Errors
/// [`Error::Peer`] if the responder is silent, of another version, closes, or does not have the key.
pub fn as_caller(stream: &TcpStream, key: &Key) -> Result<(TransportState, Session)> {
    let mut line = Line::until(stream, Instant::now() + HANDSHAKE_TIME);
    let mut noise = begin(key, Role::Caller)?;
    let mut hello = [0; HELLO_BYTES];
    hello[..HELLO_HEAD_BYTES].copy_from_slice(&head::<HELLO_HEAD_BYTES>());
    noise
        .write_message(&[], &mut hello[HELLO_HEAD_BYTES..])
        .or_peer("no hello could be made")?;
    line.send(&hello).or_peer("the responder took no hello")?;

    let answered = line.receive::<ANSWER_HEAD_BYTES>().or_peer(
        "no icprobe responder with this key answered: check address and port, \
         and give both ends the same key file",
    )?;
    match version_of(&answered) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(Error::peer(format!(
                "the responder speaks version {other} of the session and this end version {VERSION}: \
                 install the same icprobe on both"
            )));
        }
        None => {
            return Err(Error::peer(
                "what answered is no icprobe responder: check address and port",
            ));
        }
    }
    let answer = line
        .receive::<NOISE_BYTES>()
        .or_peer("the responder's answer ended early: try again")?;
    noise.read_message(&answer, &mut []).map_err(|_| {
        Error::peer(
            "the responder does not have the key: it is not the one that was meant, or its key file is another",
        )
    })?;

    let session = Session::random()?;
    let mut noise = finished(noise)?;
    let mut proof = [0; PROOF_BYTES];
    noise
        .write_message(&session.0, &mut proof)
        .or_peer("no proof could be made")?;
    line.send(&proof).or_peer("the responder took no proof")?;
    Ok((noise, session))
}

/// Does the responder's part of the handshake; silent to everything that is not right.
///
/// # Errors
/// [`Error::Peer`] with the reason, for the responder's own log; the caller only sees the
/// connection close.
pub fn as_responder(stream: &TcpStream, key: &Key) -> Result<(TransportState, Session)> {
    let mut line = Line::until(stream, Instant::now() + HANDSHAKE_TIME);
    let begun = line
        .receive::<LEAST_HELLO_BYTES>()
        .or_peer("no whole hello came")?;
    match begun.first_chunk().and_then(version_of::<HELLO_HEAD_BYTES>) {
        Some(VERSION) => {}
        Some(other) => {
            let _ = line.send(&head::<OTHER_VERSION_BYTES>());
            return Err(Error::peer(format!(
                "the caller speaks version {other} of the session"
            )));
        }
        None => return Err(Error::peer("what came was no hello")),
    }
    let rest = line
        .receive::<{ HELLO_BYTES - LEAST_HELLO_BYTES }>()
        .or_peer("no whole hello came")?;
    let mut noise = begin(key, Role::Responder)?;
    noise
        .read_message(&[&begun[HELLO_HEAD_BYTES..], &rest].concat(), &mut [])
        .map_err(|_| Error::peer("the caller does not have the key"))?;

    let mut answer = [0; ANSWER_BYTES];
    answer[..ANSWER_HEAD_BYTES].copy_from_slice(&head::<ANSWER_HEAD_BYTES>());
    noise
        .write_message(&[], &mut answer[ANSWER_HEAD_BYTES..])
        .or_peer("no answer could be made")?;
    line.send(&answer).or_peer("the answer was not taken")?;

    let proof = line
        .receive::<PROOF_BYTES>()
        .or_peer("no whole proof came")?;
    let mut noise = finished(noise)?;
    let mut session = Session([0; SESSION_BYTES]);
    noise
        .read_message(&proof, &mut session.0)
        .map_err(|_| Error::peer("the caller repeated a recorded hello"))?;
    Ok((noise, session))
}

/// The state of Noise before its first message.
fn begin(key: &Key, role: Role) -> Result<HandshakeState> {
    let prologue = head::<HELLO_HEAD_BYTES>();
    let begun = PROTOCOL.parse().and_then(|protocol| {
        let builder = snow::Builder::new(protocol)
            .psk(0, key.bytes())?
            .prologue(&prologue)?;
        match role {
            Role::Caller => builder.build_initiator(),
            Role::Responder => builder.build_responder(),
        }
    });
    begun.or_peer("no handshake could be begun")
}

/// The ciphers of both directions after the last handshake message.
fn finished(noise: HandshakeState) -> Result<TransportState> {
    noise
        .into_transport_mode()
        .or_peer("the handshake could not be finished")
}

/// magic ‖ version ‖ zeros in N bytes.
fn head<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Version in a head; `None` if it is no head.
fn version_of<const N: usize>(head: &[u8; N]) -> Option<u16> {
    let zeros = head[10..].iter().all(|&byte| byte == 0);
    (head[..8] == MAGIC && zeros).then_some(u16::from_le_bytes([head[8], head[9]]))
}

#[cfg(test)]
pub(crate) mod tests;
