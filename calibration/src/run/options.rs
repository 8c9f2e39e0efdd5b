//! Options of a run, spelled the same on the command line and in a plan.

use super::{Question, Target};
use crate::error::{Error, Result};
use crate::host::settings::InterfaceSettings;
use crate::record::point;
use crate::session::DEFAULT_PORT;
use crate::settings::{Body, Pattern, Protocol, RunSettings, Waiting, ZeromqSocket};
use crate::units::{parse_bits_per_s, parse_bytes, parse_rate_fps, parse_seconds};
use clap::{Args, CommandFactory, Parser};
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

/// Options of `icprobe run`, except those of the other end.
#[derive(Debug, Args)]
pub struct RunOptions {
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    control: ControlArgs,
    #[command(flatten)]
    zeromq: ZeromqArgs,
    #[command(flatten)]
    labels: LabelArgs,
}

/// Protocol, payload and rate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
struct TrafficArgs {
    /// Protocol that carries the frames.
    #[arg(long, value_enum)]
    protocol: Protocol,
    /// Payload bytes of a frame, e.g. "1472 B". Frames of 32 B or more carry timestamps, which latency needs.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    payload: u32,
    /// Frames per second over all streams, e.g. "1000/s". Without --rate and --load the stream is unlimited.
    #[arg(long, value_name = "RATE", conflicts_with = "load", value_parser = parse_rate_fps)]
    rate: Option<f64>,
    /// Offered goodput over all streams, e.g. "5 Gb/s".
    #[arg(long, value_name = "GOODPUT", value_parser = parse_bits_per_s)]
    load: Option<f64>,
    /// Traffic pattern.
    #[arg(long, value_enum, default_value = "stream")]
    pattern: Pattern,
    /// Length of the measured window.
    #[arg(long, value_name = "TIME", default_value = "2 s", value_parser = parse_seconds)]
    duration: f64,
    /// Length of the measured window in frames or calls; overrides --duration.
    #[arg(long, value_name = "N")]
    frames: Option<u64>,
    /// Warm-up traffic before the measured window.
    #[arg(long, value_name = "TIME", default_value = "200 ms", value_parser = parse_seconds)]
    warmup: f64,
    /// Cool-down traffic after the measured window, so that simultaneous runs still see this load.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    tail: Option<f64>,
    /// Idle time before the traffic, in which the hosts' own CPU load is measured.
    #[arg(long, value_name = "TIME", default_value = "500 ms", value_parser = parse_seconds)]
    baseline: f64,
    /// Reverse the direction: the other end sends or calls.
    #[arg(long)]
    reverse: bool,
    /// Content of calls. A vector of 50 000 elements needs a payload of 800032 B.
    #[arg(long, value_enum, default_value = "bytes")]
    body: Body,
    /// Payload of a reply. Default: the payload of the request in ping-pong, 32 B in calls.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    reply: Option<u32>,
}

/// Cores, sockets and interface settings.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control")]
struct ControlArgs {
    /// Number of cores of each end, with one data thread and one connection per core.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cores: u16,
    /// Number of connections, spread over the cores. Default: one per core.
    #[arg(long, value_name = "N")]
    streams: Option<u16>,
    /// Cores this end may use, e.g. "0,2-3". Default: all.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Switch Nagle's algorithm off (TCP).
    #[arg(long)]
    no_nagle: bool,
    /// Differentiated services code point, 0 to 63 (46 is EF).
    #[arg(long)]
    dscp: Option<u8>,
    /// Send buffer size of the sockets (SO_SNDBUF).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    send_buffer: Option<u32>,
    /// Receive buffer size of the sockets (SO_RCVBUF).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    receive_buffer: Option<u32>,
    /// Wait mode of data threads: block in the kernel, or busy polling (one core per thread always busy).
    #[arg(long, value_enum, default_value = "blocking")]
    waiting: Waiting,
    /// Real-time priority of the data threads (SCHED_FIFO), 1 to 99.
    #[arg(long, value_name = "PRIORITY")]
    realtime: Option<u8>,
    /// Frames per system call (sendmmsg, writev). Default: 1, no batching.
    #[arg(long, value_name = "N", default_value_t = 1)]
    batch: u32,
    /// MTU to set on this end's interface for the run; restored afterwards.
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u32>,
    /// Offloads to set on this end's interface for the run, e.g. "tso=off,gso=off"; restored afterwards.
    #[arg(long, value_name = "LIST")]
    offloads: Option<String>,
    /// Cores that handle the interrupts of this end's interface for the run, e.g. "0"; restored afterwards.
    #[arg(long, value_name = "LIST")]
    interrupt_cpus: Option<String>,
    /// Keep the latency or round trip of every frame in the record.
    #[arg(long)]
    raw: bool,
}

/// ZeroMQ options.
#[derive(Debug, Args)]
#[command(next_help_heading = "ZeroMQ")]
struct ZeromqArgs {
    /// ZeroMQ socket types of a stream.
    #[arg(long, value_enum, default_value = "push-pull")]
    zeromq_socket: ZeromqSocket,
    /// ZeroMQ I/O threads of each end.
    #[arg(long, value_name = "N")]
    io_threads: Option<u16>,
    /// ZeroMQ high-water mark (queue limit) of both ends, in messages.
    #[arg(long, value_name = "N")]
    high_water_mark: Option<u32>,
    /// Size of the ZeroMQ batch buffers, if libzmq supports them.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    batch_bytes: Option<u32>,
}

/// Labels of the network for the record; not measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Labels of the record")]
struct LabelArgs {
    /// Number of switches on the path.
    #[arg(long, value_name = "N", default_value_t = 0)]
    switches: u32,
    /// Number of streams that send to the receiving interface, including this one.
    #[arg(long, value_name = "N", default_value_t = 1)]
    endpoints: u32,
    /// Total requested goodput of the other endpoints.
    #[arg(long, value_name = "GOODPUT", value_parser = parse_bits_per_s)]
    other_goodput: Option<f64>,
    /// Any other axis, as KEY=VALUE. Numbers are stored as numbers.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    option: Vec<(String, Value)>,
}

/// A command line of the options alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Line {
    #[command(flatten)]
    options: RunOptions,
}

/// Parses command-line arguments into the settings of a run.
///
/// # Errors
/// [`Error::Question`] for arguments that `icprobe run` would refuse before connecting.
pub fn settings_of(arguments: &[String]) -> Result<RunSettings> {
    let line = Line::try_parse_from(arguments).map_err(|error| Error::question(told(&error)))?;
    let nobody = Target {
        address: Ipv4Addr::UNSPECIFIED.into(),
        port: DEFAULT_PORT,
        interface: None,
    };
    line.options
        .question(nobody)
        .map(|question| question.settings)
}

/// Whether the command line has an option of this name, without the dashes before.
pub fn is_known(name: &str) -> bool {
    Line::command()
        .get_arguments()
        .any(|option| option.get_long() == Some(name))
}

/// Error message of the command-line parser, in one line and without the usage.
fn told(error: &clap::Error) -> String {
    let text = error.to_string();
    let said = text.split("\n\nUsage:").next().unwrap_or(&text);
    let said = said.split("\n\nFor more").next().unwrap_or(said);
    let words: Vec<&str> = said
        .trim_start_matches("error:")
        .split_whitespace()
        .collect();
    words.join(" ")
}

impl RunOptions {
    /// Builds the run from the options and the responder.
    ///
    /// # Errors
    /// [`Error::Question`] for invalid settings or lists.
    pub fn question(&self, target: Target) -> Result<Question> {
        let settings = self.settings();
        settings.check()?;
        Ok(Question {
            settings,
            target,
            cpus: cpus_of(self.control.cpus.as_deref())?,
            interface_settings: interface_settings(
                self.control.mtu,
                self.control.offloads.as_deref(),
            )?,
            interrupt_cpus: cpus_of(self.control.interrupt_cpus.as_deref())?,
            labels: self.labels.map(),
        })
    }

    fn settings(&self) -> RunSettings {
        let (traffic, control, zeromq) = (&self.traffic, &self.control, &self.zeromq);
        let by_load = traffic
            .load
            .map(|bps| bps / 8.0 / f64::from(traffic.payload));
        RunSettings {
            pattern: traffic.pattern,
            rate_fps: traffic.rate.or(by_load),
            reverse: traffic.reverse,
            duration_s: traffic.duration,
            frames: traffic.frames,
            warmup_s: traffic.warmup,
            tail_s: traffic.tail,
            baseline_s: traffic.baseline,
            cores: control.cores,
            streams: control.streams.unwrap_or(control.cores),
            nagle: !control.no_nagle,
            dscp: control.dscp,
            send_buffer_bytes: control.send_buffer,
            receive_buffer_bytes: control.receive_buffer,
            waiting: control.waiting,
            realtime_priority: control.realtime,
            batch_frames: control.batch,
            body: traffic.body,
            reply_bytes: traffic.reply,
            zeromq_socket: zeromq.zeromq_socket,
            io_threads: zeromq.io_threads,
            high_water_mark: zeromq.high_water_mark,
            batch_bytes: zeromq.batch_bytes,
            raw: control.raw,
            ..RunSettings::new(traffic.protocol, traffic.payload)
        }
    }
}

impl LabelArgs {
    fn map(&self) -> Map<String, Value> {
        let mut labels = Map::new();
        labels.insert("switches".into(), json!(self.switches));
        labels.insert("endpoints".into(), json!(self.endpoints));
        if let Some(goodput) = self.other_goodput {
            labels.insert("other_goodput_bps".into(), json!(goodput));
        }
        labels.extend(self.option.iter().cloned());
        labels
    }
}

fn size(text: &str) -> Result<u32> {
    let bytes = parse_bytes(text)?;
    u32::try_from(bytes)
        .map_err(|_| Error::question(format!("{text} is too large: give less than 4 GiB")))
}

fn key_value(text: &str) -> Result<(String, Value)> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err(Error::question(format!(
            "invalid option {text:?}: write KEY=VALUE"
        )));
    };
    if point::RESERVED.contains(&key) {
        return Err(Error::question(format!(
            "{key} is set by the run itself: choose another name for the option"
        )));
    }
    let number = serde_json::from_str(value)
        .ok()
        .filter(|v: &Value| v.is_number() || v.is_boolean());
    Ok((key.to_owned(), number.unwrap_or_else(|| json!(value))))
}

/// Parses the interface settings of a run.
///
/// # Errors
/// [`Error::Question`] for an offload that is not `NAME=on` or `NAME=off`.
pub fn interface_settings(
    mtu_bytes: Option<u32>,
    offloads: Option<&str>,
) -> Result<InterfaceSettings> {
    let offloads = offloads
        .map(InterfaceSettings::parse_offloads)
        .transpose()?;
    Ok(InterfaceSettings {
        mtu_bytes,
        offloads: offloads.unwrap_or_default(),
    })
}

/// Parses an optional list of cores.
///
/// # Errors
/// [`Error::Question`] for an invalid list of cores.
pub fn cpus_of(text: Option<&str>) -> Result<Option<Vec<usize>>> {
    text.map(parse_cpus).transpose()
}

/// Parses a list of cores such as "0,2-3".
fn parse_cpus(text: &str) -> Result<Vec<usize>> {
    let wrong = || {
        Error::question(format!(
            "invalid list of cores {text:?}: write for example \"0,2-3\""
        ))
    };
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    let mut cpus = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) if number(first)? <= number(last)? => {
                cpus.extend(number(first)?..=number(last)?)
            }
            Some(_) => return Err(wrong()),
            None => cpus.push(number(part)?),
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}
