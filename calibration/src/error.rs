//! Errors, in the classes distinguished by the exit codes.

use std::fmt;

/// Error with a one-sentence message: what is wrong, the value, the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Invalid input: an option, plan, topology or key file (exit code 2).
    Question(String),
    /// Failure of the peer or the network: no answer, refused, connection lost (exit code 3).
    Peer(String),
}

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error for invalid input.
    pub fn question(text: impl Into<String>) -> Self {
        Self::Question(text.into())
    }

    /// Creates an error for a failure of the peer or the network.
    pub fn peer(text: impl Into<String>) -> Self {
        Self::Peer(text.into())
    }

    /// Exit code of the process: 2 for invalid input, 3 for peer and network.
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

/// Returns [`Error::Question`] with the given reason unless the condition holds.
pub fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Question(otherwise()))
    }
}

/// Adds context to the error of a system call.
pub trait Context<T> {
    /// Converts to [`Error::Peer`] with the context.
    fn or_peer(self, doing: impl fmt::Display) -> Result<T>;
    /// Converts to [`Error::Question`] with the context.
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
