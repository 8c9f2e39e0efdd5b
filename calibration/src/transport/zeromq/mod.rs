//! ZeroMQ over TCP: each frame is a message, and each stream a pair of sockets.
//!
//! Streams go PUSH to PULL, PUB to SUB or, acknowledged one by one, REQ to REP. Ping-pong and
//! synchronous calls use REQ and REP. Batched calls go both ways at once, which REQ and REP do not
//! support. They use two pairs of PUSH and PULL, one for requests and one for replies, so that two
//! threads can each have their own socket. PUB is opened as XPUB, which sends in the same way and
//! lets both ends wait until the subscriber has joined.
//!
//! The caller binds and the responder connects, whichever end sends.

mod admission;
mod library;
mod shape;
mod socket;

use super::options::{Options, SEND_PATIENCE};
use super::{FrameReceiver, FrameSender, Place, Token, Wait};
use crate::clock::now_ns;
use crate::error::{Context as _, Error, Result};
use crate::settings::{Role, RunSettings};
use admission::Door;
pub use library::Library;
use serde_json::Value;
use shape::Shape;
use socket::{Context, Message, Socket, name};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between two checks whether a connection is up.
const LOOK: Duration = Duration::from_millis(1);

/// One end's sockets before they are joined.
pub struct Opened {
    sockets: Vec<Socket>,
    door: Option<Door>,
    shape: Shape,
    polling: bool,
    /// Ports the caller bound, in the order of the streams.
    pub ports: Vec<u16>,
}

/// Opens one end's sockets. The caller's sockets are bound but admit no peer yet.
///
/// # Errors
/// If libzmq is missing, or lacks a feature that the settings need.
pub fn open(
    role: Role,
    place: &Place,
    settings: &RunSettings,
    options: &Options,
) -> Result<Opened> {
    let shape = Shape::of(settings)?;
    let kinds = shape.kinds(options.asks);
    let count = options.streams * kinds.len();
    let context = Context::new(settings.io_threads.unwrap_or(1), count)?;
    let binds = role == Role::Caller;
    let door = binds.then(|| Door::new(&context)).transpose()?;
    let (mut sockets, mut ports) = (Vec::with_capacity(count), Vec::new());
    for index in 0..count {
        let socket = Socket::new(&context, kinds[index % kinds.len()])?;
        shape::set_up(&socket, place, settings, options)?;
        if binds {
            ports.push(bind(&socket, index, place)?);
        }
        sockets.push(socket);
    }
    Ok(Opened {
        sockets,
        door,
        shape,
        polling: options.polling,
        ports,
    })
}

fn host(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

fn bind(socket: &Socket, index: usize, place: &Place) -> Result<u16> {
    let bound = || -> io::Result<()> {
        socket.set(name::PLAIN_SERVER, 1)?;
        socket.set_bytes(name::ZAP_DOMAIN, index.to_string().as_bytes())?;
        let peer = place.peer.to_string();
        socket.set_bytes(name::TCP_ACCEPT_FILTER, peer.as_bytes())?;
        socket.bind(&format!("tcp://{}:*", host(place.local)))
    };
    bound().or_peer(format!("cannot bind ZeroMQ to {}", place.local))?;
    socket.port()
}

impl Opened {
    /// Connects or admits the peer, and waits until frames can be sent.
    ///
    /// # Errors
    /// If the peer does not come within `deadline`, or announced too few ports.
    pub fn join(
        self,
        peer: IpAddr,
        ports: &[u16],
        token: &Token,
        deadline: Duration,
    ) -> Result<Vec<(Option<Sender>, Option<Receiver>)>> {
        let until = Instant::now() + deadline;
        let count = self.sockets.len();
        match self.door {
            Some(door) => door.admit(count, peer, token, deadline)?,
            None if ports.len() < count => {
                return Err(Error::peer(format!(
                    "{peer} announced {} ZeroMQ ports where {count} are needed: use the same version at both ends",
                    ports.len()
                )));
            }
            None => {
                for (socket, port) in self.sockets.iter().zip(ports) {
                    connect(socket, peer, *port, token)?;
                }
            }
        }
        let per_stream = self.shape.kinds(true).len();
        let mut streams = Vec::with_capacity(count / per_stream);
        let mut sockets = self.sockets.into_iter();
        while let Some(first) = sockets.next() {
            let second = if per_stream > 1 { sockets.next() } else { None };
            for socket in [Some(&first), second.as_ref()].into_iter().flatten() {
                wait_joined(socket, peer, until)?;
            }
            streams.push(self.shape.halves(first, second, self.polling));
        }
        Ok(streams)
    }
}

fn connect(socket: &Socket, peer: IpAddr, port: u16, token: &Token) -> Result<()> {
    let to = format!("tcp://{}:{port}", host(peer));
    let connected = || -> io::Result<()> {
        socket.set_bytes(name::PLAIN_USERNAME, admission::USER.as_bytes())?;
        let password = admission::password(token);
        socket.set_bytes(name::PLAIN_PASSWORD, password.as_bytes())?;
        socket.connect(&to)
    };
    connected().or_peer(format!("cannot connect ZeroMQ to {to}"))
}

/// Waits until sent frames reach the peer. PUSH and REQ wait for the connection, a publisher for
/// the subscription, and a subscriber for the publisher's welcome. PULL and REP do not wait.
fn wait_joined(socket: &Socket, peer: IpAddr, until: Instant) -> Result<()> {
    let kind = socket.kind();
    let wanted = match kind {
        name::PUSH | name::REQ => name::POLL_OUT,
        name::XPUB | name::SUB => name::POLL_IN,
        _ => return Ok(()),
    };
    let asking = || format!("cannot ask ZeroMQ for the connection with {peer}");
    while socket.option(name::EVENTS).or_peer(asking())? & wanted == 0 {
        if Instant::now() >= until {
            return Err(Error::peer(format!(
                "{peer} did not join a ZeroMQ connection in time: look for a firewall between the hosts"
            )));
        }
        std::thread::sleep(LOOK);
    }
    if wanted == name::POLL_IN {
        let mut greeting = socket.message();
        socket
            .receive(&mut greeting, name::DONT_WAIT)
            .or_peer(asking())?;
    }
    Ok(())
}

/// Socket of one half, or of both halves if they take turns.
enum Handle {
    Own(Socket),
    Shared(Arc<Mutex<Socket>>),
}

impl Handle {
    #[inline]
    fn with<T>(&self, act: impl FnOnce(&Socket) -> T) -> T {
        match self {
            Self::Own(socket) => act(socket),
            Self::Shared(socket) => act(&socket.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// Sends frames as messages; the library copies each and sends it from its own thread.
pub struct Sender {
    handle: Handle,
    flags: i32,
    /// For acknowledged frames: receive buffer, and whether an acknowledgement is outstanding.
    acknowledged: Option<(Message, bool)>,
}

impl Sender {
    fn await_acknowledgement(&mut self) -> io::Result<()> {
        if let Some((message, outstanding @ true)) = &mut self.acknowledged {
            self.handle.with(|socket| socket.receive(message, 0))?;
            *outstanding = false;
        }
        Ok(())
    }

    /// Values chosen by libzmq: `high_water_mark` in messages, `io_threads`, `libzmq`.
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        self.handle.with(|socket| chosen(socket, name::SNDHWM))
    }
}

fn chosen(socket: &Socket, high_water_mark: i32) -> BTreeMap<String, Value> {
    let context = socket.context();
    let mut chosen = BTreeMap::from([
        ("io_threads".to_owned(), context.io_threads().into()),
        ("libzmq".to_owned(), context.library().version().into()),
    ]);
    if let Ok(messages) = socket.option(high_water_mark) {
        chosen.insert("high_water_mark".to_owned(), messages.into());
    }
    chosen
}

impl FrameSender for Sender {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.await_acknowledgement()?;
        let flags = self.flags;
        let mut until = None;
        loop {
            match self.handle.with(|socket| socket.send(frame, flags)) {
                Ok(()) => break,
                Err(e) if !super::socket::is_idle(&e) => return Err(e),
                Err(_) if flags == 0 => return Err(io::ErrorKind::TimedOut.into()),
                Err(_) if Instant::now() < *until.get_or_insert(Instant::now() + SEND_PATIENCE) => {
                    std::hint::spin_loop();
                }
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        if let Some((_, outstanding)) = &mut self.acknowledged {
            *outstanding = true;
        }
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.await_acknowledgement()
    }
}

/// Receives frames as messages, without copying them.
pub struct Receiver {
    handle: Handle,
    wait: Wait,
    message: Message,
    acknowledges: bool,
}

impl Receiver {
    /// Values chosen by libzmq: `high_water_mark` in messages, `io_threads`, `libzmq`.
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        self.handle.with(|socket| chosen(socket, name::RCVHWM))
    }
}

impl FrameReceiver for Receiver {
    #[inline]
    fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(u64, &[u8]),
    ) -> io::Result<usize> {
        let (wait, message) = (&mut self.wait, &mut self.message);
        let acknowledges = self.acknowledges;
        self.handle.with(|socket| {
            let arm = |timeout: Duration| {
                let millis = timeout.as_micros().div_ceil(1000);
                socket.set(name::RCVTIMEO, i32::try_from(millis).unwrap_or(i32::MAX))
            };
            let read = wait.call(timeout, arm, |at_once| {
                let flags = if at_once { name::DONT_WAIT } else { 0 };
                socket.receive(message, flags)
            })?;
            if read.is_none() {
                return Ok(0);
            }
            each(now_ns(), message.bytes());
            if acknowledges {
                socket.send(b"", 0)?;
            }
            Ok(1)
        })
    }

    fn delivered_bytes(&self) -> Option<u64> {
        None
    }

    fn overflow(&self) -> Option<u64> {
        None
    }
}
