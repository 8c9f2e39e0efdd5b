//! How a message travels: length u32 ‖ kind u8 ‖ counter u64 ‖ body ‖ code 32 (little endian).
//!
//! The code is HMAC-SHA256 over all before it, keyed for this session and this direction; the
//! counter starts at zero and grows by one a message, so that nothing can be repeated, left out or
//! turned around unnoticed. The length is looked at, against the most that its kind and direction
//! allow, before any memory is taken for it.

use super::handshake::Session;
use super::{Authenticator, CODE_BYTES, code, same_code};
use crate::error::{Error, Result};
use crate::settings::Role;

/// Bytes before the body.
pub const HEADER_BYTES: usize = 13;
/// Largest body of an ordinary message, in bytes.
pub const CONTROL_MAX_BYTES: u32 = 64 << 10;
/// Largest body of a report, in bytes, unless the caller asked for the latency of every frame.
pub const REPORT_MAX_BYTES: u32 = 16 << 20;
/// Largest body of a report with the latency of every frame, in bytes: about ten million frames.
pub const RAW_REPORT_MAX_BYTES: u32 = 256 << 20;

/// The kinds of message that differ in shape and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A question for the time: one number of 8 bytes.
    Clock = 1,
    /// Its answer: three numbers.
    ClockReply = 2,
    /// Everything else, as JSON.
    Control = 3,
    /// What an end measured, as JSON; only the responder sends one.
    Report = 4,
}

impl Kind {
    /// The kind of a number.
    pub fn read(number: u8) -> Option<Self> {
        [Self::Clock, Self::ClockReply, Self::Control, Self::Report]
            .into_iter()
            .find(|&kind| kind as u8 == number)
    }
}

/// One direction of a session: its key, its counter and its limits.
struct Direction {
    keyed: Authenticator,
    from: Role,
    next: u64,
    report_max_bytes: u32,
}

impl Direction {
    fn new(session: &Session, from: Role) -> Self {
        Self {
            keyed: session.direction(from),
            from,
            next: 0,
            report_max_bytes: REPORT_MAX_BYTES,
        }
    }

    fn allows(&self, kind: Kind, length: u32) -> bool {
        match kind {
            Kind::Clock => length == 8,
            Kind::ClockReply => length == 24,
            Kind::Control => length <= CONTROL_MAX_BYTES,
            Kind::Report => self.from == Role::Responder && length <= self.report_max_bytes,
        }
    }

    fn advance(&mut self) -> Result<()> {
        self.next = self.next.checked_add(1).ok_or_else(|| {
            Error::peer("a session cannot carry more than 2^64 messages: start a new one")
        })?;
        Ok(())
    }
}

/// Makes the frames of one direction.
pub struct Sealer(Direction);

impl Sealer {
    /// For the messages that `from` sends.
    pub fn new(session: &Session, from: Role) -> Self {
        Self(Direction::new(session, from))
    }

    /// Lets reports be as large as the latency of every frame needs.
    pub fn allow_raw(&mut self) {
        self.0.report_max_bytes = RAW_REPORT_MAX_BYTES;
    }

    /// The frame of the next message.
    ///
    /// # Errors
    /// [`Error::Peer`] if the body is larger than the peer would take.
    pub fn seal(&mut self, kind: Kind, body: &[u8]) -> Result<Vec<u8>> {
        let length = u32::try_from(body.len())
            .ok()
            .filter(|&length| self.0.allows(kind, length))
            .ok_or_else(|| {
                Error::peer(format!(
                    "a message of {} B is too large for the session: ask for fewer frames or without the latency of every one",
                    body.len()
                ))
            })?;
        let mut frame = Vec::with_capacity(HEADER_BYTES + body.len() + CODE_BYTES);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.push(kind as u8);
        frame.extend_from_slice(&self.0.next.to_le_bytes());
        frame.extend_from_slice(body);
        let code = code(&self.0.keyed, &[&frame]);
        frame.extend_from_slice(&code);
        self.0.advance()?;
        Ok(frame)
    }
}

/// Reads the frames of one direction.
pub struct Opener(Direction);

impl Opener {
    /// For the messages that `from` sent.
    pub fn new(session: &Session, from: Role) -> Self {
        Self(Direction::new(session, from))
    }

    /// Lets reports be as large as the latency of every frame needs.
    pub fn allow_raw(&mut self) {
        self.0.report_max_bytes = RAW_REPORT_MAX_BYTES;
    }

    /// Bytes of the frame that begins with `bytes`, as far as that is known: the header's until
    /// the header is there.
    ///
    /// # Errors
    /// [`Error::Peer`] if the header asks for what is not allowed.
    pub fn needs(&self, bytes: &[u8]) -> Result<usize> {
        match bytes.first_chunk::<HEADER_BYTES>() {
            None => Ok(HEADER_BYTES),
            Some(header) => Ok(HEADER_BYTES + self.header(header)?.1 + CODE_BYTES),
        }
    }

    /// Opens a whole frame: its kind and body.
    ///
    /// # Errors
    /// [`Error::Peer`] if length, kind, counter or code are not what they must be; nothing after
    /// that can be believed, so the session is over.
    pub fn open<'a>(&mut self, frame: &'a [u8]) -> Result<(Kind, &'a [u8])> {
        let header = frame
            .first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| broken("it is cut off"))?;
        let (kind, length) = self.header(header)?;
        if frame.len() != HEADER_BYTES + length + CODE_BYTES {
            return Err(broken("its length is wrong"));
        }
        let (signed, received) = frame.split_at(HEADER_BYTES + length);
        if !same_code(&code(&self.0.keyed, &[signed]), received) {
            return Err(broken("its code is wrong"));
        }
        self.0.advance()?;
        Ok((kind, &signed[HEADER_BYTES..]))
    }

    fn header(&self, header: &[u8; HEADER_BYTES]) -> Result<(Kind, usize)> {
        let [l0, l1, l2, l3, kind, counter @ ..] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let kind = Kind::read(kind).ok_or_else(|| broken("its kind is unknown"))?;
        if !self.0.allows(kind, length) {
            return Err(broken("its length is not allowed"));
        }
        if u64::from_le_bytes(counter) != self.0.next {
            return Err(broken("it is out of order"));
        }
        Ok((kind, length as usize))
    }
}

fn broken(why: &str) -> Error {
    Error::peer(format!(
        "a message on the control connection was refused, {why}: somebody or something in between changed it, start again"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session() -> Session {
        Session::of([7; CODE_BYTES])
    }

    fn ends(from: Role) -> (Sealer, Opener) {
        (Sealer::new(&session(), from), Opener::new(&session(), from))
    }

    fn says<T: std::fmt::Debug>(result: Result<T>, what: &str) {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(what), "{text:?} does not say {what:?}");
    }

    #[test]
    fn frames_open_in_their_order() {
        let (mut sealer, mut opener) = ends(Role::Caller);
        for body in [&b"first"[..], b"", b"third"] {
            let frame = sealer.seal(Kind::Control, body).unwrap();
            assert_eq!(opener.needs(&frame[..5]).unwrap(), HEADER_BYTES);
            assert_eq!(opener.needs(&frame[..HEADER_BYTES]).unwrap(), frame.len());
            assert_eq!(opener.open(&frame).unwrap(), (Kind::Control, body));
        }
    }

    #[test]
    fn nothing_repeated_left_out_turned_around_or_of_another_session_opens() {
        let (mut sealer, mut opener) = ends(Role::Caller);
        let first = sealer.seal(Kind::Control, b"1").unwrap();
        let second = sealer.seal(Kind::Control, b"2").unwrap();
        says(opener.open(&second), "out of order");
        assert!(opener.open(&first).is_ok());
        says(opener.open(&first), "out of order");
        let (_, mut back) = ends(Role::Responder);
        says(back.open(&first), "code is wrong");
        let mut other = Opener::new(&Session::of([8; CODE_BYTES]), Role::Caller);
        says(other.open(&first), "code is wrong");
    }

    #[test]
    fn no_bit_can_be_changed() {
        let frame = ends(Role::Caller)
            .0
            .seal(Kind::Control, b"{\"bye\":0}")
            .unwrap();
        for bit in 0..8 * frame.len() {
            let mut changed = frame.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (_, mut opener) = ends(Role::Caller);
            assert!(opener.open(&changed).is_err(), "bit {bit}");
        }
        for length in 0..frame.len() {
            assert!(ends(Role::Caller).1.open(&frame[..length]).is_err());
        }
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_read() {
        let header = |length: u32, kind: u8| {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes
        };
        let (_, caller) = ends(Role::Caller);
        assert!(caller.needs(&header(CONTROL_MAX_BYTES, 3)).is_ok());
        says(
            caller.needs(&header(CONTROL_MAX_BYTES + 1, 3)),
            "length is not allowed",
        );
        says(caller.needs(&header(u32::MAX, 3)), "length is not allowed");
        says(caller.needs(&header(9, 1)), "length is not allowed");
        says(caller.needs(&header(23, 2)), "length is not allowed");
        says(caller.needs(&header(2, 4)), "length is not allowed");
        says(caller.needs(&header(2, 0)), "kind is unknown");
        says(caller.needs(&header(2, 5)), "kind is unknown");
        let (_, mut responder) = ends(Role::Responder);
        assert!(responder.needs(&header(REPORT_MAX_BYTES, 4)).is_ok());
        says(
            responder.needs(&header(REPORT_MAX_BYTES + 1, 4)),
            "length is not allowed",
        );
        responder.allow_raw();
        assert!(responder.needs(&header(RAW_REPORT_MAX_BYTES, 4)).is_ok());
        says(
            responder.needs(&header(RAW_REPORT_MAX_BYTES + 1, 4)),
            "length is not allowed",
        );
    }

    #[test]
    fn what_the_peer_would_not_take_is_not_sent() {
        let (mut sealer, _) = ends(Role::Caller);
        says(sealer.seal(Kind::Control, &vec![b' '; 65_537]), "too large");
        says(sealer.seal(Kind::Report, b"{}"), "too large");
        assert!(sealer.seal(Kind::Control, &vec![b' '; 65_536]).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (_, mut opener) = ends(Role::Responder);
            prop_assert!(opener.open(&bytes).is_err());
            if let Ok(needs) = opener.needs(&bytes) {
                prop_assert!(needs <= HEADER_BYTES + REPORT_MAX_BYTES as usize + CODE_BYTES);
            }
        }
    }
}
