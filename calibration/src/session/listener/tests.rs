use super::super::channel::connect;
use super::super::tests::{key, says};
use super::*;
use rustix::net::{AddressFamily, SocketType, bind, socket};
use std::io::{ErrorKind, Read};
use std::sync::mpsc::{Receiver, channel};

const SOON: Duration = Duration::from_secs(10);

/// A responder whose sessions answer `Measure`, end by `Bye` and panic by `Start`.
struct Server {
    listener: Arc<Listener>,
    turned_away: Receiver<String>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Server {
    fn start(sessions: usize) -> Self {
        let limits = Limits {
            sessions,
            ..Limits::default()
        };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), key(), limits).unwrap();
        let (sender, turned_away) = channel();
        let serving = Arc::clone(&listener);
        let service = move |proved: Result<Channel>, _| match proved {
            Ok(channel) => converse(channel),
            Err(why) => drop(sender.send(why.to_string())),
        };
        Self {
            listener,
            turned_away,
            thread: Some(thread::spawn(move || serving.serve(service))),
        }
    }

    fn works(&self) -> Duration {
        let started = Instant::now();
        let mut channel = connect(self.listener.address, &key()).unwrap();
        channel.send(&Message::Measure).unwrap();
        assert_eq!(channel.receive(SOON), Ok(Message::Measured));
        started.elapsed()
    }

    /// Opens a session; retries until the thread of an earlier session has ended and freed its
    /// place.
    fn seat(&self) -> Channel {
        let started = Instant::now();
        loop {
            let mut channel = connect(self.listener.address, &key()).unwrap();
            if channel.send(&Message::Measure).is_ok()
                && channel.receive(SOON) == Ok(Message::Measured)
            {
                return channel;
            }
            assert!(started.elapsed() < SOON, "no seat became free");
        }
    }

    /// Connects from an address of loopback with this last byte.
    fn stranger(&self, last: u8) -> TcpStream {
        let fd = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&fd, &SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        rustix::net::connect(&fd, &self.listener.address).unwrap();
        TcpStream::from(fd)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(
                matches!(ended, Some(Ok(Ok(())))),
                "the server did not end well"
            );
        }
    }
}

fn converse(mut channel: Channel) {
    while let Ok(message) = channel.receive(SOON) {
        match message {
            Message::Measure => channel.send(&Message::Measured).unwrap(),
            Message::Start => panic!("on purpose, in a test"),
            _ => return,
        }
    }
}

#[test]
fn sessions_run_side_by_side_and_the_server_stops_when_told() {
    let server = Server::start(4);
    let mut first = connect(server.listener.address, &key()).unwrap();
    server.works();
    first.send(&Message::Measure).unwrap();
    assert_eq!(first.receive(SOON), Ok(Message::Measured));
}

#[test]
fn a_panic_in_a_session_ends_only_that_session() {
    let server = Server::start(1);
    for _ in 0..3 {
        let mut channel = server.seat();
        channel.send(&Message::Start).unwrap();
        assert!(channel.receive(SOON).is_err());
    }
    server.seat();
}

#[test]
fn more_sessions_than_allowed_are_refused_with_a_reason() {
    let server = Server::start(1);
    let _first = server.seat();
    assert_eq!(server.listener.sessions(), 1);
    let mut second = connect(server.listener.address, &key()).unwrap();
    says(second.receive(SOON), "its limit");
    let why = server.turned_away.recv_timeout(SOON).unwrap();
    assert!(why.contains("its limit"), "{why}");
}

#[test]
fn silent_strangers_hold_up_nobody() {
    let server = Server::start(4);
    let silent: Vec<TcpStream> = (100..200).map(|last| server.stranger(last)).collect();
    let took = server.works();
    assert!(took < Duration::from_secs(2), "{took:?}");
    drop(silent);
}

#[test]
fn strangers_are_few_in_all_and_from_one_source_and_the_oldest_goes() {
    let server = Server::start(4);
    let mut others: Vec<_> = (2..22).map(|last| server.stranger(last)).collect();
    server.works();
    let open: Vec<bool> = others.iter_mut().map(is_open).collect();
    assert_eq!(
        open,
        [vec![false; 5], vec![true; 15]].concat(),
        "its caller was the sixteenth"
    );
    let mut same: Vec<_> = (0..20).map(|_| server.stranger(99)).collect();
    server.works();
    let open: Vec<bool> = same.iter_mut().map(is_open).collect();
    assert_eq!(open, [vec![false; 16], vec![true; 4]].concat());
    let left = others.iter_mut().map(is_open).filter(|open| *open).count();
    assert_eq!(left + STRANGERS_MAX_SOURCE, STRANGERS_MAX - 1);
}

/// Whether the responder has not closed the connection.
fn is_open(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0]);
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_wrong_key_is_turned_away() {
    let server = Server::start(4);
    assert!(connect(server.listener.address, &Key::of([5; 32])).is_err());
    let why = server.turned_away.recv_timeout(SOON).unwrap();
    assert!(why.contains("does not have the key"), "{why}");
    server.works();
}

#[test]
fn a_shortage_passes_and_a_dead_socket_ends_the_server() {
    let of = io::Error::from_raw_os_error;
    assert!(after_failure(&of(libc::EMFILE)).is_ok());
    assert!(after_failure(&of(libc::ECONNABORTED)).is_ok());
    assert!(after_failure(&of(libc::EINTR)).is_ok());
    assert!(after_failure(&of(libc::EBADF)).is_err());
}

#[test]
fn strangers_cannot_fill_the_log() {
    let listener = Server::start(4).listener.clone();
    let start = Instant::now();
    let tells = |ms: &u64| listener.tells(start + Duration::from_millis(*ms));
    assert_eq!((0..1000).filter(tells).count(), TURNED_AWAY_MAX);
    assert!(tells(&1000));
}

#[test]
fn one_source_is_an_address_or_a_network() {
    let of = |text: &str| source(text.parse().unwrap());
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
    assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
}
