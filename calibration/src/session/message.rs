//! What the two ends say to each other once both have proved the key.
//!
//! A run, as the caller leads it: `Setup` → `Accepted`; `Clock` → `ClockReply` many times, before,
//! during and after; `Measure` → `Measured`; `Start` → `Ready`; the traffic; `Ended` both ways;
//! `Collect` → `Report`; `Bye`. `Refused` or `Failed` may come in place of any answer.

use super::text::{parse_mac, printable};
use crate::clock::Identity;
use crate::clock::fit::{Exchange, Fit};
use crate::error::{Error, Result};
use crate::report::EndReport;
use crate::settings::RunSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most ports, cores or streams that one message may name.
const LIST_MAX: usize = 4096;
/// Most bytes of a reason or a name.
const TEXT_MAX_BYTES: usize = 4096;
/// First byte of a question for the time. JSON begins with a quote or a brace.
const CLOCK: u8 = 1;
/// First byte of the answer to a question for the time.
const CLOCK_REPLY: u8 = 2;

/// One message; its tag in JSON is its name in kebab case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The caller asks for the time; numbers of a fixed length, not JSON.
    #[serde(skip)]
    Clock {
        /// When it asked, own clock.
        sent_ns: u64,
    },
    /// The responder's answer; numbers of a fixed length, not JSON.
    #[serde(skip)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The run.
    pub settings: RunSettings,
    /// Which clock the caller's times are of.
    pub identity: Identity,
    /// Direct Ethernet: address of the caller's interface, as `02:00:00:00:00:01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Cores that the caller may use, so that both ends on one host divide them.
    pub cpus: Vec<usize>,
    /// Ports of the caller's data sockets, one a stream, where each stream has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
}

/// What the caller must know of the responder before data can flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Which clock the responder's times are of.
    pub identity: Identity,
    /// Ports of the responder's data sockets, one a stream, where each stream has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_ports: Vec<u16>,
    /// Direct Ethernet: address of the responder's interface, as `02:00:00:00:00:01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}

impl Message {
    /// Its name, for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Accepted(_) => "accepted",
            Self::Refused { .. } => "refused",
            Self::Clock { .. } => "clock",
            Self::ClockReply { .. } => "clock-reply",
            Self::Measure => "measure",
            Self::Measured => "measured",
            Self::Start => "start",
            Self::Ready => "ready",
            Self::Ended { .. } => "ended",
            Self::Collect { .. } => "collect",
            Self::Report(_) => "report",
            Self::Failed { .. } => "failed",
            Self::Bye => "bye",
        }
    }

    /// The message, unless the peer refused or failed.
    ///
    /// # Errors
    /// With the peer's reason, made safe to print: [`Error::Question`] where it refused, for such a
    /// question cannot be asked there; [`Error::Peer`] where it failed.
    pub fn granted(self) -> Result<Self> {
        match self {
            Self::Refused { reason } => Err(Error::question(format!(
                "the peer refused: {}",
                printable(&reason)
            ))),
            Self::Failed { reason } => Err(Error::peer(format!(
                "the peer failed: {}",
                printable(&reason)
            ))),
            other => Ok(other),
        }
    }

    /// The answer to a question for the time, read at `read_ns` of the own clock.
    ///
    /// # Errors
    /// [`Error::Peer`] if it is something else.
    pub fn into_exchange(self, read_ns: u64) -> Result<Exchange> {
        match self {
            Self::ClockReply {
                sent_ns,
                received_ns,
                replied_ns,
            } => Ok(Exchange {
                sent_ns,
                peer_received_ns: received_ns,
                peer_sent_ns: replied_ns,
                received_ns: read_ns,
            }),
            other => Err(other.unexpected("clock-reply")),
        }
    }

    /// The error of a message that does not belong where it came.
    pub fn unexpected(&self, expected: &str) -> Error {
        Error::peer(format!(
            "the peer said {:?} where {expected:?} belongs: install the same icprobe on both ends",
            self.name()
        ))
    }

    /// The bytes it travels as: numbers of 8 bytes for the clock, JSON for the others.
    ///
    /// # Errors
    /// [`Error::Peer`] if it cannot be written as JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        match *self {
            Self::Clock { sent_ns } => Ok(numbers(CLOCK, [sent_ns])),
            Self::ClockReply {
                sent_ns,
                received_ns,
                replied_ns,
            } => Ok(numbers(CLOCK_REPLY, [sent_ns, received_ns, replied_ns])),
            _ => serde_json::to_vec(self).map_err(|error| {
                Error::peer(format!(
                    "the message {} cannot be written: {error}",
                    self.name()
                ))
            }),
        }
    }

    /// Reads the bytes of a message.
    ///
    /// # Errors
    /// [`Error::Peer`] for everything that [`Message::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let message = match bytes.split_first() {
            Some((&CLOCK, rest)) => {
                let [sent_ns] = read_numbers(rest)?;
                Self::Clock { sent_ns }
            }
            Some((&CLOCK_REPLY, rest)) => {
                let [sent_ns, received_ns, replied_ns] = read_numbers(rest)?;
                Self::ClockReply {
                    sent_ns,
                    received_ns,
                    replied_ns,
                }
            }
            _ => serde_json::from_slice(bytes)
                .map_err(|error| unreadable("in JSON", &error.to_string()))?,
        };
        message.check()?;
        Ok(message)
    }

    /// Refuses lists and texts longer than any end of this tool would send.
    fn check(&self) -> Result<()> {
        let fits = match self {
            Self::Setup(setup) => {
                setup.cpus.len() <= LIST_MAX
                    && setup.ports.len() <= LIST_MAX
                    && is_address(setup.mac.as_deref())
            }
            Self::Accepted(accepted) => {
                accepted.data_ports.len() <= LIST_MAX && is_address(accepted.mac.as_deref())
            }
            Self::Ended { frames } => frames.len() <= LIST_MAX,
            Self::Refused { reason } | Self::Failed { reason } => reason.len() <= TEXT_MAX_BYTES,
            _ => true,
        };
        if fits {
            Ok(())
        } else {
            Err(unreadable(self.name(), "its values are not possible"))
        }
    }
}

fn numbers<const N: usize>(first: u8, numbers: [u64; N]) -> Vec<u8> {
    let mut bytes = vec![first];
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

fn read_numbers<const N: usize>(bytes: &[u8]) -> Result<[u64; N]> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    <&[[u8; 8]; N]>::try_from(numbers)
        .ok()
        .filter(|_| rest.is_empty())
        .map(|numbers| numbers.map(u64::from_le_bytes))
        .ok_or_else(|| unreadable("of the clock", "its length is wrong"))
}

fn unreadable(which: &str, why: &str) -> Error {
    Error::peer(format!(
        "the peer's message {which} cannot be read, {}: install the same icprobe on both ends",
        printable(why)
    ))
}

fn is_address(text: Option<&str>) -> bool {
    text.is_none_or(|text| parse_mac(text).is_some())
}

#[cfg(test)]
mod tests;
