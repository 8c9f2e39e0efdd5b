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

use crate::settings::RunSettings;
use std::time::Duration;

/// How long a read waits before the loop looks around.
const READ_TIMEOUT: Duration = Duration::from_millis(20);

/// After how long an answer counts as lost, in ns: layers that lose nothing may take their time.
fn patience_ns(settings: &RunSettings) -> u64 {
    if settings.may_lose() {
        500_000_000
    } else {
        30_000_000_000
    }
}
