//! Sealed messages: parts of at most 65 535 B, each a transport message of Noise behind its length.
//!
//! part = length u16, big endian ‖ ciphertext ‖ code 16. A part shorter than the longest ends its message.
//! Noise encrypts each part, and counts the parts of a direction. So parts cannot be read, forged,
//! changed, repeated, left out or turned around. Memory grows only by parts that were authentic.

use crate::error::{Error, Result};
use crate::settings::Role;
use snow::TransportState;

/// Length of the length of a part, in bytes.
pub const LENGTH_BYTES: usize = 2;
/// Length of the code of a part, in bytes.
const CODE_BYTES: usize = 16;
/// Longest content of a part, in bytes.
pub const PART_BYTES: usize = u16::MAX as usize - CODE_BYTES;
/// Largest message of a caller, in bytes: one part.
pub const CONTROL_MAX_BYTES: usize = PART_BYTES - 1;
/// Largest message of a responder, in bytes, unless the caller asked for the latency of every frame.
pub const REPORT_MAX_BYTES: usize = 16 << 20;
/// Largest report with the latency of every frame, in bytes: about ten million frames.
pub const RAW_REPORT_MAX_BYTES: usize = 256 << 20;

/// Both directions of a session, seen from one end.
pub struct Sealed {
    noise: TransportState,
    role: Role,
    report_max_bytes: usize,
    /// Opened parts of the message that is arriving.
    message: Vec<u8>,
}

impl Sealed {
    /// Creates the end of `role` with the ciphers of a finished handshake.
    pub fn new(noise: TransportState, role: Role) -> Self {
        Self {
            noise,
            role,
            report_max_bytes: REPORT_MAX_BYTES,
            message: Vec::new(),
        }
    }

    /// Lets reports be as large as the latency of every frame needs.
    pub fn allow_raw(&mut self) {
        self.report_max_bytes = RAW_REPORT_MAX_BYTES;
    }

    /// Divides a message into the contents of its parts.
    ///
    /// # Errors
    /// [`Error::Peer`] if it is larger than the peer would take.
    pub fn parts<'a>(&self, message: &'a [u8]) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>> {
        if message.len() > self.most_from(self.role) {
            return Err(Error::peer(format!(
                "a message of {} B is too large for the session: ask for fewer frames or without the latency of every one",
                message.len()
            )));
        }
        let full = message.len().is_multiple_of(PART_BYTES);
        Ok(message
            .chunks(PART_BYTES)
            .chain(full.then_some(&message[..0])))
    }

    /// Seals the content of the next part.
    ///
    /// # Errors
    /// [`Error::Peer`] after 2^64 − 1 parts, or if the content is longer than [`PART_BYTES`].
    pub fn seal(&mut self, content: &[u8]) -> Result<Vec<u8>> {
        let mut part = vec![0; LENGTH_BYTES + content.len() + CODE_BYTES];
        let length = self
            .noise
            .write_message(content, &mut part[LENGTH_BYTES..])
            .ok()
            .and_then(|length| u16::try_from(length).ok())
            .ok_or_else(|| Error::peer("a message could not be sealed: start a new session"))?;
        part[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        Ok(part)
    }

    /// Opens the parts at the start of `inbox` and removes them. Returns the next message if it is whole.
    ///
    /// # Errors
    /// [`Error::Peer`] if a length is not allowed or a code is wrong. Nothing after that can be
    /// believed, so the session is over.
    pub fn open(&mut self, inbox: &mut Vec<u8>) -> Result<Option<Vec<u8>>> {
        while let Some(&length) = inbox.first_chunk::<LENGTH_BYTES>() {
            let end = LENGTH_BYTES + usize::from(u16::from_be_bytes(length));
            let have = self.message.len();
            let content = end
                .checked_sub(LENGTH_BYTES + CODE_BYTES)
                .filter(|content| have + content <= self.most_from(self.role.peer()))
                .ok_or_else(|| broken("its length is not allowed"))?;
            let Some(sealed) = inbox.get(LENGTH_BYTES..end) else {
                break;
            };
            self.message.resize(have + content, 0);
            self.noise
                .read_message(sealed, &mut self.message[have..])
                .map_err(|_| broken("its code is wrong"))?;
            inbox.drain(..end);
            if content < PART_BYTES {
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
        Ok(None)
    }

    /// Largest message of an end, in bytes.
    fn most_from(&self, role: Role) -> usize {
        match role {
            Role::Caller => CONTROL_MAX_BYTES,
            Role::Responder => self.report_max_bytes,
        }
    }
}

fn broken(why: &str) -> Error {
    Error::peer(format!(
        "a message on the control connection was refused, {why}: somebody or something in between changed it, start again"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::handshake::tests::ciphers;
    use super::*;
    use proptest::prelude::*;

    /// Caller and responder of one session.
    fn ends() -> (Sealed, Sealed) {
        let (caller, responder) = ciphers();
        (
            Sealed::new(caller, Role::Caller),
            Sealed::new(responder, Role::Responder),
        )
    }

    fn sealed(from: &mut Sealed, message: &[u8]) -> Vec<u8> {
        let contents: Vec<&[u8]> = from.parts(message).unwrap().collect();
        let seal = |content: &&[u8]| from.seal(content).unwrap();
        contents.iter().flat_map(seal).collect()
    }

    fn says<T: std::fmt::Debug>(result: Result<T>, what: &str) {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(what), "{text:?} does not say {what:?}");
    }

    #[test]
    fn messages_of_every_size_open_in_their_order() {
        let (mut caller, mut responder) = ends();
        let mut inbox = vec![];
        for message in [&b"first"[..], b"", &[7; CONTROL_MAX_BYTES], b"last"] {
            inbox.extend(sealed(&mut caller, message));
            assert_eq!(responder.open(&mut inbox), Ok(Some(message.to_vec())));
            assert!(inbox.is_empty());
        }
        for length in [PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES] {
            let message = vec![b' '; length];
            inbox.extend(sealed(&mut responder, &message));
            assert_eq!(inbox.len(), length + 18 * (length / PART_BYTES + 1));
            assert_eq!(caller.open(&mut inbox), Ok(Some(message)));
        }
    }

    #[test]
    fn a_message_opens_once_it_is_whole() {
        let (mut caller, mut responder) = ends();
        let bytes = sealed(&mut caller, b"whole");
        let mut inbox = vec![];
        for &byte in &bytes[..bytes.len() - 1] {
            inbox.push(byte);
            assert_eq!(responder.open(&mut inbox), Ok(None));
        }
        inbox.extend([bytes[bytes.len() - 1], 1, 2]);
        assert_eq!(responder.open(&mut inbox), Ok(Some(b"whole".to_vec())));
        assert_eq!(inbox, [1, 2]);
    }

    #[test]
    fn nothing_repeated_left_out_turned_around_or_of_another_session_opens() {
        let (mut caller, mut responder) = ends();
        let [first, second] = [b"1", b"2"].map(|message| sealed(&mut caller, message));
        says(responder.open(&mut second.clone()), "code is wrong");
        assert!(responder.open(&mut first.clone()).is_ok());
        says(responder.open(&mut first.clone()), "code is wrong");
        says(caller.open(&mut first.clone()), "code is wrong");
        says(ends().1.open(&mut first.clone()), "code is wrong");
    }

    #[test]
    fn nothing_can_be_read_on_the_way() {
        let message = b"{\"failed\":{\"reason\":\"no power\"}}";
        let (mut caller, _) = ends();
        let [first, second] = [message; 2].map(|message| sealed(&mut caller, message));
        assert_ne!(first, second);
        for seen in [first, second] {
            assert!(
                !message
                    .windows(4)
                    .any(|word| seen.windows(4).any(|w| w == word))
            );
        }
    }

    #[test]
    fn no_bit_can_be_changed() {
        let length = sealed(&mut ends().0, b"\"bye\"").len();
        for bit in 0..8 * length {
            let (mut caller, mut responder) = ends();
            let mut changed = sealed(&mut caller, b"\"bye\"");
            changed[bit / 8] ^= 1 << (bit % 8);
            // A greater length waits for bytes that never come.
            assert!(
                !matches!(responder.open(&mut changed), Ok(Some(_))),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_opened() {
        let of = |length: u16| length.to_be_bytes().to_vec();
        let (mut caller, mut responder) = ends();
        for end in [&mut caller, &mut responder] {
            says(end.open(&mut of(0)), "length is not allowed");
            says(end.open(&mut of(15)), "length is not allowed");
            assert_eq!(end.open(&mut of(16)), Ok(None));
        }
        says(responder.open(&mut of(u16::MAX)), "length is not allowed");
        assert_eq!(responder.open(&mut of(u16::MAX - 1)), Ok(None));
        assert_eq!(caller.open(&mut of(u16::MAX)), Ok(None));
        assert_eq!(responder.message.capacity(), 0);
    }

    #[test]
    fn a_report_is_bounded_whatever_its_parts_say() {
        let (mut caller, mut responder) = ends();
        let full = vec![b' '; PART_BYTES];
        let mut opened = 0;
        let refused = loop {
            match caller.open(&mut responder.seal(&full).unwrap()) {
                Ok(message) => assert_eq!(message, None),
                Err(refused) => break refused,
            }
            opened += 1;
        };
        says(Err::<(), _>(refused), "length is not allowed");
        assert_eq!(opened, REPORT_MAX_BYTES / PART_BYTES);
    }

    #[test]
    fn what_the_peer_would_not_take_is_not_sent() {
        let parts = |end: &Sealed, length| end.parts(&vec![b' '; length]).map(Iterator::count);
        let (mut caller, mut responder) = ends();
        assert_eq!(parts(&caller, CONTROL_MAX_BYTES), Ok(1));
        says(parts(&caller, CONTROL_MAX_BYTES + 1), "too large");
        assert!(parts(&responder, REPORT_MAX_BYTES).is_ok());
        says(parts(&responder, REPORT_MAX_BYTES + 1), "too large");
        caller.allow_raw();
        responder.allow_raw();
        says(parts(&caller, CONTROL_MAX_BYTES + 1), "too large");
        assert!(parts(&responder, RAW_REPORT_MAX_BYTES).is_ok());
        says(parts(&responder, RAW_REPORT_MAX_BYTES + 1), "too large");
        says(caller.seal(&[0; PART_BYTES + 1]), "could not be sealed");
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (_, mut responder) = ends();
            prop_assert!(!matches!(responder.open(&mut bytes), Ok(Some(_))));
            prop_assert!(responder.message.capacity() <= 2 * PART_BYTES);
        }
    }
}
