//! Questions and answers: ping-pong, synchronous calls, and calls in batches.
//!
//! A question is a frame like any other; an answer is its header back, in a frame of the answer's
//! size. What is asked in which pattern:
//!
//! | pattern | asked | answered |
//! |---|---|---|
//! | ping-pong, call | the next when the last is answered | each |
//! | oneway-batch | all at once, then whether all were invoked | that last question alone, with the count |
//! | twoway-batch | all at once, answers are read meanwhile | each |

mod answer;
mod ask;
mod batch;
mod body;

pub use answer::{AnswerTask, StreamAnswered};
pub use ask::{AskTask, StreamAsked};
pub use body::Vector;

use crate::frame::HEADER_BYTES;
use crate::settings::{Pattern, Protocol, RunSettings};
use std::time::Duration;

/// How long a read waits before the loop looks around.
const READ_TIMEOUT: Duration = Duration::from_millis(20);

/// Size of an answer: as asked for, else as large as the question in ping-pong, else the header alone.
pub fn answer_bytes(settings: &RunSettings) -> u32 {
    let otherwise = match settings.pattern {
        Pattern::PingPong => settings.payload_bytes,
        _ => HEADER_BYTES as u32,
    };
    settings.reply_bytes.unwrap_or(otherwise)
}

/// After how long an answer counts as lost, in ns: layers that lose nothing may take their time.
fn patience_ns(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Udp | Protocol::Ethernet => 500_000_000,
        Protocol::Tcp | Protocol::Zeromq => 30_000_000_000,
    }
}
