//! Traffic patterns: the measuring loops, one file per role, over any transport.
//!
//! Each loop has its own thread, core and stream. It shares only [`Shared`] with its end's control thread.

pub mod call;
mod edges;
pub mod pacing;
pub mod receive;
pub mod send;
pub mod sequence;
mod shared;
#[cfg(test)]
pub(crate) mod wire;

pub use edges::{Edges, Span};
pub use shared::{Counts, Edge, Shared};

use crate::clock;
use crate::frame::{HEADER_BYTES, Phase};
use crate::settings::RunSettings;

/// Default cool-down after the window, in seconds; at most a tenth of the window.
const TAIL_S: f64 = 0.02;

/// Timeline of a stream: start and end of warm-up, window and cool-down.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    window_start_ns: u64,
    end: End,
}

#[derive(Debug, Clone, Copy)]
enum End {
    At { window_ns: u64, tail_ns: u64 },
    After(u64),
}

impl Timeline {
    /// The timeline of one stream of a run that starts at `start_ns`, own clock.
    pub fn of(settings: &RunSettings, stream: u16, start_ns: u64) -> Self {
        let window_start_ns = start_ns + nanoseconds(settings.warmup_s);
        let window_ns = window_start_ns + nanoseconds(settings.duration_s);
        let tail_s = settings.tail_s.unwrap_or(0.0);
        let tail_ns = window_ns + nanoseconds(tail_s.max(TAIL_S.min(settings.duration_s / 10.0)));
        let end = match settings.frames {
            Some(frames) => End::After(share(frames, settings.streams, stream)),
            None => End::At { window_ns, tail_ns },
        };
        Self {
            window_start_ns,
            end,
        }
    }

    /// Like [`Timeline::of`], for calls in batches. Their warm-up ends when its calls are answered,
    /// so the window starts at `now`.
    pub fn window_from(settings: &RunSettings, stream: u16, now: u64) -> Self {
        let settings = RunSettings {
            warmup_s: 0.0,
            ..settings.clone()
        };
        Self::of(&settings, stream, now)
    }

    /// Time from which nothing more is sent; `None` if the window is given in frames.
    pub fn over_ns(&self) -> Option<u64> {
        match self.end {
            End::At { tail_ns, .. } => Some(tail_ns),
            End::After(_) => None,
        }
    }

    /// The phase of a frame sent at `now` after `window_frames` frames of the window; `None` when the stream is over.
    #[inline]
    pub fn phase(&self, now: u64, window_frames: u64) -> Option<Phase> {
        if now < self.window_start_ns {
            return Some(Phase::WarmUp);
        }
        match self.end {
            End::After(frames) => (window_frames < frames).then_some(Phase::Window),
            End::At { window_ns, .. } if now < window_ns => Some(Phase::Window),
            End::At { tail_ns, .. } => (now < tail_ns).then_some(Phase::Tail),
        }
    }
}

/// Share of one of `streams` streams in `total`; the first streams take the remainder.
pub fn share(total: u64, streams: u16, stream: u16) -> u64 {
    let streams = u64::from(streams);
    total / streams + u64::from(u64::from(stream) < total % streams)
}

/// Seconds as nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Stalls: unexpected pauses, not caused by the requested rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Number of stalls.
    pub count: u64,
    /// Longest stall, in ns.
    pub longest_ns: u64,
}

impl Pauses {
    /// One stall of the given length.
    pub fn one(longest_ns: u64) -> Self {
        Self {
            count: 1,
            longest_ns,
        }
    }

    /// Combines two sets of stalls.
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            longest_ns: self.longest_ns.max(other.longest_ns),
        }
    }
}

/// A payload that no layer can compress or skip: counts upwards from a start that differs by stream.
pub fn filled(payload_bytes: u32, stream: u16) -> Vec<u8> {
    (0..payload_bytes)
        .map(|i| (i as u8).wrapping_add(stream as u8))
        .collect()
}

/// Waits for the start of a run, coarsely.
pub fn wait_for_start(start_ns: u64) {
    if clock::now_ns() < start_ns {
        clock::sleep_until(start_ns);
    }
}

/// Whether a frame of `payload_bytes` has room for a header.
pub fn is_stamped(payload_bytes: u32) -> bool {
    payload_bytes as usize >= HEADER_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Protocol;

    #[test]
    fn a_run_has_a_warm_up_a_window_and_a_tail() {
        let settings = RunSettings {
            duration_s: 1.0,
            warmup_s: 0.5,
            ..RunSettings::new(Protocol::Udp, 64)
        };
        let timeline = Timeline::of(&settings, 0, 1_000);
        let at = |seconds: f64| timeline.phase(1_000 + nanoseconds(seconds), 99);
        assert_eq!(at(0.0), Some(Phase::WarmUp));
        assert_eq!(at(0.499_999), Some(Phase::WarmUp));
        assert_eq!(at(0.5), Some(Phase::Window));
        assert_eq!(at(1.499_999), Some(Phase::Window));
        assert_eq!(at(1.5), Some(Phase::Tail));
        assert_eq!(at(1.52), None);
    }

    #[test]
    fn a_tail_that_is_asked_for_is_kept_up() {
        let settings = RunSettings {
            duration_s: 1.0,
            warmup_s: 0.5,
            tail_s: Some(0.75),
            ..RunSettings::new(Protocol::Udp, 64)
        };
        let timeline = Timeline::of(&settings, 0, 1_000);
        let at = |seconds: f64| timeline.phase(1_000 + nanoseconds(seconds), 99);
        assert_eq!(at(1.499_999), Some(Phase::Window));
        assert_eq!(at(2.249_999), Some(Phase::Tail));
        assert_eq!(at(2.25), None);
    }

    #[test]
    fn counted_frames_are_shared_out_and_have_no_tail() {
        let settings = RunSettings {
            frames: Some(10),
            warmup_s: 0.0,
            streams: 4,
            ..RunSettings::new(Protocol::Udp, 64)
        };
        let frames: Vec<u64> = (0..4).map(|s| share(10, 4, s)).collect();
        assert_eq!(frames, [3, 3, 2, 2]);
        let timeline = Timeline::of(&settings, 3, 0);
        assert_eq!(timeline.phase(u64::MAX, 1), Some(Phase::Window));
        assert_eq!(timeline.phase(u64::MAX, 2), None);
    }
}
