//! The control session between the two ends: who may ask, what is said, and how much is allowed.
//!
//! A pre-shared [`key`] is proved by both ends in the [`handshake`] before anything else happens.
//! Every message after that ([`message`]) is framed, counted and authenticated ([`framing`],
//! [`channel`]), and the responder answers only within its own [`limits`]. The [`listener`] keeps
//! strangers from taking its time or its memory.
//!
//! The session protects against peers without the key: messages cannot be forged, altered, replayed,
//! dropped unnoticed or turned around. It does not hide them: settings and results travel in clear.

pub mod channel;
pub mod framing;
pub mod handshake;
pub mod key;
pub mod limits;
pub mod listener;
pub mod message;
pub mod text;

pub use channel::{Channel, connect};
pub use handshake::Session;
pub use key::Key;
pub use limits::Limits;
pub use listener::{Service, Stopper, serve_until};
pub use message::Message;

/// The TCP port of the control connection unless told otherwise; below the ports that Linux gives
/// out by itself (32 768 and up), so that a responder finds it free.
pub const DEFAULT_PORT: u16 = 20_120;

/// SHA-256 keyed as HMAC (RFC 2104, FIPS 198-1), the only primitive of the session.
pub(crate) type Authenticator = hmac::Hmac<sha2::Sha256>;

/// Length of a secret and of an authentication code, in bytes.
pub(crate) const CODE_BYTES: usize = 32;

/// An authenticator keyed with 32 bytes.
pub(crate) fn keyed(secret: &[u8; CODE_BYTES]) -> Authenticator {
    // RFC 2104 section 2: a key shorter than the hash's block (64 B) is padded with zeros.
    let mut block = [0u8; 64];
    block[..CODE_BYTES].copy_from_slice(secret);
    <Authenticator as hmac::KeyInit>::new(&block.into())
}

/// The code of `parts`, one after the other.
pub(crate) fn code(keyed: &Authenticator, parts: &[&[u8]]) -> [u8; CODE_BYTES] {
    use hmac::Mac;
    let mut running = keyed.clone();
    for part in parts {
        running.update(part);
    }
    running.finalize().into_bytes().into()
}

/// Whether two codes are the same, in a time that does not depend on where they differ.
pub(crate) fn same_code(one: &[u8], other: &[u8]) -> bool {
    subtle::ConstantTimeEq::ct_eq(one, other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_hmac_sha256() {
        // HMAC-SHA256 of test case 1 of RFC 4231, whose key of 20 bytes is the same as padded to 32.
        let mut secret = [0u8; CODE_BYTES];
        secret[..20].fill(0x0b);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        let hex: String = code(&keyed(&secret), &[b"Hi ", b"There"])
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hex, expected);
    }

    #[test]
    fn codes_compare_by_value_and_length() {
        assert!(same_code(&[1, 2, 3], &[1, 2, 3]));
        assert!(!same_code(&[1, 2, 3], &[1, 2, 4]));
        assert!(!same_code(&[1, 2, 3], &[1, 2]));
    }
}
