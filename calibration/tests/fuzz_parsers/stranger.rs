//! Running responders against whatever strangers send them.

use crate::damage::Chance;
use crate::session::{key, recorded};
use crate::{cases, fuzz_times, seed};
use icprobe::host::settings::InterfaceSettings;
use icprobe::interrupt::Stop;
use icprobe::run::{Question, Target, run};
use icprobe::session::{Limits, Listener, connect};
use icprobe::settings::{Protocol, RunSettings};
use rustix::net::{AddressFamily, SocketType, bind, socket};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections of a flood that say half a hello and then nothing.
const HALF_OPEN: u16 = 1000;
/// Threads of a flood, each from an address of its own.
const FLOODERS: u16 = 8;
/// Memory that a responder may take more at the end of a flood than after its first tenth, in KiB.
const GROWTH_KIB: u64 = 4 << 10;
/// Threads of a responder during a flood: at most 64 of strangers, and those of runs.
const THREADS_MAX: u64 = 64 + 24;

#[test]
fn strangers_hear_less_than_they_say_and_break_nothing() {
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = Listener::bind(here, key(), Limits::default()).unwrap();
    let (address, serving) = (listener.address, Arc::clone(&listener));
    let server = thread::spawn(move || serving.serve(|_, _| ()));
    let right = hellos();
    let times = (cases() / 50).max(100);
    fuzz_times(times, "a running responder", &right, |said| {
        hear_less(TcpStream::connect(address).unwrap(), said);
    });
    assert!(
        connect(address, &key()).is_ok(),
        "the responder does not work any more"
    );
    listener.stop();
    server.join().unwrap().unwrap();
}

#[test]
fn a_flood_leaves_the_caller_served_and_memory_flat() {
    flood((cases() / 10).max(1000));
}

#[test]
#[ignore = "minutes of flooding: make measure"]
fn a_flood_of_a_million_first_messages() {
    flood(1_000_000);
}

/// Floods a responder with damaged first messages beside half-open connections, while its caller runs.
fn flood(messages: u64) {
    let responder = Responder::start();
    let calm = responder.serve_caller();
    // Every half-open connection holds a descriptor of this process.
    let mut descriptors = getrlimit(Resource::Nofile);
    descriptors.current = descriptors.maximum;
    setrlimit(Resource::Nofile, descriptors).unwrap();
    let right = hellos();
    let half_open: Vec<TcpStream> = (0..HALF_OPEN)
        .map(|number| {
            let mut stream = responder.stranger(number);
            // The responder may have closed already.
            let _ = stream.write_all(&right[0][..right[0].len() / 2]);
            stream
        })
        .collect();

    let (said, started) = (AtomicU64::new(0), Instant::now());
    let (mut early, mut late, mut threads) = (None, 0, 0);
    let mut waited: Vec<Duration> = vec![];
    thread::scope(|scope| {
        for number in 0..FLOODERS {
            let (said, right, responder) = (&said, &right, &responder);
            let mut chance = Chance::of(seed().wrapping_add(number.into()));
            scope.spawn(move || {
                while said.fetch_add(1, Ordering::Relaxed) < messages {
                    let stranger = responder.stranger(HALF_OPEN + number);
                    hear_less(stranger, &chance.damaged(right));
                }
            });
        }
        while said.load(Ordering::Relaxed) < messages {
            waited.push(responder.serve_caller());
            late = responder.status("VmRSS:");
            threads = threads.max(responder.status("Threads:"));
            if said.load(Ordering::Relaxed) > messages / 10 {
                early.get_or_insert(late);
            }
        }
    });
    drop(half_open);
    waited.push(responder.serve_caller());
    waited.sort_unstable();
    let early = early.unwrap_or(late);
    eprintln!(
        "{messages} first messages in {:.1} s; {early} KiB, at the end {late} KiB; at most {threads} threads; \
         {} runs; handshake of the caller {:.1} ms before, median {:.1} ms, at most {:.1} ms",
        started.elapsed().as_secs_f64(),
        waited.len(),
        1e3 * calm.as_secs_f64(),
        1e3 * waited[waited.len() / 2].as_secs_f64(),
        1e3 * waited[waited.len() - 1].as_secs_f64(),
    );
    assert!(late <= early + GROWTH_KIB, "{early} KiB grew to {late} KiB");
    assert!(threads <= THREADS_MAX, "{threads} threads");
}

/// Right first messages: a hello, and more than a hello.
fn hellos() -> Vec<Vec<u8>> {
    let hello = recorded().0;
    vec![hello.clone(), [hello, vec![7; 100]].concat()]
}

/// Says all of `said`, and checks how much comes back until the responder closes.
fn hear_less(mut stream: TcpStream, said: &[u8]) {
    // The responder may have closed already.
    let _ = stream.write_all(said);
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = vec![];
    let _ = stream.read_to_end(&mut heard);
    assert!(
        heard.is_empty() || heard.len() < said.len(),
        "{} B heard for {} B said",
        heard.len(),
        said.len()
    );
}

/// `icprobe serve` in a process of its own.
struct Responder {
    process: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Responder {
    fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let name = format!("icprobe-flood-{}-{}", std::process::id(), address.port());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("key");
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&file)
            .and_then(|mut file| file.write_all("01".repeat(32).as_bytes()))
            .unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_icprobe"))
            .args(["serve", "--bind", "127.0.0.1", "--port"])
            .arg(address.port().to_string())
            .arg("--key")
            .arg(file)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "no responder");
            thread::sleep(Duration::from_millis(10));
        }
        Self {
            process,
            address,
            folder,
        }
    }

    /// Connects from the address of a stranger of this number.
    fn stranger(&self, number: u16) -> TcpStream {
        let [high, low] = number.to_be_bytes();
        let from = SocketAddr::from((Ipv4Addr::new(127, 1, high, low), 0));
        let fd = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&fd, &from).unwrap();
        rustix::net::connect(&fd, &self.address).unwrap();
        TcpStream::from(fd)
    }

    /// Does a handshake and a whole run as its caller; how long the handshake took.
    fn serve_caller(&self) -> Duration {
        let key = key();
        let started = Instant::now();
        let channel = connect(self.address, &key).expect("the caller is served");
        let waited = started.elapsed();
        drop(channel);
        let settings = RunSettings {
            warmup_s: 0.01,
            baseline_s: 0.01,
            frames: Some(100),
            rate_fps: Some(1000.0),
            ..RunSettings::new(Protocol::Tcp, 100)
        };
        let question = Question {
            settings,
            target: Target {
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                port: self.address.port(),
                interface: None,
            },
            cpus: None,
            interface_settings: InterfaceSettings::default(),
            interrupt_cpus: None,
            labels: serde_json::Map::new(),
        };
        let record = run(&question, &key, &Stop::default()).expect("the caller is served");
        assert!(record.result.frames_received > Some(0));
        waited
    }

    /// A number of its /proc/PID/status.
    fn status(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.unwrap().parse().unwrap()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
