//! Settings of one run, known to both ends.

use crate::error::{Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Protocols; all carry the same frames, so their results are comparable.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP, one connection per stream.
    Tcp,
    /// UDP datagrams over IPv4 or IPv6.
    Udp,
    /// Ethernet frames with a separate EtherType, without IP (AF_PACKET).
    Ethernet,
    /// ZeroMQ sockets over TCP (libzmq).
    Zeromq,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Ethernet => "direct Ethernet",
            Self::Zeromq => "ZeroMQ",
        })
    }
}

/// Traffic pattern.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Stream: frames in one direction, paced or unlimited.
    Stream,
    /// Ping-pong: one frame there, one back, then the next (round trips).
    PingPong,
    /// One-way calls in a batch, then one wait until all were invoked.
    OnewayBatch,
    /// Two-way calls in a batch, then one wait for all replies.
    TwowayBatch,
    /// Synchronous two-way calls: the next starts after the reply to the last.
    Call,
}

/// Content of a call.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// Raw bytes.
    #[default]
    Bytes,
    /// A vector of {i32, i32, f64}, encoded by the caller and decoded by the responder.
    Vector,
}

/// ZeroMQ socket types of a stream; ping-pong and calls use REQ/REP.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum ZeromqSocket {
    /// PUSH to PULL: loses nothing, blocks at the high-water mark.
    #[default]
    PushPull,
    /// PUB to SUB: drops at the high-water mark.
    PubSub,
    /// REQ to REP: in lockstep.
    ReqRep,
}

/// Wait mode of data threads.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// Block in the system call until the kernel wakes the thread.
    #[default]
    Blocking,
    /// Busy polling: less latency, but one core is always busy.
    Polling,
}

/// Role of an end on the control connection; independent of which end sends the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Runs `icprobe run`: opened the control connection and leads the run.
    Caller,
    /// Runs `icprobe serve`: listened, and answers.
    Responder,
}

impl Role {
    /// Returns the role of the other end.
    pub fn peer(self) -> Self {
        match self {
            Self::Caller => Self::Responder,
            Self::Responder => Self::Caller,
        }
    }
}

/// Settings of one run, all in SI units; the caller sends them to the responder unchanged.
///
/// `None` leaves a value to the system; the record then contains the value the system chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// Protocol.
    pub protocol: Protocol,
    /// Payload bytes of a frame, including icprobe's frame header.
    pub payload_bytes: u32,
    /// Traffic pattern.
    pub pattern: Pattern,
    /// Frames per second over all streams together; `None` is unlimited.
    pub rate_fps: Option<f64>,
    /// Reverse direction: the responder sends (streams) or calls.
    pub reverse: bool,
    /// Length of the measured window, in seconds.
    pub duration_s: f64,
    /// Length of the measured window in frames (or calls) over all streams, instead of `duration_s`.
    pub frames: Option<u64>,
    /// Warm-up traffic before the measurement window, not measured, in seconds.
    pub warmup_s: f64,
    /// Cool-down traffic after the measurement window, not measured, in seconds; absent for the default
    /// length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_s: Option<f64>,
    /// Baseline: idle time before the traffic in which the hosts' own load is measured, in seconds.
    pub baseline_s: f64,
    /// Cores per end; one data thread and one connection per core, unless `streams` is larger.
    pub cores: u16,
    /// Connections; at least `cores`, spread evenly over them.
    pub streams: u16,
    /// Nagle's algorithm (TCP, ZeroMQ never has it).
    pub nagle: bool,
    /// Differentiated services code point, 0…63.
    pub dscp: Option<u8>,
    /// Requested send buffer (SO_SNDBUF), in bytes.
    pub send_buffer_bytes: Option<u32>,
    /// Requested receive buffer (SO_RCVBUF), in bytes.
    pub receive_buffer_bytes: Option<u32>,
    /// Wait mode of the data threads.
    pub waiting: Waiting,
    /// Real-time priority (SCHED_FIFO) of the data threads, 1…99; `None` is the ordinary scheduler.
    pub realtime_priority: Option<u8>,
    /// Frames per system call (sendmmsg, writev); 1 means no batching.
    pub batch_frames: u32,
    /// Content of a call.
    pub body: Body,
    /// Payload of a reply in ping-pong and calls; `None` means the size of the request (ping-pong) or 32 B
    /// (calls).
    pub reply_bytes: Option<u32>,
    /// ZeroMQ: which sockets.
    pub zeromq_socket: ZeromqSocket,
    /// ZeroMQ: I/O threads of each end's context.
    pub io_threads: Option<u16>,
    /// ZeroMQ: high-water mark of both ends, in messages.
    pub high_water_mark: Option<u32>,
    /// ZeroMQ: size of the batch buffers (ZMQ_IN_BATCH_SIZE, ZMQ_OUT_BATCH_SIZE), in bytes.
    pub batch_bytes: Option<u32>,
    /// Keep the latency of every frame in the record.
    pub raw: bool,
}

/// Largest payload of a UDP datagram over IPv4 (RFC 768, RFC 791): 65 535 − 20 − 8 B.
pub const UDP_PAYLOAD_MAX: u32 = 65_507;
/// Largest payload of this tool: 1 GiB, for TCP and ZeroMQ.
pub const PAYLOAD_MAX: u32 = 1 << 30;
/// Maximum cool-down, in seconds: an end waits no longer for frames after the window.
const TAIL_MAX_S: f64 = 20.0;
/// Elements of the vector body are {i32, i32, f64}: 16 bytes each.
pub const VECTOR_ELEMENT_BYTES: u32 = 16;

impl RunSettings {
    /// Settings with the documented defaults: unlimited, 2 s after 0.2 s of warm-up, one core.
    pub fn new(protocol: Protocol, payload_bytes: u32) -> Self {
        Self {
            protocol,
            payload_bytes,
            pattern: Pattern::Stream,
            rate_fps: None,
            reverse: false,
            duration_s: 2.0,
            frames: None,
            warmup_s: 0.2,
            tail_s: None,
            baseline_s: 0.5,
            cores: 1,
            streams: 1,
            nagle: true,
            dscp: None,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            waiting: Waiting::Blocking,
            realtime_priority: None,
            batch_frames: 1,
            body: Body::Bytes,
            reply_bytes: None,
            zeromq_socket: ZeromqSocket::PushPull,
            io_threads: None,
            high_water_mark: None,
            batch_bytes: None,
            raw: false,
        }
    }

    /// Whether the end in this role sends frames or requests; the other end receives or replies.
    pub fn sends(&self, role: Role) -> bool {
        (role == Role::Caller) != self.reverse
    }

    /// Whether the protocol may lose frames (lost datagrams, slow subscribers).
    pub fn may_lose(&self) -> bool {
        match self.protocol {
            Protocol::Udp | Protocol::Ethernet => true,
            Protocol::Zeromq => self.zeromq_socket == ZeromqSocket::PubSub,
            Protocol::Tcp => false,
        }
    }

    /// Offered goodput: rate × payload × 8, in b/s; `None` if the rate is unlimited.
    /// Rounded to 15 digits, so that a requested load is unchanged by the conversion to a frame rate.
    pub fn load_bps(&self) -> Option<f64> {
        self.rate_fps
            .map(|rate| to_15_digits(rate * f64::from(self.payload_bytes) * 8.0))
    }

    /// Validates the settings, for users, plans and peers alike.
    pub fn check(&self) -> Result<()> {
        self.check_payload()?;
        self.check_pattern()?;
        self.check_lengths()?;
        self.check_counts()?;
        self.check_options()
    }

    fn check_payload(&self) -> Result<()> {
        let largest = match self.protocol {
            Protocol::Tcp | Protocol::Zeromq => PAYLOAD_MAX,
            Protocol::Udp => UDP_PAYLOAD_MAX,
            Protocol::Ethernet => 65_535,
        };
        require((1..=largest).contains(&self.payload_bytes), || {
            format!(
                "a payload of {} B cannot be sent over {}: give 1 B to {largest} B",
                self.payload_bytes, self.protocol
            )
        })?;
        require(
            self.body == Body::Bytes || self.payload_bytes >= 2 * VECTOR_ELEMENT_BYTES + 32,
            || "a vector body needs a payload of at least 64 B".into(),
        )
    }

    fn check_pattern(&self) -> Result<()> {
        let batch = matches!(self.pattern, Pattern::OnewayBatch | Pattern::TwowayBatch);
        let long = |bytes: u32| bytes >= 32;
        require(
            !batch || (long(self.payload_bytes) && self.reply_bytes.is_none_or(long)),
            || {
                "calls in batches are told apart by their header: give at least 32 B to payload and reply".into()
            },
        )?;
        require(
            self.body == Body::Bytes || self.pattern != Pattern::Stream,
            || "a vector body belongs to calls: ask with --pattern call or a batch".into(),
        )?;
        let reply_most = self.reply_bytes.unwrap_or(1);
        require(self.reply_bytes != Some(0), || {
            "a reply has at least 1 B".into()
        })?;
        let same_kind = RunSettings {
            payload_bytes: reply_most,
            body: Body::Bytes,
            ..self.clone()
        };
        same_kind.check_payload()?;
        require(!batch || self.rate_fps.is_none(), || {
            "batches of calls have no rate: leave rate and load out".into()
        })?;
        require(
            self.batch_frames == 1
                || self.pattern != Pattern::PingPong && self.pattern != Pattern::Call,
            || "ping-pong and synchronous calls cannot be batched: leave --batch at 1".into(),
        )
    }

    fn check_lengths(&self) -> Result<()> {
        let second = |name: &str, value: f64, least: f64, most: f64| {
            require((least..=most).contains(&value), || {
                format!("{name} is {value} s: give {least} s to {most} s")
            })
        };
        second("the duration", self.duration_s, 0.01, 86_400.0)?;
        second("the warm-up", self.warmup_s, 0.0, 3600.0)?;
        second("the tail", self.tail_s.unwrap_or(0.0), 0.0, TAIL_MAX_S)?;
        second("the idle baseline", self.baseline_s, 0.0, 60.0)?;
        require(self.frames != Some(0), || "give at least one frame".into())?;
        require(
            self.rate_fps
                .is_none_or(|r| r.is_finite() && (1e-3..=1e10).contains(&r)),
            || "the rate must lie between 0.001/s and 1e10/s".into(),
        )
    }

    fn check_counts(&self) -> Result<()> {
        require((1..=256).contains(&self.cores), || {
            "give 1 to 256 cores".into()
        })?;
        require(self.streams >= self.cores && self.streams <= 1024, || {
            format!(
                "{} streams for {} cores: give at least one a core, at most 1024",
                self.streams, self.cores
            )
        })?;
        require((1..=1024).contains(&self.batch_frames), || {
            "a batch is 1 to 1024 frames a system call".into()
        })
    }

    fn check_options(&self) -> Result<()> {
        require(self.dscp.is_none_or(|d| d < 64), || {
            "a DSCP lies between 0 and 63".into()
        })?;
        require(
            self.realtime_priority.is_none_or(|p| (1..=99).contains(&p)),
            || "a real-time priority lies between 1 and 99".into(),
        )?;
        let zeromq = self.protocol == Protocol::Zeromq;
        let given = self.io_threads.is_some()
            || self.high_water_mark.is_some()
            || self.batch_bytes.is_some();
        require(zeromq || !given, || {
            "I/O threads, high-water mark and batch bytes belong to ZeroMQ: ask with --protocol zeromq".into()
        })
    }
}

/// Rounds to 15 significant digits, which every double can represent.
fn to_15_digits(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}
