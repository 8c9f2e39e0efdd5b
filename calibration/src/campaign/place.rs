//! Place of a campaign: a host with a running responder, or its own test network.

use super::children::{Ended, Listened, Ward};
use super::reading::numbers;
use super::{Measured, Runner};
use crate::error::{Context, Error, Result};
use crate::lab::Lab;
use crate::plan::mark::BackgroundMark;
use crate::plan::options::{Options, arguments};
use crate::plan::{Background, Point, RunSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout of a run: this multiple of its estimate plus [`PATIENCE`].
const PATIENCE_FACTOR: f64 = 3.0;
const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout for a responder to listen.
const READY: Duration = Duration::from_secs(10);
/// Time by which a background stream starts before the measured run, and by which it outlasts it.
const LEAD: Duration = Duration::from_millis(800);

/// Host with a running responder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Options of `icprobe run` that select the responder, such as `--to` and `--key`.
    pub reach: Vec<String>,
}

/// Makes runs by starting `icprobe run`.
#[derive(Debug)]
pub struct ProcessRunner {
    program: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Remote(Remote),
    Lab(Box<Hosts>),
}

/// The hosts of a lab and the responders in them.
#[derive(Debug)]
struct Hosts {
    lab: Lab,
    from: String,
    to: String,
    key: PathBuf,
    /// Running responders, by host and address.
    responders: BTreeMap<String, Ward>,
}

impl ProcessRunner {
    /// Creates a runner that measures against a host where `icprobe serve` is already running.
    pub fn remote(program: &Path, remote: Remote) -> Self {
        Self {
            program: program.to_owned(),
            place: Place::Remote(remote),
        }
    }

    /// Creates a runner that measures between two hosts of a lab, and starts responders on demand.
    ///
    /// # Errors
    /// [`Error::Question`] if the lab lacks one of the hosts.
    pub fn in_lab(program: &Path, lab: Lab, from: &str, to: &str, key: &Path) -> Result<Self> {
        for host in [from, to] {
            known(&lab, host)?;
        }
        let hosts = Hosts {
            lab,
            from: from.to_owned(),
            to: to.to_owned(),
            key: key.to_owned(),
            responders: BTreeMap::new(),
        };
        Ok(Self {
            program: program.to_owned(),
            place: Place::Lab(Box::new(hosts)),
        })
    }

    /// Refuses points whose background streams have no host here.
    ///
    /// # Errors
    /// [`Error::Question`] naming the host.
    pub fn check(&self, points: &[std::sync::Arc<Point>]) -> Result<()> {
        let streams = points.iter().flat_map(|point| &point.background);
        for stream in streams {
            match &self.place {
                Place::Lab(hosts) => {
                    known(&hosts.lab, &stream.from)?;
                    known(&hosts.lab, &stream.to)?;
                }
                Place::Remote(_) => {
                    return Err(Error::question(format!(
                        "the plan has background streams from {} to {}: they need a lab, give --lab",
                        stream.from, stream.to
                    )));
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, options: &Options) -> Result<Command> {
        match &mut self.place {
            Place::Remote(remote) => {
                let mut command = Command::new(&self.program);
                command
                    .arg("run")
                    .args(&remote.reach)
                    .args(arguments(options));
                Ok(command)
            }
            Place::Lab(hosts) => {
                let (from, to) = (hosts.from.clone(), hosts.to.clone());
                hosts.run(&self.program, &from, &to, options)
            }
        }
    }

    fn start_background(&mut self, spec: &RunSpec) -> Result<Vec<Beside>> {
        let Place::Lab(hosts) = &mut self.place else {
            return Ok(Vec::new());
        };
        let lasting_s = spec.point.run_s + 2.0 * LEAD.as_secs_f64();
        let mut beside = Vec::new();
        for stream in &spec.point.background {
            let options = lasting(&stream.options, lasting_s);
            let command = hosts.run(&self.program, &stream.from, &stream.to, &options)?;
            beside.push(Beside {
                stream: stream.clone(),
                child: Listened::start(command)?,
            });
        }
        Ok(beside)
    }
}

impl Runner for ProcessRunner {
    fn run(&mut self, spec: &RunSpec) -> Result<Measured> {
        let mut options = spec.point.options.clone();
        options.extend(
            spec.load_bps
                .map(|load| ("load".to_owned(), format!("{load} b/s").into())),
        );
        let command = self.measure(&options)?;
        let mut beside = self.start_background(spec)?;
        if !beside.is_empty() {
            thread::sleep(LEAD);
        }
        let began_beside = beside.iter_mut().all(|b| b.child.is_running());
        if !began_beside {
            return Err(Error::peer(format!(
                "a background stream ended at once: {}",
                complaints(beside)
            )));
        }
        let patience =
            PATIENCE + Duration::from_secs_f64(PATIENCE_FACTOR * spec.point.estimate_s());
        let ended = Listened::start(command)?.wait(patience)?;
        let line = record_line(ended)?;
        let background = beside.into_iter().map(|b| b.finish(patience)).collect();
        Ok(Measured { line, background })
    }

    fn recover(&mut self) -> Result<()> {
        if let Place::Lab(hosts) = &mut self.place {
            hosts.responders.clear();
        }
        thread::sleep(Duration::from_millis(200));
        Ok(())
    }
}

/// Returns the record line of a run, or its error message in the class of its exit code.
fn record_line(ended: Ended) -> Result<String> {
    let why = || match ended.complaint.as_str() {
        "" => format!("icprobe run ended with {} without a message", ended.status),
        complaint => complaint.to_owned(),
    };
    match ended.status.code() {
        Some(0 | 1) => {}
        Some(2) => return Err(Error::question(why())),
        _ => return Err(Error::peer(why())),
    }
    let mut lines = ended.output.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line.to_owned()),
        _ => Err(Error::peer("icprobe run did not print exactly one record")),
    }
}

fn known<'a>(lab: &'a Lab, host: &str) -> Result<&'a crate::lab::LabHost> {
    lab.host(host).ok_or_else(|| {
        Error::question(format!(
            "the lab has no host {host}: give a topology with the plan's hosts"
        ))
    })
}

impl Hosts {
    /// Returns the command that measures from one host to another, after starting the responder.
    fn run(&mut self, program: &Path, from: &str, to: &str, options: &Options) -> Result<Command> {
        let address = self.address(from, to)?;
        self.respond(program, to, &address)?;
        let mut command = self.lab.command(from, program)?;
        command
            .args(["run", "--to", &address, "--key"])
            .arg(&self.key)
            .args(arguments(options));
        Ok(command)
    }

    fn address(&self, from: &str, to: &str) -> Result<String> {
        if from == to {
            return Ok("127.0.0.1".into());
        }
        let host = known(&self.lab, to)?;
        let address = host.addresses.first().map(ToString::to_string);
        address.ok_or_else(|| Error::question(format!("the host {to} of the lab has no address")))
    }

    /// Starts the responder of a host unless it runs.
    fn respond(&mut self, program: &Path, host: &str, address: &str) -> Result<()> {
        let socket = format!("{host} {address}");
        if self
            .responders
            .get_mut(&socket)
            .is_some_and(Ward::is_running)
        {
            return Ok(());
        }
        let mut command = self.lab.command(host, program)?;
        command
            .args(["serve", "--bind", address, "--key"])
            .arg(&self.key);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut responder = Ward::start(command)?;
        let until = Instant::now() + READY;
        while !listens(responder.id()) {
            if !responder.is_running() || Instant::now() > until {
                return Err(Error::peer(format!(
                    "the responder in the host {host} does not listen on {address}"
                )));
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.responders.insert(socket, responder);
        Ok(())
    }
}

/// True when a TCP socket listens in the network of a process (state 0A of `/proc/PID/net/tcp`).
fn listens(process: u32) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap_or_default();
    table
        .lines()
        .skip(1)
        .any(|line| line.split_whitespace().nth(3) == Some("0A"))
}

/// A stream beside the measured one.
struct Beside {
    stream: Background,
    child: Listened,
}

impl Beside {
    fn finish(mut self, patience: Duration) -> BackgroundMark {
        let covered = self.child.is_running();
        let ended = self.child.wait(patience);
        let record = ended.and_then(record_line).ok();
        let record: Option<serde_json::Value> =
            record.and_then(|line| serde_json::from_str(&line).ok());
        let result = record
            .as_ref()
            .and_then(|record| record.get("result")?.as_object());
        let values = result.map(numbers).unwrap_or_default();
        BackgroundMark {
            from: self.stream.from,
            to: self.stream.to,
            goodput_bps: values.get("goodput_bps").copied(),
            loss_rate: values.get("loss_rate").copied(),
            covered,
        }
    }
}

fn complaints(beside: Vec<Beside>) -> String {
    let ended = beside
        .into_iter()
        .filter_map(|b| b.child.wait(Duration::ZERO).ok());
    ended
        .map(|ended| ended.complaint)
        .filter(|c| !c.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the options of a background stream with a window of `seconds`, a short warm-up and no
/// idle time.
fn lasting(options: &Options, seconds: f64) -> Options {
    let mut options = options.clone();
    options.remove("frames");
    for (name, value) in [("duration", seconds), ("warmup", 0.1), ("baseline", 0.0)] {
        options.insert(name.into(), format!("{value} s").into());
    }
    options
}

const KEY_FILE: &str = "key";

/// Working folder of a campaign, beside its record file. A campaign that continues a killed one
/// reuses its folder.
#[derive(Debug, Clone)]
pub struct Workshop(PathBuf);

impl Workshop {
    /// Creates the folder `RECORDS.work`, or reuses the folder that a killed campaign left.
    ///
    /// # Errors
    /// [`Error::Question`] if the folder cannot be created.
    pub fn beside(records: &Path) -> Result<Self> {
        let mut name = records.as_os_str().to_owned();
        name.push(".work");
        let folder = PathBuf::from(name);
        std::fs::create_dir_all(&folder).or_question(folder.display())?;
        Ok(Self(folder))
    }

    /// Creates a new key for the responders of a lab.
    ///
    /// # Errors
    /// [`Error::Peer`] if `icprobe key` fails.
    pub fn key(&self, program: &Path) -> Result<PathBuf> {
        let path = std::path::absolute(self.0.join(KEY_FILE)).or_question("the key")?;
        let _ = std::fs::remove_file(&path);
        let mut command = Command::new(program);
        command.arg("key").arg(&path);
        let ended = Listened::start(command)?.wait(READY)?;
        if ended.status.success() {
            Ok(path)
        } else {
            Err(Error::peer(ended.complaint))
        }
    }

    /// Removes the folder and what is in it.
    pub fn close(&self) {
        let _ = std::fs::remove_file(self.0.join(KEY_FILE));
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
