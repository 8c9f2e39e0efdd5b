use super::super::channel::connect;
use super::*;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

const SOON: Duration = Duration::from_secs(10);

/// Does for callers what they say, and tells the test of those turned away.
struct Trial {
    turned_away: Mutex<Sender<String>>,
}

impl Service for Trial {
    fn session(&self, mut channel: Channel, _: SocketAddr) {
        while let Ok(message) = channel.receive(SOON) {
            match message {
                Message::Measure => channel.send(&Message::Measured).unwrap(),
                Message::Failed { reason } => panic!("{reason}"),
                _ => return,
            }
        }
    }

    fn turned_away(&self, _: SocketAddr, why: &Error) {
        let _ = self.turned_away.lock().unwrap().send(why.to_string());
    }
}

struct Server {
    address: SocketAddr,
    stopper: Stopper,
    turned_away: Receiver<String>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Server {
    fn start(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stopper = Stopper::of(&listener).unwrap();
        let flag = stopper.flag();
        let (sender, turned_away) = channel();
        let service = Trial {
            turned_away: Mutex::new(sender),
        };
        let thread =
            std::thread::spawn(move || serve_until(&listener, &key(), &limits, &flag, service));
        Self {
            address,
            stopper,
            turned_away,
            thread: Some(thread),
        }
    }

    fn works(&self) -> Duration {
        let started = Instant::now();
        let mut channel = connect(self.address, &key()).unwrap();
        channel.send(&Message::Measure).unwrap();
        assert_eq!(channel.receive(SOON), Ok(Message::Measured));
        started.elapsed()
    }

    /// A session of this server: of those before it the last gives its place back only once its
    /// thread has ended, and until then callers are refused.
    fn place(&self) -> Channel {
        let started = Instant::now();
        loop {
            let mut channel = connect(self.address, &key()).unwrap();
            if channel.send(&Message::Measure).is_ok()
                && channel.receive(SOON) == Ok(Message::Measured)
            {
                return channel;
            }
            assert!(started.elapsed() < SOON, "no place became free");
        }
    }

    fn stranger(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopper.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(
                matches!(ended, Some(Ok(Ok(())))),
                "the server did not end well"
            );
        }
    }
}

fn key() -> Key {
    Key::of([4; 32])
}

#[test]
fn sessions_run_side_by_side_and_the_server_stops_when_told() {
    let server = Server::start(Limits::default());
    let mut first = connect(server.address, &key()).unwrap();
    server.works();
    first.send(&Message::Measure).unwrap();
    assert_eq!(first.receive(SOON), Ok(Message::Measured));
}

#[test]
fn a_panic_in_a_session_ends_only_that_session() {
    let server = Server::start(Limits {
        sessions: 1,
        ..Limits::default()
    });
    for _ in 0..3 {
        let mut channel = server.place();
        let reason = "on purpose, in a test".into();
        channel.send(&Message::Failed { reason }).unwrap();
        assert!(channel.receive(SOON).is_err());
    }
    server.place();
}

#[test]
fn more_sessions_than_allowed_are_refused_with_a_reason() {
    let server = Server::start(Limits {
        sessions: 1,
        ..Limits::default()
    });
    let mut first = connect(server.address, &key()).unwrap();
    first.send(&Message::Measure).unwrap();
    assert_eq!(first.receive(SOON), Ok(Message::Measured));
    let refused = connect(server.address, &key())
        .unwrap()
        .receive(SOON)
        .unwrap();
    assert!(
        refused
            .granted()
            .unwrap_err()
            .to_string()
            .contains("its limit")
    );
    assert!(
        server
            .turned_away
            .recv_timeout(SOON)
            .unwrap()
            .contains("its limit")
    );
}

#[test]
fn silent_strangers_hold_up_nobody() {
    let server = Server::start(Limits::default());
    let silent: Vec<TcpStream> = (0..100).map(|_| server.stranger()).collect();
    let took = server.works();
    assert!(took < Duration::from_secs(2), "{took:?}");
    drop(silent);
}

#[test]
fn the_oldest_stranger_goes_when_a_source_has_too_many() {
    let server = Server::start(Limits::default());
    let mut strangers: Vec<TcpStream> = vec![];
    for _ in 0..=STRANGERS_MAX_SOURCE {
        strangers.push(server.stranger());
    }
    let mut answer = [0u8; 1];
    strangers[0].set_read_timeout(Some(SOON / 4)).unwrap();
    assert_eq!(strangers[0].read(&mut answer).unwrap(), 0);
    let young = &mut strangers[STRANGERS_MAX_SOURCE];
    young
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    assert!(young.read(&mut answer).is_err(), "the youngest was closed");
}

#[test]
fn a_wrong_key_is_turned_away() {
    let server = Server::start(Limits::default());
    assert!(connect(server.address, &Key::of([5; 32])).is_err());
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
fn strangers_are_few_in_all_and_from_one_source() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut strangers = Strangers::default();
    let open = |strangers: &Strangers| strangers.present.iter().filter(|s| !s.shut).count();
    for last in 0..20u8 {
        let address = IpAddr::from([10, 0, 0, last]);
        assert!(strangers.admit(&stream, address).is_some());
        assert!(open(&strangers) <= STRANGERS_MAX);
    }
    let one = IpAddr::from([10, 0, 0, 99]);
    for _ in 0..20 {
        strangers.admit(&stream, one).unwrap();
        let of_one = strangers
            .present
            .iter()
            .filter(|s| !s.shut && s.source == one)
            .count();
        assert!(of_one <= STRANGERS_MAX_SOURCE && open(&strangers) <= STRANGERS_MAX);
    }
    let mut admitted = strangers.present.len();
    while strangers.admit(&stream, one).is_some() {
        admitted += 1;
    }
    assert_eq!(admitted, THREADS_MAX);
    let first = strangers.present[0].number;
    strangers.leave(first);
    assert!(strangers.admit(&stream, one).is_some());
}

#[test]
fn strangers_cannot_fill_the_log() {
    let mut told = Told::default();
    let start = Instant::now();
    let within = |told: &mut Told, ms: u64| told.another(start + Duration::from_millis(ms));
    let first = (0..1000).filter(|n| within(&mut told, *n)).count();
    assert_eq!(first, TURNED_AWAY_MAX as usize);
    assert!(within(&mut told, 1000));
}

#[test]
fn one_source_is_an_address_or_a_network() {
    let of = |text: &str| source(text.parse().unwrap());
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
    assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
}
