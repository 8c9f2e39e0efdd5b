//! What can go wrong, in the classes that the exit codes tell apart.

use std::fmt;

/// A failure, said in one sentence: what was given, what is allowed, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The question was wrong: an option, a plan, a topology, a key file (exit code 2).
    Question(String),
    /// The peer or the network failed: no answer, refused, broken off (exit code 3).
    Peer(String),
}

/// The result of anything that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A wrong question.
    pub fn question(text: impl Into<String>) -> Self {
        Self::Question(text.into())
    }

    /// A failure of the peer or of the network.
    pub fn peer(text: impl Into<String>) -> Self {
        Self::Peer(text.into())
    }

    /// The exit code of the process: 2 for a wrong question, 3 for peer and network.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Question(_) => 2,
            Self::Peer(_) => 3,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Question(text) | Self::Peer(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// Refuses a question, with the reason, unless something holds.
pub fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Question(otherwise()))
    }
}

/// Names what was being done when a system call failed.
pub trait Context<T> {
    /// The failure as one of the peer or the network, with what was being done.
    fn or_peer(self, doing: impl fmt::Display) -> Result<T>;
    /// The failure as a wrong question, with what was being done.
    fn or_question(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn or_peer(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|e| Error::Peer(format!("{doing}: {e}")))
    }

    fn or_question(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|e| Error::Question(format!("{doing}: {e}")))
    }
}
