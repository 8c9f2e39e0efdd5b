//! The header of the data frames, which anybody on the network may forge.

use crate::fuzz;
use icprobe::frame::{HEADER_BYTES, Header, Phase};

#[test]
fn frame_headers() {
    let right = [Phase::WarmUp, Phase::Window, Phase::Tail].map(|phase| {
        let header = Header {
            tag: 0x0123_4567,
            stream: 3,
            phase,
            seq: 1 << 40,
            intended_ns: 1,
            sent_ns: u64::MAX,
        };
        let mut frame = vec![0; 64];
        header.write(&mut frame);
        frame
    });
    fuzz("frame header", &right, |bytes| {
        if let Some(header) = Header::read(bytes) {
            let mut again = [0u8; HEADER_BYTES];
            header.write(&mut again);
            assert_eq!(
                &again[..],
                &bytes[..HEADER_BYTES],
                "read something that was not there"
            );
        }
    });
}
