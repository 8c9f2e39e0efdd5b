//! Reads and writes of a TCP connection that end by one moment, however slowly the peer goes.

use rustix::net::{RecvFlags, recv};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Connection until a deadline. Errors are `TimedOut` after it, and `UnexpectedEof` if the peer closed.
pub(super) struct Line<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> Line<'a> {
    pub(super) fn until(stream: &'a TcpStream, deadline: Instant) -> Self {
        Self { stream, deadline }
    }

    /// Reads what is there, or waits for it. After the deadline it looks once without waiting.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.left();
            let read = match left {
                // The least timeout of a socket is a tick of the kernel.
                None => recv(self.stream, &mut *bytes, RecvFlags::DONTWAIT)
                    .map(|(count, _)| count)
                    .map_err(io::Error::from),
                Some(_) => {
                    self.stream.set_read_timeout(left)?;
                    self.stream.read(bytes)
                }
            };
            match read {
                Ok(0) => return Err(closed()),
                Err(error) if again(&error) && left.is_none() => return Err(late()),
                Err(error) if again(&error) => {}
                other => return other,
            }
        }
    }

    /// Reads N bytes and no more.
    pub(super) fn receive<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        let mut have = 0;
        while have < N {
            have += self.read(&mut bytes[have..])?;
        }
        Ok(bytes)
    }

    /// Writes all bytes.
    pub(super) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let left = self.left().ok_or_else(late)?;
            self.stream.set_write_timeout(Some(left))?;
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(closed()),
                Err(error) if again(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn left(&self) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// Whether to look at the clock and try once more: interrupted, or the timeout of the socket.
fn again(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

fn late() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "its time is over")
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection")
}
