//! Proof by both ends that they have the key, with the Noise protocol, before any other message.
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
//! A hello of another version gets the head of an answer alone, so that both ends can name the difference.

use super::key::Key;
use super::line::Line;
use crate::error::{Context, Error, Result};
use snow::{Builder, HandshakeState, TransportState};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Name of the Noise protocol: pattern, curve, cipher and hash.
const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// First bytes of every session.
const MAGIC: &[u8] = b"ICPROBE1";
/// Version of handshake and messages; ends of different versions refuse each other.
pub const VERSION: u16 = 3;
/// Lengths of the heads of a hello and of an answer, in bytes.
const HELLO_HEAD_BYTES: usize = 32;
const ANSWER_HEAD_BYTES: usize = 16;
/// Length of a handshake message of Noise, in bytes: a public key and a code.
const NOISE_BYTES: usize = 48;
/// Length of a hello, in bytes.
pub const HELLO_BYTES: usize = HELLO_HEAD_BYTES + NOISE_BYTES;
/// Length of an answer, in bytes; less than a hello.
pub const ANSWER_BYTES: usize = ANSWER_HEAD_BYTES + NOISE_BYTES;
/// Length of a proof, in bytes: the values of a [`Session`] and a code.
pub const PROOF_BYTES: usize = SESSION_BYTES + 16;
/// Length of the values of a [`Session`], in bytes.
const SESSION_BYTES: usize = 20;
/// Timeout of the whole handshake, however slowly the peer sends.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

/// Random values of a session, known to its two ends alone; cannot be printed.
#[derive(Clone, PartialEq)]
pub struct Session([u8; SESSION_BYTES]);

impl Session {
    /// Returns the 16 bytes that authenticate a data connection of this session.
    pub fn token(&self) -> [u8; 16] {
        std::array::from_fn(|i| self.0[i])
    }

    /// Number that every data frame of this session carries, in clear; independent of the token.
    pub fn tag(&self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| self.0[16 + i]))
    }
}

/// Result of a handshake: the ciphers of both directions, and the values of the session.
pub type Secrets = (TransportState, Session);

/// Does the caller's part of the handshake.
///
/// # Errors
/// [`Error::Peer`] if the responder is silent, of another version, closes, or does not have the key.
pub fn as_caller(stream: &TcpStream, key: &Key) -> Result<Secrets> {
    let deadline = Instant::now() + HANDSHAKE_TIME;
    let line = Line { stream, deadline };
    let mut noise = begin(key, |noise| noise.build_initiator())?;
    let mut hello = head::<HELLO_BYTES>();
    noise
        .write_message(&[], &mut hello[HELLO_HEAD_BYTES..])
        .or_peer("no hello could be made")?;
    line.send(&hello).or_peer("the responder took no hello")?;

    let answered = line.receive::<ANSWER_HEAD_BYTES>().or_peer(
        "no icprobe responder with this key answered: check address and port, \
         and give both ends the same key file",
    )?;
    check_head(&answered, "responder")?;
    let answer = line
        .receive::<NOISE_BYTES>()
        .or_peer("the responder's answer ended early: try again")?;
    noise.read_message(&answer, &mut []).map_err(|_| {
        Error::peer(
            "the responder does not have the key: check its address, and that both ends have the same key file",
        )
    })?;

    let mut session = Session([0; SESSION_BYTES]);
    getrandom::fill(&mut session.0).or_peer("the system gave no random numbers for a session")?;
    let mut noise = noise
        .into_transport_mode()
        .or_peer("no proof could be made")?;
    let mut proof = [0; PROOF_BYTES];
    noise
        .write_message(&session.0, &mut proof)
        .or_peer("no proof could be made")?;
    line.send(&proof).or_peer("the responder took no proof")?;
    Ok((noise, session))
}

/// Does the responder's part of the handshake; a hello of this version that was made without the
/// key gets no answer.
///
/// # Errors
/// [`Error::Peer`] with the reason, for the responder's own log; the caller only sees the
/// connection close.
pub fn as_responder(stream: &TcpStream, key: &Key) -> Result<Secrets> {
    let deadline = Instant::now() + HANDSHAKE_TIME;
    let line = Line { stream, deadline };
    let begun = line
        .receive::<HELLO_HEAD_BYTES>()
        .or_peer("no whole hello came")?;
    if version_of(&begun).is_some_and(|version| version != VERSION) {
        // The caller may be gone already.
        let _ = line.send(&head::<ANSWER_HEAD_BYTES>());
    }
    check_head(&begun, "caller")?;
    let hello = line
        .receive::<NOISE_BYTES>()
        .or_peer("no whole hello came")?;
    let mut noise = begin(key, |noise| noise.build_responder())?;
    noise
        .read_message(&hello, &mut [])
        .map_err(|_| Error::peer("the caller does not have the key"))?;

    let mut answer = head::<ANSWER_BYTES>();
    noise
        .write_message(&[], &mut answer[ANSWER_HEAD_BYTES..])
        .or_peer("no answer could be made")?;
    line.send(&answer).or_peer("the answer was not taken")?;

    let proof = line
        .receive::<PROOF_BYTES>()
        .or_peer("no whole proof came")?;
    let mut noise = noise
        .into_transport_mode()
        .or_peer("no proof could be read")?;
    let mut session = Session([0; SESSION_BYTES]);
    noise
        .read_message(&proof, &mut session.0)
        .map_err(|_| Error::peer("the caller repeated a recorded hello"))?;
    Ok((noise, session))
}

/// Returns the state of Noise before its first message, for the end that `build` makes.
fn begin(
    key: &Key,
    build: impl FnOnce(Builder) -> std::result::Result<HandshakeState, snow::Error>,
) -> Result<HandshakeState> {
    let prologue = head::<HELLO_HEAD_BYTES>();
    let noise = PROTOCOL
        .parse()
        .and_then(|protocol| build(Builder::new(protocol).psk(0, &key.0)?.prologue(&prologue)?));
    noise.or_peer("no handshake could be begun")
}

/// Returns a head of this version, and zeros, in N bytes.
fn head<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Returns the version in a head; `None` if it is no head.
fn version_of(head: &[u8]) -> Option<u16> {
    let (version, zeros) = head.strip_prefix(MAGIC)?.split_first_chunk()?;
    let zero = zeros.iter().all(|&byte| byte == 0);
    zero.then_some(u16::from_le_bytes(*version))
}

/// Refuses bytes that are not a head of this version.
fn check_head(head: &[u8], peer: &str) -> Result<()> {
    match version_of(head) {
        Some(VERSION) => Ok(()),
        Some(other) => Err(Error::peer(format!(
            "the {peer} speaks version {other} of the session and this end version {VERSION}: \
             install the same icprobe on both"
        ))),
        None => Err(Error::peer(format!(
            "the other end is no icprobe {peer}: check address and port"
        ))),
    }
}

#[cfg(test)]
mod tests;
