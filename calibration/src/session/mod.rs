//! Control session between the two ends: authentication, messages and limits.
//!
//! Both ends prove a pre-shared [`key`] in the [`handshake`] of the Noise protocol before anything else
//! happens. Noise then encrypts, counts and authenticates every [`message`] ([`framing`], [`channel`]).
//! The responder answers only within its own [`limits`]. The [`listener`] keeps strangers from
//! taking its time or its memory.

pub mod channel;
pub mod framing;
pub mod handshake;
pub mod key;
pub mod limits;
mod line;
pub mod listener;
pub mod message;

pub use channel::{Channel, connect};
pub use key::Key;
pub use limits::Limits;
pub use listener::Listener;
pub use message::Message;

/// Default TCP port of the control connection. It is below the ephemeral ports of Linux (32 768 and
/// up), so that a responder finds it free.
pub const DEFAULT_PORT: u16 = 20_120;

#[cfg(test)]
mod tests;
