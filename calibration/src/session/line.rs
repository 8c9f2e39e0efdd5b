//! Reads and writes of a TCP connection with one deadline, however slow the peer is.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{Error, ErrorKind, Result};
use std::net::TcpStream;
use std::time::Instant;

/// Connection until a deadline. Errors are `TimedOut` after it, and `UnexpectedEof` if the peer closed.
pub(super) struct Line<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) deadline: Instant,
}

impl Line<'_> {
    /// Reads available bytes, or waits for them. After the deadline, it tries once without waiting.
    pub(super) fn read(&self, bytes: &mut [u8]) -> Result<usize> {
        let count = self.ready(PollFlags::IN, || {
            recv(self.stream, &mut *bytes, RecvFlags::DONTWAIT).map(|(count, _)| count)
        })?;
        match count {
            0 => Err(Error::new(
                ErrorKind::UnexpectedEof,
                "it closed the connection",
            )),
            count => Ok(count),
        }
    }

    /// Reads N bytes and no more.
    pub(super) fn receive<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        let mut have = 0;
        while have < N {
            have += self.read(&mut bytes[have..])?;
        }
        Ok(bytes)
    }

    /// Writes all bytes.
    pub(super) fn send(&self, mut bytes: &[u8]) -> Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        while !bytes.is_empty() {
            let count = self.ready(PollFlags::OUT, || send(self.stream, bytes, flags))?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Repeats a non-blocking call until the connection is ready for it.
    fn ready(
        &self,
        event: PollFlags,
        mut call: impl FnMut() -> rustix::io::Result<usize>,
    ) -> Result<usize> {
        loop {
            match call() {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(event)?,
                done => return Ok(done?),
            }
        }
    }

    fn wait(&self, event: PollFlags) -> Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(ErrorKind::TimedOut, "it did nothing in time"));
        }
        let left = Timespec::try_from(left).map_err(Error::other)?;
        match poll(&mut [PollFd::new(self.stream, event)], Some(&left)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
