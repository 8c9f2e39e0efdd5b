//! Socket options of one end of a run.

use super::socket;
use crate::settings::{Pattern, Role, RunSettings, Waiting};
use rustix::net::sockopt::{
    Timeout, set_ip_tos, set_ipv6_tclass, set_socket_recv_buffer_size, set_socket_send_buffer_size,
};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Default payload of a reply to a call, in bytes.
pub const ANSWER_BYTES: u32 = 32;
/// Timeout of a send on a full socket, after which the peer counts as disconnected.
pub const SEND_PATIENCE: Duration = Duration::from_secs(10);

/// Socket options of one end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Connections.
    pub streams: usize,
    /// Whether this end sends the stream or the requests.
    pub asks: bool,
    /// Whether frames go both ways on every connection.
    pub duplex: bool,
    /// Whether each request waits for the previous reply (ping-pong, synchronous calls).
    pub lockstep: bool,
    /// Size of the frames this end sends, in bytes.
    pub send_bytes: usize,
    /// Size of the frames this end receives, in bytes.
    pub receive_bytes: usize,
    /// Frames handed over in one system call.
    pub batch_frames: usize,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// Differentiated services code point.
    pub dscp: Option<u8>,
    /// Requested SO_SNDBUF, in bytes.
    pub send_buffer_bytes: Option<u32>,
    /// Requested SO_RCVBUF, in bytes.
    pub receive_buffer_bytes: Option<u32>,
    /// Busy polling: data threads do not sleep in the kernel.
    pub polling: bool,
    /// Whether the stream is unlimited.
    pub full_speed: bool,
}

impl Options {
    /// Derives the socket options of one end.
    pub fn of(role: Role, settings: &RunSettings) -> Self {
        let asks = settings.sends(role);
        let question = settings.payload_bytes as usize;
        let answer = answer_bytes(settings) as usize;
        let (send_bytes, receive_bytes) = if asks {
            (question, answer)
        } else {
            (answer, question)
        };
        Self {
            streams: usize::from(settings.streams.max(1)),
            asks,
            duplex: settings.pattern != Pattern::Stream,
            lockstep: matches!(settings.pattern, Pattern::PingPong | Pattern::Call),
            send_bytes,
            receive_bytes,
            batch_frames: settings.batch_frames.max(1) as usize,
            nagle: settings.nagle,
            dscp: settings.dscp,
            send_buffer_bytes: settings.send_buffer_bytes,
            receive_buffer_bytes: settings.receive_buffer_bytes,
            polling: settings.waiting == Waiting::Polling,
            full_speed: settings.pattern == Pattern::Stream && settings.rate_fps.is_none(),
        }
    }

    /// Whether this end sends frames at all.
    pub fn sends(&self) -> bool {
        self.asks || self.duplex
    }

    /// Whether this end receives frames at all.
    pub fn receives(&self) -> bool {
        !self.asks || self.duplex
    }

    /// Sets buffers, DSCP and timeouts. Call it before connecting, so that TCP's window scale fits
    /// the buffers.
    pub fn apply(&self, fd: &OwnedFd, ip: Option<IpAddr>) -> io::Result<()> {
        let most = |bytes: u32| bytes.min(i32::MAX as u32) as usize;
        if let Some(bytes) = self.send_buffer_bytes {
            set_socket_send_buffer_size(fd, most(bytes))?;
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            set_socket_recv_buffer_size(fd, most(bytes))?;
        }
        socket::set_timeout(fd, Timeout::Send, SEND_PATIENCE)?;
        let Some(dscp) = self.dscp else { return Ok(()) };
        let traffic_class = dscp << 2;
        match ip {
            Some(IpAddr::V4(_)) => set_ip_tos(fd, traffic_class)?,
            Some(IpAddr::V6(_)) => set_ipv6_tclass(fd, traffic_class.into())?,
            None => {}
        }
        Ok(())
    }
}

/// Payload of a reply, in bytes. By default it is that of the request in ping-pong, and 32 B in
/// calls.
pub fn answer_bytes(settings: &RunSettings) -> u32 {
    let usual = match settings.pattern {
        Pattern::Stream | Pattern::PingPong => settings.payload_bytes,
        Pattern::OnewayBatch | Pattern::TwowayBatch | Pattern::Call => ANSWER_BYTES,
    };
    match settings.pattern {
        Pattern::Stream => usual,
        _ => settings.reply_bytes.unwrap_or(usual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Protocol;

    #[test]
    fn what_one_end_sends_the_other_receives() {
        for pattern in [
            Pattern::Stream,
            Pattern::PingPong,
            Pattern::OnewayBatch,
            Pattern::TwowayBatch,
            Pattern::Call,
        ] {
            for (reverse, reply_bytes) in [(false, None), (true, None), (false, Some(77))] {
                let mut settings = RunSettings::new(Protocol::Tcp, 1000);
                settings.pattern = pattern;
                settings.reverse = reverse;
                settings.reply_bytes = reply_bytes;
                let caller = Options::of(Role::Caller, &settings);
                let responder = Options::of(Role::Responder, &settings);
                assert_eq!(caller.send_bytes, responder.receive_bytes);
                assert_eq!(caller.receive_bytes, responder.send_bytes);
                assert_eq!(caller.sends(), responder.receives());
                assert_eq!(caller.receives(), responder.sends());
                assert_eq!(caller.asks, !reverse);
                assert_ne!(caller.asks, responder.asks);
            }
        }
    }

    #[test]
    fn an_answer_is_as_large_as_documented() {
        let mut settings = RunSettings::new(Protocol::Udp, 1000);
        settings.pattern = Pattern::PingPong;
        assert_eq!(answer_bytes(&settings), 1000);
        settings.pattern = Pattern::Call;
        assert_eq!(answer_bytes(&settings), ANSWER_BYTES);
        settings.reply_bytes = Some(5);
        assert_eq!(answer_bytes(&settings), 5);
    }
}
