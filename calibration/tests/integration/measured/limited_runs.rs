//! Whole runs over a limited link, between two hosts of a lab.

use super::alone;
use crate::lab::standing::{Standing, skipped};
use icprobe::record::Record;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// TCP goodput of a link whose packets are full, over its line rate: 1448 B of 1538 B on the wire.
const TCP_SHARE: f64 = 1448.0 / 1538.0;

/// A responder on host B that ends with its owner.
struct Responder<'a> {
    lab: &'a Standing,
    folder: PathBuf,
    process: Child,
}

impl<'a> Responder<'a> {
    fn on(lab: &'a Standing) -> Self {
        let folder = std::env::temp_dir().join(&lab.1);
        std::fs::create_dir_all(&folder).expect("a folder");
        let key = folder.join("key");
        let made = Command::new(env!("CARGO_BIN_EXE_icprobe"))
            .arg("key")
            .arg(&key)
            .status();
        assert!(made.expect("ran").success());
        let process = probe(lab, "B")
            .args(["serve", "--bind", &lab.address("B").to_string(), "--key"])
            .arg(&key)
            .stderr(Stdio::null())
            .spawn();
        let process = process.expect("serves");
        let to = lab.address("B");
        let listening = lab.inside("A", move || {
            let give_up = Instant::now() + Duration::from_secs(10);
            while Instant::now() < give_up {
                if TcpStream::connect((to, icprobe::session::DEFAULT_PORT)).is_ok() {
                    return true;
                }
                thread::sleep(Duration::from_millis(20));
            }
            false
        });
        assert!(listening.join().expect("looked"), "nobody listens");
        Self {
            lab,
            folder,
            process,
        }
    }

    /// The record of a run from host A, flagged or not.
    fn run(&self, options: &[&str]) -> Record {
        let output = probe(self.lab, "A")
            .args(["run", "--to", &self.lab.address("B").to_string(), "--key"])
            .arg(self.folder.join("key"))
            .args(["--baseline", "20 ms"])
            .args(options)
            .output()
            .expect("ran");
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
    }
}

impl Drop for Responder<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn probe(lab: &Standing, host: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_icprobe");
    lab.0.command(host, program).expect("a host of the lab")
}

#[test]
fn one_way_calls_take_as_long_with_a_warm_up_as_without() {
    if skipped() {
        return;
    }
    let _alone = alone();
    let lab = Standing::of("direct-20m");
    let responder = Responder::on(&lab);
    let mut rates = Vec::new();
    for warmup in ["0 s", "300 ms"] {
        let record = responder.run(&[
            "--protocol",
            "tcp",
            "--payload",
            "1000 B",
            "--pattern",
            "oneway-batch",
            "--duration",
            "500 ms",
            "--warmup",
            warmup,
        ]);
        let result = &record.result;
        assert_eq!(result.frames_lost, Some(0));
        let goodput = result.goodput_bps.expect("confirmed");
        assert!(goodput < 20e6 * TCP_SHARE * 1.005, "{goodput} b/s");
        rates.push(goodput);
    }
    let ratio = rates[0] / rates[1];
    assert!((0.5..2.0).contains(&ratio), "{rates:?} b/s");
}

#[test]
fn several_streams_of_large_frames_share_a_slow_link() {
    if skipped() {
        return;
    }
    let _alone = alone();
    let lab = Standing::of("direct-20m");
    let responder = Responder::on(&lab);
    let record = responder.run(&[
        "--protocol",
        "tcp",
        "--payload",
        "65535 B",
        "--streams",
        "6",
        "--duration",
        "2 s",
        "--warmup",
        "500 ms",
    ]);
    let result = &record.result;
    assert_eq!(result.frames_lost, Some(0));
    assert_eq!(result.frames_duplicate, Some(0));
    let share = result.goodput_bps.expect("measured") / (20e6 * TCP_SHARE);
    assert!(share < 1.005, "{share} of theory");
    assert!(share > 0.5, "{share} of theory");
}
