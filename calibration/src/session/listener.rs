//! Accepts control connections so that no stranger and no session can hold up the others.
//!
//! Each connection has its own thread. The number of connections that have not proved the key is
//! limited, in total and for each source. Each of them has to prove the key within
//! [`HANDSHAKE_TIME`](super::handshake::HANDSHAKE_TIME). If there are too many, the oldest is
//! closed, so that slow callers delay only themselves. A panic in a session ends only that session.

use super::channel::Channel;
use super::handshake;
use super::key::Key;
use super::limits::Limits;
use super::message::Message;
use crate::error::{Context, Error, Result};
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Greatest number of connections that have not proved the key.
const STRANGERS_MAX: usize = 16;
/// Greatest number of such connections from one source: an IPv4 address, or the 64-bit prefix of an
/// IPv6 address.
const STRANGERS_MAX_SOURCE: usize = 4;
/// Greatest number of refused connections that the service is told of per second, so that strangers
/// cannot fill a disk.
const TURNED_AWAY_MAX: usize = 10;
/// Pause if the system has no more descriptors, threads or memory for a connection.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// Control port of a responder.
pub struct Listener {
    /// Address that callers connect to.
    pub address: SocketAddr,
    socket: TcpListener,
    key: Key,
    limits: Limits,
    stopped: AtomicBool,
    sessions: AtomicUsize,
    told: Mutex<Vec<Instant>>,
}

impl Listener {
    /// Opens the control port for callers with `key`.
    ///
    /// # Errors
    /// [`Error::Question`] if the address cannot be listened on.
    pub fn bind(address: SocketAddr, key: Key, limits: Limits) -> Result<Arc<Self>> {
        let refused =
            format!("cannot listen on {address}, give an address of this host and a free port");
        let socket = TcpListener::bind(address).or_question(&refused)?;
        Ok(Arc::new(Self {
            address: socket.local_addr().or_question(&refused)?,
            socket,
            key,
            limits,
            stopped: AtomicBool::new(false),
            sessions: AtomicUsize::new(0),
            told: Mutex::default(),
        }))
    }

    /// Calls `service` in a separate thread for each caller that proved the key, and with the
    /// reason for refused connections. Returns after [`Listener::stop`] was called; sessions
    /// continue.
    ///
    /// # Errors
    /// [`Error::Peer`] if the listening socket itself fails.
    pub fn serve<S>(self: &Arc<Self>, service: S) -> Result<()>
    where
        S: Fn(Result<Channel>, SocketAddr) + Send + Sync + 'static,
    {
        let service = Arc::new(service);
        let mut strangers = vec![];
        loop {
            let accepted = self.socket.accept();
            if self.stopped.load(Ordering::SeqCst) {
                return Ok(());
            }
            let started = accepted.and_then(|(stream, peer)| {
                let source = source(peer.ip());
                make_room(&mut strangers, source);
                let stream = Arc::new(stream);
                let proving = Arc::downgrade(&stream);
                let (listener, service) = (Arc::clone(self), Arc::clone(&service));
                let thread = thread::Builder::new()
                    .name("session".into())
                    .spawn(move || listener.converse(stream, peer, &*service))?;
                Ok(Stranger {
                    source,
                    proving,
                    thread,
                })
            });
            match started {
                Ok(stranger) => strangers.push(stranger),
                Err(error) => after_failure(&error)?,
            }
        }
    }

    /// Stops accepting, at once.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Shutting a listening socket down makes a waiting accept return (Linux).
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    /// Returns the number of running sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.load(Ordering::SeqCst)
    }

    fn converse(
        &self,
        stream: Arc<TcpStream>,
        peer: SocketAddr,
        service: &impl Fn(Result<Channel>, SocketAddr),
    ) {
        match self.prove(stream).and_then(|channel| self.admit(channel)) {
            Ok((channel, _seat)) => service(Ok(channel), peer),
            Err(why) if self.tells(Instant::now()) => service(Err(why), peer),
            Err(_) => {}
        }
    }

    fn prove(&self, stream: Arc<TcpStream>) -> Result<Channel> {
        let secrets = handshake::as_responder(&stream, &self.key)?;
        // Fails while `make_room` closes this connection, and so also holds the stream.
        let stream = Arc::into_inner(stream)
            .ok_or_else(|| Error::peer("too many connections that have not proved the key"))?;
        Channel::new(stream, secrets)
    }

    fn admit(&self, mut channel: Channel) -> Result<(Channel, Seat<'_>)> {
        let most = self.limits.sessions;
        let one_more = |sessions| (sessions < most).then_some(sessions + 1);
        let counted = self
            .sessions
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        if counted.is_err() {
            let reason = format!(
                "the responder has {most} sessions already, its limit: try again later or raise it there"
            );
            let why = Error::peer(reason.clone());
            // The caller gets no session, even if this message does not arrive.
            let _ = channel.send(&Message::Refused { reason });
            return Err(why);
        }
        channel.end_within(self.limits.longest_session());
        Ok((channel, Seat(&self.sessions)))
    }

    /// Whether the service is told of one more connection refused at `now`.
    fn tells(&self, now: Instant) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|told| now.saturating_duration_since(*told) < Duration::from_secs(1));
        let tells = told.len() < TURNED_AWAY_MAX;
        told.extend(tells.then_some(now));
        tells
    }
}

/// Counts a session until it ends, even by a panic.
struct Seat<'a>(&'a AtomicUsize);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Connection that may not have proved the key.
struct Stranger {
    source: IpAddr,
    /// Stream of the connection, which lives until the handshake ends, even by a panic.
    proving: Weak<TcpStream>,
    thread: JoinHandle<()>,
}

/// Removes connections whose handshake has ended. If too many are left, from this source or in
/// total, closes the oldest and waits for the end of its thread.
fn make_room(strangers: &mut Vec<Stranger>, source: IpAddr) {
    strangers.retain(|stranger| stranger.proving.strong_count() > 0);
    let same = |stranger: &Stranger| stranger.source == source;
    let oldest = if strangers.iter().filter(|one| same(one)).count() >= STRANGERS_MAX_SOURCE {
        strangers.iter().position(same)
    } else {
        (strangers.len() >= STRANGERS_MAX).then_some(0)
    };
    let Some(oldest) = oldest.map(|index| strangers.remove(index)) else {
        return;
    };
    if let Some(stream) = oldest.proving.upgrade() {
        // If this fails, the connection is already closed; its thread ends in any case.
        let _ = stream.shutdown(Shutdown::Both);
        let _ = oldest.thread.join();
    }
}

/// Returns the source of an address: an IPv4 address, or the 64-bit prefix of an IPv6 address,
/// since a host can choose the rest freely.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let prefix = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
    }
}

/// Waits if the system lacks resources; continues if only one connection was lost.
fn after_failure(error: &io::Error) -> Result<()> {
    match error.raw_os_error().unwrap_or(0) {
        libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::EAGAIN => {
            thread::sleep(SHORTAGE_PAUSE);
            Ok(())
        }
        libc::EINVAL | libc::EBADF | libc::ENOTSOCK | libc::EOPNOTSUPP => Err(Error::peer(
            format!("the control port accepts no more, start the responder again: {error}"),
        )),
        // accept(2): errors of the connection that was to be accepted, signals, firewalls.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
