//! Requests and replies: ping-pong, synchronous calls and batched calls.
//!
//! A request is an ordinary frame; a reply repeats its header in a frame of the reply's size.
//! Requests and replies by pattern:
//!
//! | pattern | requests | replies |
//! |---|---|---|
//! | ping-pong, call | each after the previous reply | to each request |
//! | oneway-batch | all at once, then a request for confirmation | one, with the count of calls |
//! | twoway-batch | all at once, replies are read meanwhile | to each request |

mod answer;
mod ask;
mod batch;
mod body;

pub use answer::{AnswerTask, StreamAnswered};
pub use ask::{AskTask, StreamAsked};

use crate::settings::RunSettings;
use std::time::Duration;

/// Timeout of a read, after which the loop checks its stop flag.
const READ_TIMEOUT: Duration = Duration::from_millis(20);

/// Time after which a reply counts as lost, in ns; longer for lossless protocols.
fn patience_ns(settings: &RunSettings) -> u64 {
    if settings.may_lose() {
        500_000_000
    } else {
        30_000_000_000
    }
}
