//! Admission to the caller's sockets by a ZAP handler (ZeroMQ RFC 27). It admits one peer to each
//! socket: from the peer's address, with the session's token as its password (PLAIN, RFC 24). After
//! that, it admits nobody.

use super::super::Token;
use super::super::joining::Joining;
use super::socket::{Context, Message, Socket, name};
use crate::error::{Context as _, Result};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Endpoint at which libzmq asks the handler.
const ENDPOINT: &str = "inproc://zeromq.zap.01";
/// User name of the data connections; only the password is checked.
pub const USER: &str = "icprobe";
/// Frames of a request with the PLAIN mechanism.
const REQUEST_FRAMES: usize = 8;

/// The password of a token: 32 hexadecimal digits.
pub fn password(token: &Token) -> String {
    token.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// ZAP handler; requests wait until [`Door::admit`].
pub struct Door {
    socket: Socket,
}

impl Door {
    /// Registers the handler of the context; call it before any socket is bound.
    pub fn new(context: &Arc<Context>) -> Result<Self> {
        let socket = Socket::new(context, name::REP)?;
        let ready = socket
            .set(name::LINGER, 0)
            .and_then(|()| socket.bind(ENDPOINT));
        ready.or_peer("libzmq takes no ZAP handler")?;
        Ok(Self { socket })
    }

    /// Admits one peer to each of `count` sockets, whose ZAP domains are their numbers. After that,
    /// nobody is admitted.
    ///
    /// # Errors
    /// If not all peers come within `deadline`.
    pub fn admit(
        self,
        count: usize,
        peer: IpAddr,
        token: &Token,
        deadline: Duration,
    ) -> Result<()> {
        let password = password(token);
        let joining = Joining::new(peer, count, "ZeroMQ connections", deadline);
        let mut open = vec![true; count];
        let wait = self.socket.set(name::RCVTIMEO, 100);
        wait.or_peer("libzmq takes no ZAP handler")?;
        while open.contains(&true) {
            joining.left(open.iter().filter(|o| **o).count())?;
            match self.request() {
                Ok(request) => {
                    let admitted = judge(&request, &joining, &password, &mut open);
                    self.reply(&request, admitted)
                        .or_peer("cannot answer libzmq's ZAP request")?;
                }
                Err(e) if super::super::socket::is_idle(&e) => {}
                Err(e) => return Err(e).or_peer("cannot read libzmq's ZAP request"),
            }
        }
        Ok(())
    }

    /// Receives a request: version, request id, domain, address, identity, mechanism, credentials …
    fn request(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut message: Message = self.socket.message();
        let mut frames = Vec::new();
        loop {
            self.socket.receive(&mut message, 0)?;
            frames.push(message.bytes().to_vec());
            if self.socket.option(name::RCVMORE)? == 0 {
                return Ok(frames);
            }
        }
    }

    fn reply(&self, request: &[Vec<u8>], admitted: bool) -> io::Result<()> {
        let id = request.get(1).map_or(&[][..], Vec::as_slice);
        let (code, text): (&[u8], &[u8]) = if admitted {
            (b"200", b"OK")
        } else {
            (b"400", b"refused")
        };
        // No user id: libzmq 4.3 would hand it to REQ and SUB as a message that they cannot read.
        for part in [b"1.0", id, code, text, b""] {
            self.socket.send(part, name::SEND_MORE)?;
        }
        self.socket.send(b"", 0)
    }
}

/// Whether a request is the peer's first to its socket, with the right password; if so, marks the
/// socket as taken.
fn judge(request: &[Vec<u8>], joining: &Joining, password: &str, open: &mut [bool]) -> bool {
    if request.len() != REQUEST_FRAMES || request[5] != b"PLAIN" {
        return false;
    }
    let text = |frame: &[u8]| String::from_utf8_lossy(frame).into_owned();
    let address = text(&request[3]).parse::<IpAddr>().ok();
    let known = address.is_some_and(|a| joining.is_peer(a));
    let right: bool = request[7].ct_eq(password.as_bytes()).into();
    let place = text(&request[2]).parse::<usize>().ok();
    match place.and_then(|place| open.get_mut(place)) {
        Some(place) => known && right && std::mem::take(place),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_taken_once_and_by_the_peer_alone() {
        let peer: IpAddr = "10.1.2.3".parse().unwrap();
        let password = password(&[0xab; 16]);
        let request = |domain: &str, address: &str, secret: &str| -> Vec<Vec<u8>> {
            ["1.0", "1", domain, address, "", "PLAIN", USER, secret]
                .map(|part| part.as_bytes().to_vec())
                .to_vec()
        };
        let mut open = vec![true, true];
        let joining = Joining::new(peer, 2, "ZeroMQ connections", Duration::ZERO);
        let mut ask = |r: &[Vec<u8>]| judge(r, &joining, &password, &mut open);
        assert!(!ask(&request("0", "10.1.2.4", &password)));
        assert!(!ask(&request("0", "10.1.2.3", "ab")));
        assert!(!ask(&request("2", "10.1.2.3", &password)));
        assert!(!ask(&request("", "10.1.2.3", &password)));
        assert!(!ask(&request("0", "10.1.2.3", &password)[..7]));
        assert!(ask(&request("0", "10.1.2.3", &password)));
        assert!(!ask(&request("0", "10.1.2.3", &password)));
        assert!(ask(&request("1", "10.1.2.3", &password)));
        assert_eq!(open, [false, false]);
    }
}
