//! Frame header, the same for all protocols.
//!
//! 32 bytes, little endian, at the start of the payload and part of it:
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0…3 | `tag` | random name of the run: frames of another run are refused |
//! | 4…5 | `stream` | number of the parallel stream |
//! | 6 | `version` | version of this layout |
//! | 7 | `phase` | warm-up, window, tail |
//! | 8…15 | `seq` | number of the frame in its stream, from 0 |
//! | 16…23 | `intended_ns` | scheduled send time, in ns of the sender's clock |
//! | 24…31 | `sent_ns` | start of the send, or of its batch if unlimited, in ns of the sender's clock |
//!
//! A frame shorter than the header carries only its phase, in its first byte. A run with such
//! frames counts frames and bytes, but measures no latency, duplicates or reordering.

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 32;
/// Version of the layout.
pub const VERSION: u8 = 1;

/// Part of a run to which a frame belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Warm-up before the window, not measured.
    WarmUp = 0,
    /// Inside the measured window.
    Window = 1,
    /// Cool-down: keeps up the load until the last frames of the window have arrived.
    Tail = 2,
}

impl Phase {
    /// Decodes a phase; `None` for an unknown byte.
    #[inline]
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::WarmUp),
            1 => Some(Self::Window),
            2 => Some(Self::Tail),
            _ => None,
        }
    }
}

/// Decoded frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Name of the run.
    pub tag: u32,
    /// Number of the stream.
    pub stream: u16,
    /// Part of the run.
    pub phase: Phase,
    /// Number of the frame in its stream.
    pub seq: u64,
    /// Scheduled send time, in ns of the sender's clock.
    pub intended_ns: u64,
    /// Actual start of the send, in ns of the sender's clock.
    pub sent_ns: u64,
}

impl Header {
    /// Writes the header to the start of `frame`. If the frame is too short, writes only the phase.
    #[inline]
    pub fn write(&self, frame: &mut [u8]) {
        let [first, seq, intended_ns, sent_ns, ..] = frame.as_chunks_mut().0 else {
            frame[0] = self.phase as u8;
            return;
        };
        let ([t0, t1, t2, t3], [s0, s1]) = (self.tag.to_le_bytes(), self.stream.to_le_bytes());
        *first = [t0, t1, t2, t3, s0, s1, VERSION, self.phase as u8];
        *seq = self.seq.to_le_bytes();
        *intended_ns = self.intended_ns.to_le_bytes();
        *sent_ns = self.sent_ns.to_le_bytes();
    }

    /// Reads the header at the start of `frame`; `None` if there is none of this version.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let [first, seq, intended_ns, sent_ns, ..] = frame.as_chunks().0 else {
            return None;
        };
        let [t0, t1, t2, t3, s0, s1, version, phase] = *first;
        if version != VERSION {
            return None;
        }
        Some(Self {
            tag: u32::from_le_bytes([t0, t1, t2, t3]),
            stream: u16::from_le_bytes([s0, s1]),
            phase: Phase::of(phase)?,
            seq: u64::from_le_bytes(*seq),
            intended_ns: u64::from_le_bytes(*intended_ns),
            sent_ns: u64::from_le_bytes(*sent_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            tag: u32, stream: u16, phase in 0..3u8, seq: u64, intended_ns: u64, sent_ns: u64, more in 0usize..100
        ) {
            let phase = Phase::of(phase).unwrap();
            let header = Header { tag, stream, phase, seq, intended_ns, sent_ns };
            let mut frame = vec![0xa5; HEADER_BYTES + more];
            header.write(&mut frame);
            prop_assert_eq!(Header::read(&frame), Some(header));
            prop_assert!(frame[HEADER_BYTES..].iter().all(|b| *b == 0xa5));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let known = bytes.len() >= HEADER_BYTES && bytes[6] == VERSION && bytes[7] < 3;
            prop_assert_eq!(Header::read(&bytes).is_some(), known);
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut frame = [0; 32];
        Header {
            tag: 0x0403_0201,
            stream: 0x0605,
            phase: Phase::Tail,
            seq: 8,
            intended_ns: 16,
            sent_ns: 24,
        }
        .write(&mut frame);
        assert_eq!(frame[..9], [1, 2, 3, 4, 5, 6, VERSION, 2, 8]);
        assert_eq!((frame[16], frame[24]), (16, 24));
    }

    #[test]
    fn a_short_frame_carries_its_phase() {
        let mut frame = [9; 5];
        Header {
            tag: 1,
            stream: 0,
            phase: Phase::Window,
            seq: 0,
            intended_ns: 0,
            sent_ns: 0,
        }
        .write(&mut frame);
        assert_eq!(frame, [1, 9, 9, 9, 9]);
        assert_eq!(Header::read(&frame), None);
    }
}
