//! Messages between the two ends, after both have proved the key.
//!
//! Order of the messages in a run: `Setup` → `Accepted`; `Clock` → `ClockReply` many times, before,
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
    /// The responder accepts the run.
    Accepted(Accepted),
    /// The responder refuses the run.
    Refused {
        /// Reason in one sentence, for the user of the caller.
        reason: String,
    },
    /// The caller asks for the time.
    Clock {
        /// Time of the request, caller's clock.
        sent_ns: u64,
    },
    /// The responder's answer to `Clock`.
    ClockReply {
        /// Time of the request, caller's clock.
        sent_ns: u64,
        /// Time at which the request was read, responder's clock.
        received_ns: u64,
        /// Time at which the answer was written, responder's clock.
        replied_ns: u64,
    },
    /// The caller asks the responder to run its self-check and to measure its idle host, now.
    Measure,
    /// The responder has finished `Measure`.
    Measured,
    /// The caller starts the traffic.
    Start,
    /// The end is ready to receive, or to send.
    Ready,
    /// The sender announces the number of sent frames, so that frames lost at the end count.
    Ended {
        /// Frames sent in the run, one number per stream.
        frames: Vec<u64>,
    },
    /// The caller asks for the responder's report.
    Collect {
        /// Fit of the responder's clock relative to the caller's; absent if no line fits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fit: Option<Fit>,
    },
    /// Report of the responder.
    Report(Box<EndReport>),
    /// The run cannot go on.
    Failed {
        /// Reason in one sentence, for the user of the caller.
        reason: String,
    },
    /// The caller ends the session.
    Bye,
}

/// Request for a run: its settings, and the properties of the caller that the responder needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The run.
    pub settings: RunSettings,
    /// Identity of the clock of the caller's times.
    pub identity: Identity,
    /// Cores that the caller may use, so that both ends on one host divide them.
    pub cpus: Vec<usize>,
    /// Data ports and hardware address of the caller.
    pub announce: Announce,
}

/// Properties of the responder that the caller needs before data can flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Identity of the clock of the responder's times.
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
    /// [`Error::Peer`] for bytes that [`Message::encode`] does not write. Also for a hardware
    /// address that is zero or multicast, since frames to it would reach others than the
    /// authenticated peer.
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

    /// Returns the error for a message that was not expected at this point.
    pub fn unexpected(&self, expected: &str) -> Error {
        Error::peer(format!(
            "the peer sent {:?} instead of {expected:?}: install the same icprobe on both ends",
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
    // Some characters change the writing direction.
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
