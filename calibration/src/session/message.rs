//! What the two ends say to each other once both have proved the key.
//!
//! A run, as the caller leads it: `Setup` → `Accepted`; `Clock` → `ClockReply` many times, before,
//! during and after; `Measure` → `Measured`; `Start` → `Ready`; the traffic; `Ended` both ways;
//! `Collect` → `Report`; `Bye`. `Refused` or `Failed` may come in place of any answer.

use crate::clock::Identity;
use crate::clock::fit::Fit;
use crate::error::{Context, Error, Result};
use crate::report::EndReport;
use crate::settings::RunSettings;
use crate::transport::Announce;
use serde::{Deserialize, Serialize};

/// One message; its tag in JSON is its name in kebab case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Message {
    /// The caller asks for a run.
    Setup(Setup),
    /// The responder will do it.
    Accepted(Accepted),
    /// The responder will not.
    Refused {
        /// One sentence for the person who asked.
        reason: String,
    },
    /// The caller asks for the time.
    Clock {
        /// When it asked, own clock.
        sent_ns: u64,
    },
    /// The responder's answer.
    ClockReply {
        /// When it was asked, the caller's clock.
        sent_ns: u64,
        /// When the question was read, the responder's clock.
        received_ns: u64,
        /// When the answer was written, the responder's clock.
        replied_ns: u64,
    },
    /// The caller asks the responder to measure its instrument and its idle host, now.
    Measure,
    /// The responder did.
    Measured,
    /// The caller starts the traffic.
    Start,
    /// The end is ready to receive, or to send.
    Ready,
    /// The sender says how much it sent, so that lost tails count.
    Ended {
        /// Frames of the run, one entry a stream, in their order.
        frames: Vec<u64>,
    },
    /// The caller asks for what the responder counted.
    Collect {
        /// The responder's clock against the caller's, as the caller fitted it; absent where no fit agrees.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fit: Option<Fit>,
    },
    /// What the responder counted.
    Report(Box<EndReport>),
    /// The run cannot go on.
    Failed {
        /// One sentence for the person who asked.
        reason: String,
    },
    /// The caller has all it wanted.
    Bye,
}

/// What the caller asks, and what the responder must know of it to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The run.
    pub settings: RunSettings,
    /// Which clock the caller's times are of.
    pub identity: Identity,
    /// Cores that the caller may use, so that both ends on one host divide them.
    pub cpus: Vec<usize>,
    /// Data ports and hardware address of the caller.
    pub announce: Announce,
}

/// What the caller must know of the responder before data can flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Which clock the responder's times are of.
    pub identity: Identity,
    /// Data ports and hardware address of the responder.
    pub announce: Announce,
}

impl Message {
    /// Writes the message as JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).or_peer("a message cannot be written as JSON, report it")
    }

    /// Reads a message, bounded in memory by its length.
    ///
    /// # Errors
    /// [`Error::Peer`] for everything that [`Message::encode`] does not write, and for a hardware
    /// address that is not one interface's: frames to it would reach others than the proved peer.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let message =
            serde_json::from_slice(bytes).map_err(|error| unreadable(&error.to_string()))?;
        let mac = match &message {
            Self::Setup(setup) => setup.announce.mac,
            Self::Accepted(accepted) => accepted.announce.mac,
            _ => None,
        };
        match mac {
            Some(mac) if mac[0] & 1 == 1 || mac == [0; 6] => {
                Err(unreadable("its hardware address is no interface's"))
            }
            _ => Ok(message),
        }
    }

    /// Returns the tag in JSON, for people.
    pub fn name(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        json.split('"').nth(1).unwrap_or_default().into()
    }

    /// Returns the error of a message that does not belong where it came.
    pub fn unexpected(&self, expected: &str) -> Error {
        Error::peer(format!(
            "the peer said {:?} where {expected:?} belongs: install the same icprobe on both ends",
            self.name()
        ))
    }
}

fn unreadable(why: &str) -> Error {
    Error::peer(format!(
        "the peer's message cannot be read, {}: install the same icprobe on both ends",
        printable(why)
    ))
}

/// Returns a peer's text safe to print: one line, no characters that steer a terminal, at most 501 in all.
pub fn printable(text: &str) -> String {
    const MOST: usize = 500;
    // Some characters turn the direction of writing.
    let harmless = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let shown = text.chars().take(MOST);
    let mut safe: String = shown
        .map(|c| if harmless(c) { c } else { '\u{fffd}' })
        .collect();
    if text.chars().nth(MOST).is_some() {
        safe.push('…');
    }
    safe
}

#[cfg(test)]
mod tests;
