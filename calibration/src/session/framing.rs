//! Sealed messages: parts of at most 65 535 B, each a transport message of Noise behind its length.
//!
//! part = length u16, big endian ‖ ciphertext ‖ code 16. A part shorter than the longest ends its message.
//! Noise encrypts each part, and counts the parts of a direction. So parts cannot be read, forged,
//! changed, repeated, left out or turned around. Memory grows only by parts that were authentic.

use crate::error::{Context, Error, Result};
use snow::TransportState;

/// Length of the length field of a part, in bytes.
const LENGTH_BYTES: usize = 2;
/// Length of the code of a part, in bytes.
const CODE_BYTES: usize = 16;
/// Longest content of a part, in bytes.
const PART_BYTES: usize = u16::MAX as usize - CODE_BYTES;
/// Largest message of a caller, in bytes: one part.
const CONTROL_MAX_BYTES: usize = PART_BYTES - 1;
/// Largest message of a responder, in bytes, unless the caller asked for the latency of every frame.
pub(super) const REPORT_MAX_BYTES: usize = 16 << 20;
/// Largest report with the latency of every frame, in bytes: about ten million frames.
pub(super) const RAW_REPORT_MAX_BYTES: usize = 256 << 20;

/// Both directions of a session, seen from one end.
pub struct Sealed {
    noise: TransportState,
    report_max_bytes: usize,
    /// Decrypted parts of a message that is not complete yet.
    message: Vec<u8>,
}

impl Sealed {
    /// Creates an end with the ciphers of a finished handshake.
    pub fn new(noise: TransportState) -> Self {
        Self {
            noise,
            report_max_bytes: REPORT_MAX_BYTES,
            message: Vec::new(),
        }
    }

    /// Raises the size limit of reports, so that they can hold the latency of every frame.
    pub fn allow_raw(&mut self) {
        self.report_max_bytes = RAW_REPORT_MAX_BYTES;
    }

    /// Seals a message, part by part.
    ///
    /// # Errors
    /// [`Error::Peer`] if it is larger than the peer would take.
    pub fn seal<'a>(
        &'a mut self,
        message: &'a [u8],
    ) -> Result<impl Iterator<Item = Result<Vec<u8>>> + 'a> {
        if message.len() > self.most_from(self.noise.is_initiator()) {
            return Err(Error::peer(format!(
                "a message of {} B is too large for the session: ask for fewer frames, or leave --raw out",
                message.len()
            )));
        }
        let full = message.len().is_multiple_of(PART_BYTES);
        let contents = message.chunks(PART_BYTES).chain(full.then_some(&[][..]));
        Ok(contents.map(|content| self.part(content)))
    }

    fn part(&mut self, content: &[u8]) -> Result<Vec<u8>> {
        let failed = "a message could not be sealed, start a new session";
        let length = u16::try_from(content.len() + CODE_BYTES).or_peer(failed)?;
        let mut part = length.to_be_bytes().to_vec();
        part.resize(LENGTH_BYTES + usize::from(length), 0);
        self.noise
            .write_message(content, &mut part[LENGTH_BYTES..])
            .or_peer(failed)?;
        Ok(part)
    }

    /// Opens the parts at the start of `inbox` and removes them. Returns the next message if it is whole.
    ///
    /// # Errors
    /// [`Error::Peer`] if a length is not allowed or a code is wrong. Nothing after that can be
    /// trusted, so the session is over.
    pub fn open(&mut self, inbox: &mut Vec<u8>) -> Result<Option<Vec<u8>>> {
        while let Some(&length) = inbox.first_chunk() {
            let length = usize::from(u16::from_be_bytes(length));
            let have = self.message.len();
            let content = length
                .checked_sub(CODE_BYTES)
                .filter(|content| have + content <= self.most_from(!self.noise.is_initiator()))
                .ok_or_else(|| broken("its length is not allowed"))?;
            let Some(sealed) = inbox.get(LENGTH_BYTES..LENGTH_BYTES + length) else {
                break;
            };
            self.message.resize(have + content, 0);
            self.noise
                .read_message(sealed, &mut self.message[have..])
                .map_err(|_| broken("its code is wrong"))?;
            inbox.drain(..LENGTH_BYTES + length);
            if content < PART_BYTES {
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
        Ok(None)
    }

    /// Largest message of an end, in bytes.
    fn most_from(&self, caller: bool) -> usize {
        match caller {
            true => CONTROL_MAX_BYTES,
            false => self.report_max_bytes,
        }
    }
}

fn broken(why: &str) -> Error {
    Error::peer(format!(
        "a message on the control connection was refused, {why}: it was changed on its way; start the run again"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{proved, says};
    use super::*;

    /// Caller and responder of one session.
    fn ends() -> [Sealed; 2] {
        proved().map(|(_, (noise, _))| Sealed::new(noise))
    }

    fn sealed(from: &mut Sealed, message: &[u8]) -> Vec<u8> {
        let parts = from.seal(message).unwrap();
        parts.flat_map(Result::unwrap).collect()
    }

    #[test]
    fn messages_of_every_size_open_in_their_order() {
        let [mut caller, mut responder] = ends();
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
    fn nothing_repeated_left_out_turned_around_or_of_another_session_opens() {
        let [mut caller, mut responder] = ends();
        let [first, second] = [b"1", b"2"].map(|message| sealed(&mut caller, message));
        says(responder.open(&mut second.clone()), "code is wrong");
        assert!(responder.open(&mut first.clone()).is_ok());
        says(responder.open(&mut first.clone()), "code is wrong");
        says(caller.open(&mut first.clone()), "code is wrong");
        says(ends()[1].open(&mut first.clone()), "code is wrong");
    }

    #[test]
    fn nothing_can_be_read_on_the_way() {
        let message = b"{\"failed\":{\"reason\":\"no power\"}}";
        let [mut caller, _] = ends();
        let [first, second] = [message; 2].map(|message| sealed(&mut caller, message));
        assert_ne!(first, second);
        for seen in [first, second] {
            let words = seen.windows(4);
            assert_eq!(
                words
                    .filter(|seen| message.windows(4).any(|word| word == *seen))
                    .count(),
                0
            );
        }
    }

    #[test]
    fn no_bit_can_be_changed() {
        let length = sealed(&mut ends()[0], b"\"bye\"").len();
        for bit in 0..8 * length {
            let [mut caller, mut responder] = ends();
            let mut changed = sealed(&mut caller, b"\"bye\"");
            changed[bit / 8] ^= 1 << (bit % 8);
            // A greater length waits for bytes that never come.
            let opened = responder.open(&mut changed);
            assert!(!matches!(opened, Ok(Some(_))), "bit {bit}");
            assert!(responder.message.capacity() <= 2 * PART_BYTES);
        }
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_opened() {
        let of = |length: u16| length.to_be_bytes().to_vec();
        let [mut caller, mut responder] = ends();
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
        let [mut caller, mut responder] = ends();
        let full = vec![b' '; PART_BYTES];
        for _ in 0..REPORT_MAX_BYTES / PART_BYTES {
            assert_eq!(caller.open(&mut responder.part(&full).unwrap()), Ok(None));
        }
        let one_more = caller.open(&mut responder.part(&full).unwrap());
        says(one_more, "length is not allowed");
    }

    #[test]
    fn what_the_peer_would_not_take_is_not_sent() {
        fn bounded(end: &mut Sealed, most: usize) {
            assert!(end.seal(&vec![b' '; most]).is_ok());
            says(end.seal(&vec![b' '; most + 1]), "too large");
        }
        let [mut caller, mut responder] = ends();
        bounded(&mut caller, CONTROL_MAX_BYTES);
        bounded(&mut responder, REPORT_MAX_BYTES);
        caller.allow_raw();
        responder.allow_raw();
        bounded(&mut caller, CONTROL_MAX_BYTES);
        bounded(&mut responder, RAW_REPORT_MAX_BYTES);
        says(caller.part(&[0; PART_BYTES + 1]), "could not be sealed");
    }
}
