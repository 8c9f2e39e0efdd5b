//! Limits on the requests of an authenticated caller, set at the responder alone.

use crate::error::{Result, require};
use crate::settings::{Pattern, Protocol, RunSettings};
use crate::transport::answer_bytes;
use std::fmt::Display;
use std::time::Duration;

/// Rate that an unlimited stream counts as: the fastest Ethernet of IEEE Std 802.3bs-2017, 400
/// Gb/s.
pub const UNLIMITED_BPS: f64 = 400e9;
/// Time that the two ends need between the parts of a run, in seconds.
const MARGIN_S: f64 = 60.0;
/// Longest idle baseline that settings may ask for, in seconds.
const BASELINE_MAX_S: f64 = 60.0;
/// Greatest duration of a run, whatever the limits.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
/// Messages that a ZeroMQ socket holds unless told otherwise (zmq_setsockopt, ZMQ_RCVHWM).
const ZEROMQ_HIGH_WATER_MARK: u32 = 1000;
/// Least size of a stream's read buffer, in bytes.
const READ_BYTES: u128 = 256 << 10;
/// A latency in a report, in bytes: up to 17 digits, point, exponent and comma.
const RAW_TEXT_BYTES: u64 = 24;

/// Hard limits on the requests of a session; a request above them is refused with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Greatest requested goodput over all streams, in b/s; unlimited counts as [`UNLIMITED_BPS`].
    pub rate_bps: f64,
    /// Longest warm-up and window together, in seconds.
    pub duration_s: f64,
    /// Largest payload of a frame or an answer, in bytes.
    pub payload_bytes: u32,
    /// Most memory for the frames and buffers of one session, in bytes.
    pub memory_bytes: u64,
    /// Most streams of one session.
    pub streams: u16,
    /// Greatest number of simultaneous sessions.
    pub sessions: usize,
}

impl Default for Limits {
    /// 400 Gb/s, an hour, 1 GiB of payload, 2 GiB of memory, 64 streams, 4 sessions.
    fn default() -> Self {
        Self {
            rate_bps: UNLIMITED_BPS,
            duration_s: 3600.0,
            payload_bytes: 1 << 30,
            memory_bytes: 2 << 30,
            streams: 64,
            sessions: 4,
        }
    }
}

impl Limits {
    /// Refuses settings beyond the limits, or settings that no end of this tool would send.
    ///
    /// # Errors
    /// [`Error::Question`](crate::error::Error::Question) that states the request, the limit and
    /// the remedy.
    pub fn check(&self, settings: &RunSettings) -> Result<()> {
        settings.check()?;
        let reply_bytes = settings.reply_bytes.unwrap_or(0);
        let largest_bytes = settings.payload_bytes.max(reply_bytes);
        let (rate, rate_bps) = match settings.rate_fps {
            Some(rate_fps) => ("a rate", rate_fps * f64::from(largest_bytes) * 8.0),
            None => ("an unlimited rate, meaning one", UNLIMITED_BPS),
        };
        let traffic_s = traffic_s(settings).unwrap_or(0.0);
        require(settings.high_water_mark != Some(0), || {
            "a high-water mark of 0 lets ZeroMQ take all memory: give 1 or more".into()
        })?;
        within("a payload", largest_bytes, self.payload_bytes, "B", "less")?;
        within(
            "a number",
            settings.streams,
            self.streams,
            "streams",
            "fewer",
        )?;
        within(rate, rate_bps, self.rate_bps, "b/s", "a lower load")?;
        within("a run", traffic_s, self.duration_s, "s", "less")?;
        within(
            "memory for frames and buffers",
            memory_bytes(settings),
            self.memory_bytes.into(),
            "B",
            "less payload, fewer streams, smaller batches or a lower high-water mark,",
        )
    }

    /// Longest time that a run with these settings may take at this end, whatever the caller sends.
    /// It is the requested time, as far as allowed, and a minute for the steps in between.
    pub fn longest_run(&self, settings: &RunSettings) -> Duration {
        let traffic_s =
            traffic_s(settings).map_or(self.duration_s, |asked_s| asked_s.min(self.duration_s));
        bounded(traffic_s + settings.baseline_s.min(BASELINE_MAX_S) + MARGIN_S)
    }

    /// Longest time that any session may take, whatever its requests.
    pub fn longest_session(&self) -> Duration {
        bounded(self.duration_s + BASELINE_MAX_S + 2.0 * MARGIN_S)
    }

    /// Greatest number of frames of a run, over all streams, whose times may be stored
    /// individually. As numbers and as text, they use at most half of the memory, and fit into one
    /// report. Times of further frames are dropped, and the run is flagged.
    pub fn kept_frames(&self) -> usize {
        let memory = self.memory_bytes / 2 / (8 + RAW_TEXT_BYTES);
        let report = super::framing::RAW_REPORT_MAX_BYTES as u64 / RAW_TEXT_BYTES;
        usize::try_from(memory.min(report)).unwrap_or(usize::MAX)
    }
}

/// Refuses a value above the responder's limit; `less` names a smaller request in the message.
fn within<T: PartialOrd + Display>(
    what: &str,
    asked: T,
    most: T,
    unit: &str,
    less: &str,
) -> Result<()> {
    require(asked <= most, || {
        format!(
            "{what} of {asked} {unit} is above the responder's limit of {most} {unit}: \
             ask for {less} or raise it there"
        )
    })
}

/// Converts seconds to a time of at most [`LONGEST`]; an invalid number becomes [`LONGEST`].
fn bounded(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).map_or(LONGEST, |time| time.min(LONGEST))
}

/// Time that the traffic takes, in seconds; `None` if it is not known in advance (a number of
/// frames at an unlimited rate).
fn traffic_s(settings: &RunSettings) -> Option<f64> {
    let window_s = match (settings.frames, settings.rate_fps) {
        (None, _) => settings.duration_s,
        (Some(frames), Some(rate_fps)) => frames as f64 / rate_fps,
        (Some(_), None) => return None,
    };
    Some(settings.warmup_s + window_s + settings.tail_s.unwrap_or(0.0))
}

/// Memory that one end may need at most for the frames and buffers of these settings, in bytes.
///
/// A sending stream holds a batch of frames. A receiving stream holds at most two frames, one that
/// arrives and one that is read; small frames share its read buffer, which does not count. Patterns
/// with replies do both. The system allocates twice the requested socket buffers (socket(7)), and
/// ZeroMQ holds messages up to its high-water mark.
fn memory_bytes(settings: &RunSettings) -> u128 {
    let payload = u128::from(settings.payload_bytes);
    let reply = u128::from(answer_bytes(settings));
    let sending = |frame: u128| frame * u128::from(settings.batch_frames);
    let receiving = |frame: u128| match frame > READ_BYTES / 2 {
        true => 2 * frame,
        false => 0,
    };
    let frames = match settings.pattern {
        Pattern::Stream => sending(payload).max(receiving(payload)),
        _ => (sending(payload) + receiving(reply)).max(sending(reply) + receiving(payload)),
    };
    let buffers = 2 * u128::from(settings.send_buffer_bytes.unwrap_or(0))
        + 2 * u128::from(settings.receive_buffer_bytes.unwrap_or(0));
    let queue = match settings.protocol {
        Protocol::Zeromq => {
            let mark = settings.high_water_mark.unwrap_or(ZEROMQ_HIGH_WATER_MARK);
            let batches = 2 * u128::from(settings.batch_bytes.unwrap_or(0));
            u128::from(mark) * payload.max(reply) + batches
        }
        _ => 0,
    };
    u128::from(settings.streams) * (frames + buffers + queue)
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;
    use proptest::prelude::*;

    fn udp(rate_fps: Option<f64>) -> RunSettings {
        let mut settings = RunSettings::new(Protocol::Udp, 1000);
        settings.rate_fps = rate_fps;
        settings
    }

    #[test]
    fn the_documented_defaults_let_ordinary_questions_through_alone() {
        let limits = Limits::default();
        let mut zeromq = RunSettings::new(Protocol::Zeromq, 65_535);
        let mut largest = RunSettings::new(Protocol::Tcp, 1 << 30);
        for settings in [&udp(None), &zeromq, &largest] {
            assert_eq!(limits.check(settings), Ok(()));
        }
        largest.streams = 2;
        says(limits.check(&largest), "less payload");
        let too_long = RunSettings::new(Protocol::Udp, 65_508);
        says(limits.check(&too_long), "65507");
        zeromq.payload_bytes = 16 << 20;
        says(limits.check(&zeromq), "high-water mark");
        zeromq.high_water_mark = Some(10);
        assert_eq!(limits.check(&zeromq), Ok(()));
        zeromq.high_water_mark = Some(0);
        says(limits.check(&zeromq), "give 1 or more");
    }

    #[test]
    fn a_reply_counts_with_its_own_size() {
        let mut settings = RunSettings::new(Protocol::Tcp, 1 << 30);
        settings.pattern = Pattern::Call;
        // The caller holds the request, the responder two of them; the reply has 32 B.
        assert_eq!(memory_bytes(&settings), (2 << 30) + 32);
        settings.pattern = Pattern::PingPong;
        assert_eq!(memory_bytes(&settings), 3 << 30);
        settings.reply_bytes = Some(1 << 20);
        assert_eq!(memory_bytes(&settings), (2 << 30) + (1 << 20));
    }

    #[test]
    fn each_limit_is_met_exactly_and_passed_by_nothing() {
        let limits = Limits {
            rate_bps: 8e6,
            duration_s: 10.0,
            payload_bytes: 1000,
            memory_bytes: 1 << 20,
            streams: 2,
            sessions: 1,
        };
        let most = RunSettings {
            warmup_s: 1.0,
            duration_s: 9.0,
            streams: 2,
            ..udp(Some(1000.0))
        };
        let same: fn(&mut RunSettings) = |_| ();
        for (change, what) in [
            (same, ""),
            (|s| s.frames = Some(9000), ""),
            (|s| s.frames = Some(9001), "limit of 10 s"),
            (|s| s.duration_s = 9.1, "limit of 10 s"),
            (|s| s.rate_fps = Some(1000.1), "8000000 b/s"),
            (|s| s.rate_fps = None, "unlimited rate"),
            (|s| s.payload_bytes = 1001, "limit of 1000 B"),
            (|s| s.reply_bytes = Some(1001), "limit of 1000 B"),
            (|s| s.streams = 3, "limit of 2"),
            (|s| s.receive_buffer_bytes = Some(300_000), "1048576 B"),
            (|s| s.batch_frames = 600, "1048576 B"),
        ] {
            let mut settings = most.clone();
            change(&mut settings);
            match what {
                "" => assert_eq!(limits.check(&settings), Ok(())),
                _ => says(limits.check(&settings), what),
            }
        }
    }

    #[test]
    fn every_run_ends() {
        let longest = |duration_s, frames, rate_fps| {
            let mut settings = udp(rate_fps);
            settings.frames = frames;
            Limits {
                duration_s,
                ..Limits::default()
            }
            .longest_run(&settings)
        };
        let seconds = Duration::from_secs_f64;
        let paced = Some(100.0);
        assert_eq!(longest(3600.0, None, paced), seconds(0.2 + 2.0 + 60.5));
        assert_eq!(
            longest(3600.0, Some(1000), paced),
            seconds(0.2 + 10.0 + 60.5)
        );
        assert_eq!(longest(3600.0, Some(1000), None), seconds(3600.0 + 60.5));
        assert_eq!(longest(f64::INFINITY, Some(1000), None), LONGEST);
    }

    proptest! {
        #[test]
        fn what_passes_is_within_the_limits(
            payload_bytes in 0u32..=u32::MAX,
            streams in 0u16..=2000,
            rate_fps in proptest::option::of(-1.0f64..1e10),
            seconds in proptest::array::uniform2(-1.0f64..1e4),
            frames in proptest::option::of(any::<u64>()),
            batch_frames in any::<u32>(),
            buffers in proptest::option::of(any::<u32>()),
            protocol in prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp), Just(Protocol::Zeromq)],
        ) {
            let mut settings = RunSettings::new(protocol, payload_bytes);
            settings.streams = streams;
            settings.rate_fps = rate_fps;
            [settings.warmup_s, settings.duration_s] = seconds;
            settings.frames = frames;
            settings.batch_frames = batch_frames;
            settings.send_buffer_bytes = buffers;
            let limits = Limits::default();
            let longest = limits.longest_run(&settings);
            prop_assert!(longest <= limits.longest_session());
            prop_assert!(longest <= Duration::from_secs_f64(3600.0 + 120.0));
            if limits.check(&settings).is_ok() {
                prop_assert!(settings.streams <= 64 && settings.payload_bytes <= 1 << 30);
                prop_assert!(settings.load_bps().is_none_or(|load| load <= 400e9));
                prop_assert!(memory_bytes(&settings) <= 2 << 30);
                prop_assert!(frames.is_some() || seconds[0] + seconds[1] <= 3600.0);
            }
        }
    }
}
