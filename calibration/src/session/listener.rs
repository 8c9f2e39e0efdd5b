//! Accepts control connections so that no stranger and no session can hold up the others.
//!
//! Each connection has its own thread. Until it has proved the key it is one of few, few from one
//! address, and has [`HANDSHAKE_TIME`]; where there are too many, the oldest goes, so that callers
//! who hang or dawdle cost only themselves. A panic in a session ends that session.

use super::channel::Channel;
use super::handshake::HANDSHAKE_TIME;
use super::key::Key;
use super::limits::Limits;
use super::message::Message;
use crate::error::{Context, Error, Result};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at once that have not proved the key.
pub const STRANGERS_MAX: usize = 16;
/// Those of one source: an IPv4 address, or the 64-bit prefix of an IPv6 one.
pub const STRANGERS_MAX_SOURCE: usize = 4;
/// Connections turned away that are told of in a second; of the others nothing is said.
pub const TURNED_AWAY_MAX: u32 = 10;
/// Threads that may still be ending when their connection was closed under them.
const THREADS_MAX: usize = 4 * STRANGERS_MAX;
/// Pause where the system has no more descriptors or memory for a connection.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// What a responder does for callers that proved the key.
pub trait Service: Send + Sync + 'static {
    /// One session, in a thread of its own.
    fn session(&self, channel: Channel, peer: SocketAddr);

    /// A connection that did not become a session, and why; for a log. Called at most
    /// [`TURNED_AWAY_MAX`] times a second, so that strangers cannot fill a disk with it.
    fn turned_away(&self, _peer: SocketAddr, _why: &Error) {}
}

impl<F: Fn(Channel, SocketAddr) + Send + Sync + 'static> Service for F {
    fn session(&self, channel: Channel, peer: SocketAddr) {
        self(channel, peer);
    }
}

/// Ends [`serve_until`] from another thread; sessions that run go on.
pub struct Stopper {
    listener: TcpListener,
    stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// For the server that will be given the same `listener` and this one's [`Stopper::flag`].
    ///
    /// # Errors
    /// [`Error::Peer`] if the system has no descriptor left.
    pub fn of(listener: &TcpListener) -> Result<Self> {
        Ok(Self {
            listener: listener.try_clone().or_peer("the control port")?,
            stopped: Arc::default(),
        })
    }

    /// What [`serve_until`] looks at.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopped)
    }

    /// Stops accepting, at once.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Shutting a listening socket down makes a waiting accept return (Linux).
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
    }
}

/// Accepts connections until a [`Stopper`] of the same listener raises its flag, and runs `service`
/// for those that prove `key`.
///
/// # Errors
/// [`Error::Peer`] if the listening socket itself fails.
pub fn serve_until(
    listener: &TcpListener,
    key: &Key,
    limits: &Limits,
    stopped: &AtomicBool,
    service: impl Service,
) -> Result<()> {
    let shared = Arc::new(Shared {
        key: key.clone(),
        sessions_max: limits.sessions,
        longest_session: limits.longest_session(),
        told: Mutex::default(),
        sessions: AtomicUsize::new(0),
        strangers: Mutex::default(),
        left: Condvar::new(),
        service,
    });
    loop {
        match listener.accept() {
            _ if stopped.load(Ordering::SeqCst) => return Ok(()),
            Ok((stream, peer)) => shared.welcome(stream, peer),
            Err(error) => after_failure(&error)?,
        }
    }
}

/// Waits where the system is short of something, goes on where only one connection was lost.
fn after_failure(error: &io::Error) -> Result<()> {
    let code = error.raw_os_error().unwrap_or(0);
    match code {
        libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM => {
            std::thread::sleep(SHORTAGE_PAUSE);
            Ok(())
        }
        libc::EINVAL | libc::EBADF | libc::ENOTSOCK | libc::EOPNOTSUPP => Err(Error::peer(
            format!("the control port accepts no more: {error}"),
        )),
        // accept(2): errors of the connection that was to be accepted, signals, firewalls.
        _ if error.kind() == ErrorKind::Interrupted => Ok(()),
        _ => Ok(()),
    }
}

struct Shared<S> {
    key: Key,
    sessions_max: usize,
    longest_session: Duration,
    sessions: AtomicUsize,
    told: Mutex<Told>,
    strangers: Mutex<Strangers>,
    /// Told whenever one of them leaves.
    left: Condvar,
    service: S,
}

impl<S: Service> Shared<S> {
    /// Gives a new connection a thread, if there is room for one.
    fn welcome(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let Some(number) = self.room().admit(&stream, peer.ip()) else {
            let full = Error::peer("too many connections that prove nothing");
            return self.turn_away(peer, &full);
        };
        let place = Place {
            shared: Arc::clone(self),
            number,
        };
        // A thread that cannot be made drops the connection and its place.
        let made = std::thread::Builder::new()
            .name("session".into())
            .spawn(move || place.shared.clone().converse(place, stream, peer));
        if let Err(error) = made {
            let why = Error::peer(format!("no thread for a session: {error}"));
            self.turn_away(peer, &why);
        }
    }

    fn converse(&self, place: Place<S>, stream: TcpStream, peer: SocketAddr) {
        let proved = Channel::as_responder(stream, &self.key);
        drop(place);
        match proved {
            Ok(channel) => self.begin(channel, peer),
            Err(error) => self.turn_away(peer, &error),
        }
    }

    fn begin(&self, mut channel: Channel, peer: SocketAddr) {
        let running = Running::count(&self.sessions);
        if running.number > self.sessions_max {
            let reason = format!(
                "the responder has {} sessions already, its limit: try again later or raise it there",
                self.sessions_max
            );
            let why = Error::peer(reason.clone());
            // Whether it still hears this or not, it gets no session.
            let _ = channel.send(&Message::Refused { reason });
            return self.turn_away(peer, &why);
        }
        channel.end_within(self.longest_session);
        self.service.session(channel, peer);
    }

    fn turn_away(&self, peer: SocketAddr, why: &Error) {
        let tell = lock(&self.told).another(Instant::now());
        if tell {
            self.service.turned_away(peer, why);
        }
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        lock(&self.strangers)
    }

    /// The table once it has room. Who was closed leaves it as soon as its thread runs, and callers
    /// wait in the system's queue until then, in place of being refused for the haste of others.
    fn room(&self) -> MutexGuard<'_, Strangers> {
        let full = |strangers: &mut Strangers| strangers.is_full();
        let (strangers, _) = self
            .left
            .wait_timeout_while(self.strangers(), HANDSHAKE_TIME, full)
            .unwrap_or_else(PoisonError::into_inner);
        strangers
    }
}

/// Locks what is whole after every step, so that no panic can have broken it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often was told of connections turned away in the running second.
#[derive(Default)]
struct Told {
    since: Option<Instant>,
    times: u32,
}

impl Told {
    /// Whether one more may be told at `now`.
    fn another(&mut self, now: Instant) -> bool {
        let fresh = |since: Instant| now.saturating_duration_since(since) < Duration::from_secs(1);
        if !self.since.is_some_and(fresh) {
            *self = Self {
                since: Some(now),
                times: 0,
            };
        }
        self.times = self.times.saturating_add(1);
        self.times <= TURNED_AWAY_MAX
    }
}

/// Counts a session as long as it lives, panics included.
struct Running<'a> {
    sessions: &'a AtomicUsize,
    number: usize,
}

impl<'a> Running<'a> {
    fn count(sessions: &'a AtomicUsize) -> Self {
        let number = sessions.fetch_add(1, Ordering::SeqCst) + 1;
        Self { sessions, number }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A stranger's place in the table as long as its handshake lasts, panics included.
struct Place<S: Service> {
    shared: Arc<Shared<S>>,
    number: u64,
}

impl<S: Service> Drop for Place<S> {
    fn drop(&mut self) {
        self.shared.strangers().leave(self.number);
        self.shared.left.notify_one();
    }
}

/// The connections that have not proved the key, oldest first.
#[derive(Default)]
struct Strangers {
    present: Vec<Stranger>,
    next: u64,
}

struct Stranger {
    number: u64,
    source: IpAddr,
    stream: TcpStream,
    shut: bool,
}

impl Strangers {
    /// Takes a connection in, closing the oldest of its source or of all where there are too many;
    /// `None` where threads of closed ones are still ending, or the system has no descriptor left.
    fn admit(&mut self, stream: &TcpStream, address: IpAddr) -> Option<u64> {
        if self.is_full() {
            return None;
        }
        let stream = stream.try_clone().ok()?;
        let source = source(address);
        self.make_room(STRANGERS_MAX_SOURCE, |stranger| stranger.source == source);
        self.make_room(STRANGERS_MAX, |_| true);
        let number = self.next;
        self.next += 1;
        self.present.push(Stranger {
            number,
            source,
            stream,
            shut: false,
        });
        Some(number)
    }

    fn is_full(&self) -> bool {
        self.present.len() >= THREADS_MAX
    }

    fn make_room(&mut self, most: usize, counts: impl Fn(&Stranger) -> bool) {
        let open = |stranger: &&mut Stranger| !stranger.shut && counts(stranger);
        if self.present.iter_mut().filter(open).count() < most {
            return;
        }
        if let Some(oldest) = self.present.iter_mut().find(open) {
            oldest.shut = true;
            // It may have closed by itself; its thread then ends all the same.
            let _ = oldest.stream.shutdown(Shutdown::Both);
        }
    }

    fn leave(&mut self, number: u64) {
        self.present.retain(|stranger| stranger.number != number);
    }
}

/// What counts as one source: one IPv4 address, or the network of an IPv6 one, whose host part
/// anybody there chooses freely.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let prefix = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
    }
}

#[cfg(test)]
mod tests;
