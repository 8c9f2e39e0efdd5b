//! Opens the connections of a run, one per stream: first each end prepares alone, then both
//! connect.

use super::any::{AnyReceiver, AnySender, Connection};
use super::{Options, Token, ethernet, tcp, udp, zeromq};
use crate::error::{Error, Result};
use crate::settings::{Protocol, Role, RunSettings};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// Addresses of the control connection, and the interface towards the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// This end's address.
    pub local: IpAddr,
    /// The authenticated peer's address: the only one data goes to and comes from.
    pub peer: IpAddr,
    /// The interface towards the peer; needed for direct Ethernet.
    pub interface: Option<String>,
}

/// Ports and address announced to the other end over the control channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announce {
    /// Ports to connect to: one for TCP (at the responder), one per stream for UDP (responder) and
    /// one or two per stream for ZeroMQ (caller); otherwise none.
    pub ports: Vec<u16>,
    /// Hardware address, for direct Ethernet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<[u8; 6]>,
}

/// Sockets of an end between preparing and establishing.
enum Held {
    /// The caller of TCP has no socket yet; it connects later.
    Nothing,
    Listener(OwnedFd),
    Datagrams(Vec<OwnedFd>),
    Ethernet(ethernet::Opened),
    Zeromq(zeromq::Opened),
}

/// End that is ready to connect.
pub struct Prepared {
    role: Role,
    place: Place,
    options: Options,
    announce: Announce,
    held: Held,
}

/// Opens the sockets that this end can open without the peer.
///
/// # Errors
/// `Error::Question` if the settings do not fit this host; `Error::Peer` if the system refuses.
pub fn prepare(role: Role, settings: &RunSettings, place: &Place) -> Result<Prepared> {
    let options = Options::of(role, settings);
    let place = &Place {
        local: place.local.to_canonical(),
        peer: place.peer.to_canonical(),
        interface: place.interface.clone(),
    };
    let (held, announce) = match settings.protocol {
        Protocol::Tcp => prepare_tcp(role, place, &options)?,
        Protocol::Udp => prepare_udp(place, &options)?,
        Protocol::Ethernet => prepare_ethernet(place, &options)?,
        Protocol::Zeromq => prepare_zeromq(role, place, settings, &options)?,
    };
    Ok(Prepared {
        role,
        place: place.clone(),
        options,
        announce,
        held,
    })
}

fn ports(ports: Vec<u16>) -> Announce {
    Announce { ports, mac: None }
}

fn prepare_tcp(role: Role, place: &Place, options: &Options) -> Result<(Held, Announce)> {
    if role == Role::Caller {
        return Ok((Held::Nothing, Announce::default()));
    }
    let (listener, port) = tcp::listen(place.local, options)?;
    Ok((Held::Listener(listener), ports(vec![port])))
}

fn prepare_udp(place: &Place, options: &Options) -> Result<(Held, Announce)> {
    let opened = (0..options.streams).map(|_| udp::bind(place.local, options));
    let (fds, numbers) = opened.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok((Held::Datagrams(fds), ports(numbers)))
}

fn prepare_ethernet(place: &Place, options: &Options) -> Result<(Held, Announce)> {
    let Some(interface) = &place.interface else {
        return Err(Error::question(format!(
            "direct Ethernet needs to know the interface towards {}: give it with --interface",
            place.peer
        )));
    };
    let opened = ethernet::open(interface, options)?;
    let mac = Some(opened.mac);
    let announce = Announce { ports: vec![], mac };
    Ok((Held::Ethernet(opened), announce))
}

fn prepare_zeromq(
    role: Role,
    place: &Place,
    settings: &RunSettings,
    options: &Options,
) -> Result<(Held, Announce)> {
    let mut opened = zeromq::open(role, place, settings, options)?;
    let announce = ports(std::mem::take(&mut opened.ports));
    Ok((Held::Zeromq(opened), announce))
}

impl Prepared {
    /// Announcement for the other end.
    pub fn announce(&self) -> &Announce {
        &self.announce
    }

    /// Connects the streams with the peer, which must do the same within `deadline`.
    ///
    /// `token` authenticates the connections; `tag` is in the header of the run's frames.
    ///
    /// # Errors
    /// If the peer does not connect in time, or its announcement does not fit.
    pub fn establish(
        self,
        peer: &Announce,
        token: &Token,
        tag: u32,
        deadline: Duration,
    ) -> Result<Vec<Connection>> {
        let Self {
            role,
            place,
            options,
            held,
            announce: _,
        } = self;
        let together = Together {
            role,
            place: &place,
            options: &options,
            token,
            deadline,
        };
        match held {
            Held::Nothing => together.connect_tcp(peer),
            Held::Listener(listener) => together.accept_tcp(&listener),
            Held::Datagrams(fds) => together.udp(fds, peer),
            Held::Ethernet(opened) => together.ethernet(opened, peer, tag),
            Held::Zeromq(opened) => together.zeromq(opened, peer),
        }
    }
}

/// Parameters of the connection, known to both ends.
struct Together<'a> {
    role: Role,
    place: &'a Place,
    options: &'a Options,
    token: &'a Token,
    deadline: Duration,
}

impl Together<'_> {
    fn connect_tcp(&self, peer: &Announce) -> Result<Vec<Connection>> {
        let to = SocketAddr::new(self.place.peer, self.port(peer, 0)?);
        let (local, token) = (self.place.local, self.token);
        let connect = |stream| tcp::connect(local, to, token, stream, self.options, self.deadline);
        let fds = (0..self.options.streams as u16).map(connect);
        Ok(self.tcp(fds.collect::<Result<_>>()?, false))
    }

    fn accept_tcp(&self, listener: &OwnedFd) -> Result<Vec<Connection>> {
        let peer = self.place.peer;
        let fds = tcp::accept(listener, peer, self.token, self.options, self.deadline)?;
        Ok(self.tcp(fds, true))
    }

    fn tcp(&self, fds: Vec<OwnedFd>, accepted: bool) -> Vec<Connection> {
        let connection = |fd| {
            let fd = Arc::new(fd);
            let sender = || AnySender::Tcp(tcp::Sender::new(Arc::clone(&fd), self.options));
            let receiver =
                || AnyReceiver::Tcp(tcp::Receiver::new(Arc::clone(&fd), self.options, accepted));
            self.halves(sender, receiver)
        };
        fds.into_iter().map(connection).collect()
    }

    fn udp(&self, fds: Vec<OwnedFd>, peer: &Announce) -> Result<Vec<Connection>> {
        if self.role == Role::Responder {
            udp::admit(&fds, self.place.peer, self.token, self.deadline)?;
        } else {
            for (stream, fd) in fds.iter().enumerate() {
                let to = SocketAddr::new(self.place.peer, self.port(peer, stream)?);
                udp::open(fd, to, self.token, stream as u16, self.deadline)?;
            }
        }
        let connection = |fd| {
            let fd = Arc::new(fd);
            let sender = || AnySender::Udp(udp::Sender::new(Arc::clone(&fd), self.options));
            let receiver = || AnyReceiver::Udp(udp::Receiver::new(Arc::clone(&fd), self.options));
            self.halves(sender, receiver)
        };
        Ok(fds.into_iter().map(connection).collect())
    }

    fn ethernet(
        &self,
        opened: ethernet::Opened,
        peer: &Announce,
        tag: u32,
    ) -> Result<Vec<Connection>> {
        let missing = || {
            Error::peer(format!(
                "{} announced no hardware address: use the same version at both ends",
                self.place.peer
            ))
        };
        let (own, options) = (opened.mac, self.options);
        let mac = peer.mac.ok_or_else(missing)?;
        let connection = |fd: Arc<OwnedFd>| {
            let sender = || {
                let sender = ethernet::Sender::new(Arc::clone(&fd), own, mac, options);
                AnySender::Ethernet(sender)
            };
            let receiver =
                || AnyReceiver::Ethernet(ethernet::Receiver::new(Arc::clone(&fd), options));
            self.halves(sender, receiver)
        };
        let fds = opened.join(mac, tag, options)?;
        Ok(fds.into_iter().map(connection).collect())
    }

    fn zeromq(&self, opened: zeromq::Opened, peer: &Announce) -> Result<Vec<Connection>> {
        let joined = opened.join(self.place.peer, &peer.ports, self.token, self.deadline)?;
        let connection = |(sender, receiver): (Option<_>, Option<_>)| Connection {
            sender: sender.map(AnySender::Zeromq),
            receiver: receiver.map(AnyReceiver::Zeromq),
        };
        Ok(joined.into_iter().map(connection).collect())
    }

    fn port(&self, peer: &Announce, index: usize) -> Result<u16> {
        let missing = || {
            Error::peer(format!(
                "{} announced {} data ports where stream {index} needs its own: use the same version at both ends",
                self.place.peer,
                peer.ports.len()
            ))
        };
        peer.ports.get(index).copied().ok_or_else(missing)
    }

    /// Makes the halves that this end uses.
    fn halves(
        &self,
        sender: impl FnOnce() -> AnySender,
        receiver: impl FnOnce() -> AnyReceiver,
    ) -> Connection {
        Connection {
            sender: self.options.sends().then(sender),
            receiver: self.options.receives().then(receiver),
        }
    }
}
