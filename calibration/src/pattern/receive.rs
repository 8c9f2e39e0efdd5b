//! Receiving loop of a stream.

use super::pacing::STALL_NS;
use super::sequence::{Arrival, Sequence};
use super::{Edges, Pauses, Shared, is_stamped};
use crate::clock;
use crate::frame::{Header, Phase};
use crate::host::cpu::ThreadUsage;
use crate::settings::RunSettings;
use crate::statistics::{LatencyRecorder, SliceRecorder};
use crate::transport::FrameReceiver;
use std::io;
use std::iter::repeat_n;
use std::time::Duration;

/// Timeout of a read, after which the loop checks its stop flag.
const READ_TIMEOUT: Duration = Duration::from_millis(20);
/// Silence after the announced end after which missing frames count as lost.
const SILENCE_NS: u64 = 300_000_000;
/// Width of the first slices of the window, in ns; they double when they become too many.
const SLICE_NS: u64 = 1_000_000;
/// A gap between two reads is a stall if it exceeds a millisecond and this multiple of the mean
/// gap.
const PAUSE_FACTOR: u64 = 8;

/// Times of one frame of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    received_ns: u64,
    sent_ns: u64,
    intended_ns: u64,
}

/// Counters and times of one stream's receiver.
#[derive(Debug)]
pub struct StreamReceived {
    /// Distinct frames of the window.
    pub window_frames: u64,
    /// Distinct frames of the run.
    pub run_frames: u64,
    /// Duplicates inside the window.
    pub duplicates: u64,
    /// Reordered frames inside the window.
    pub reordered: u64,
    /// Frames of another run.
    pub foreign: u64,
    /// Arrival of the last frame before the window, own clock, in ns; 0 without one.
    pub before_ns: u64,
    /// Arrival of the window's first frame.
    pub first_ns: u64,
    /// Frames of the window that came with the first, in one read.
    pub first_frames: u64,
    /// Arrival of the last frame of the window; frames after the first frame of the tail do not
    /// count.
    pub last_ns: u64,
    /// Pauses inside the window.
    pub pauses: Pauses,
    /// One-way latencies if both ends share a clock; otherwise computed by [`Self::correct`].
    pub latency: LatencyRecorder,
    /// Latency and bytes by time.
    pub slices: SliceRecorder,
    /// Sum of receive time less intended time over the window, in ns.
    pub from_intended_ns: i128,
    /// Sum of the intended times, sender's clock, in ns.
    pub intended_ns: u128,
    /// Whether frames carried stamps.
    pub stamped: bool,
    /// Whether there were too many frames to keep their times.
    pub truncated: bool,
    /// Latencies in the order of arrival, if requested, in ns.
    pub raw_ns: Option<Vec<i64>>,
    /// Payload bytes of the window by the socket's own counter, if it has one.
    pub socket_window_bytes: Option<u64>,
    /// Frames dropped by the socket because its buffer was full.
    pub overflow: Option<u64>,
    /// CPU usage of the thread inside the window.
    pub usage: ThreadUsage,
    deferred: Vec<Times>,
    kept_frames: usize,
}

impl StreamReceived {
    /// The window in time; see [`Edges`].
    pub fn edges(&self) -> Edges {
        Edges {
            before_ns: self.before_ns,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            frames: self.window_frames,
            first_frames: self.first_frames,
        }
    }

    /// Computes latencies from the stored timestamps. `own_ns(sent)` converts `sent` from the
    /// sender's clock to the own clock.
    pub fn correct(&mut self, payload_bytes: u32, own_ns: impl Fn(u64) -> i128) {
        for times in std::mem::take(&mut self.deferred) {
            let latency = i128::from(times.received_ns) - own_ns(times.sent_ns);
            let latency = latency.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
            self.keep(times.received_ns, latency as i64, payload_bytes, 1);
        }
    }

    /// Mean time of the sender's clock at which the window's frames were due; `None` without any.
    pub fn intended_mean_ns(&self) -> Option<u64> {
        let frames = u128::from(self.window_frames);
        let mean = self.intended_ns.checked_div(frames)?;
        u64::try_from(mean).ok()
    }

    /// Records the latency that `frames` frames of `payload_bytes` share.
    fn keep(&mut self, received_ns: u64, latency_ns: i64, payload_bytes: u32, frames: u64) {
        self.latency.record(latency_ns, frames);
        self.slices
            .record(received_ns, Some(latency_ns), payload_bytes, frames);
        if let Some(raw) = &mut self.raw_ns {
            let room = self.kept_frames.saturating_sub(raw.len());
            self.truncated |= frames > room as u64;
            raw.extend(repeat_n(latency_ns, room.min(frames as usize)));
        }
    }
}

fn difference(later_ns: u64, earlier_ns: u64) -> i64 {
    later_ns.wrapping_sub(earlier_ns) as i64
}

/// One stream to receive.
#[derive(Debug, Clone, Copy)]
pub struct ReceiveTask<'a> {
    /// Settings of the run.
    pub settings: &'a RunSettings,
    /// Number of the stream.
    pub stream: u16,
    /// Name of the run.
    pub tag: u32,
    /// Both ends read the same clock.
    pub same_clock: bool,
    /// Maximum number of frames whose timestamps are stored individually.
    pub kept_frames: usize,
    /// Deadline for receiving, own clock, in ns.
    pub deadline_ns: u64,
    /// The end it belongs to.
    pub shared: &'a Shared,
}

impl ReceiveTask<'_> {
    /// Receives until all announced frames have arrived, or until silence shows that they are lost.
    pub fn run<R: FrameReceiver>(&self, receiver: &mut R) -> io::Result<StreamReceived> {
        let mut receiving = Receiving::of(self);
        while !receiving.over() {
            let take = |now, frame: &[u8]| receiving.take(now, frame);
            match receiver.receive(READ_TIMEOUT, take) {
                Ok(frames) => receiving.after_read(receiver, frames),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        Ok(receiving.finish(receiver))
    }
}

struct Receiving<'a> {
    task: &'a ReceiveTask<'a>,
    received: StreamReceived,
    sequence: Sequence,
    phase: Phase,
    /// Time of the stream's last frame, and the time until which the loop has read.
    heard_ns: u64,
    now_ns: u64,
    /// Time at which the last read without a frame ended.
    empty_ns: u64,
    /// Number of reads that returned frames of the window.
    reads: u64,
    /// Times of the window's last frame.
    last: Times,
    /// Frames with these times that are not recorded yet. The frames of a batch share their times, and
    /// are recorded together.
    alike: u64,
    before: ThreadUsage,
    socket: SocketWindow,
}

/// Pairs of the socket's counter and the loop's own counter, in bytes, at the edges of the window.
#[derive(Debug, Default)]
struct SocketWindow {
    opened: Option<(u64, u64)>,
    closed: Option<(u64, u64)>,
}

impl<'a> Receiving<'a> {
    fn of(task: &'a ReceiveTask<'a>) -> Self {
        let stamped = is_stamped(task.settings.payload_bytes);
        let received = StreamReceived {
            window_frames: 0,
            run_frames: 0,
            duplicates: 0,
            reordered: 0,
            foreign: 0,
            before_ns: 0,
            first_ns: 0,
            first_frames: 0,
            last_ns: 0,
            pauses: Pauses::default(),
            latency: LatencyRecorder::new(),
            slices: SliceRecorder::new(SLICE_NS),
            from_intended_ns: 0,
            intended_ns: 0,
            stamped,
            truncated: false,
            raw_ns: (task.settings.raw && stamped).then(Vec::new),
            socket_window_bytes: None,
            overflow: None,
            usage: ThreadUsage::default(),
            deferred: Vec::new(),
            kept_frames: task.kept_frames,
        };
        Self {
            task,
            received,
            sequence: Sequence::default(),
            phase: Phase::WarmUp,
            heard_ns: clock::now_ns(),
            now_ns: 0,
            empty_ns: 0,
            reads: 0,
            last: Times::default(),
            alike: 0,
            before: ThreadUsage::default(),
            socket: SocketWindow::default(),
        }
    }

    /// Processes one frame, received at `now`.
    #[inline]
    fn take(&mut self, now: u64, frame: &[u8]) {
        self.now_ns = now;
        if !self.received.stamped {
            return self.take_short(now, frame);
        }
        let Some(header) = Header::read(frame).filter(|h| self.is_mine(h, frame)) else {
            self.received.foreign += 1;
            return;
        };
        self.heard_ns = now;
        let arrival = self.sequence.arrive(header.seq);
        let in_window = header.phase == Phase::Window;
        if arrival == Arrival::Copy {
            self.received.duplicates += u64::from(in_window);
            return;
        }
        self.received.reordered += u64::from(in_window && arrival == Arrival::Late);
        self.count(now, header.phase);
        if in_window {
            self.time(now, &header);
        }
    }

    #[inline]
    fn is_mine(&self, header: &Header, frame: &[u8]) -> bool {
        header.tag == self.task.tag
            && header.stream == self.task.stream
            && frame.len() == self.task.settings.payload_bytes as usize
    }

    fn take_short(&mut self, now: u64, frame: &[u8]) {
        let phase = frame.first().and_then(|byte| Phase::of(*byte));
        let fits = frame.len() == self.task.settings.payload_bytes as usize;
        match phase.filter(|_| fits) {
            Some(phase) => {
                self.heard_ns = now;
                self.count(now, phase);
                if phase == Phase::Window {
                    let payload = self.task.settings.payload_bytes;
                    self.received.slices.record(now, None, payload, 1);
                }
            }
            None => self.received.foreign += 1,
        }
    }

    #[inline]
    fn count(&mut self, now: u64, phase: Phase) {
        self.received.run_frames += 1;
        if phase != self.phase {
            self.change(now, phase);
        }
        if phase == Phase::WarmUp && self.phase == Phase::WarmUp {
            self.received.before_ns = now;
        }
        if phase == Phase::Window {
            self.received.window_frames += 1;
            if self.phase == Phase::Window {
                self.place(now);
            }
        }
    }

    fn change(&mut self, now: u64, phase: Phase) {
        let later = phase as u8 > self.phase as u8;
        if !later {
            return; // a late frame of the window does not reopen it
        }
        if phase == Phase::Window {
            self.received.first_ns = now;
            self.received.last_ns = now;
            self.before = ThreadUsage::here();
            self.task.shared.enter_window();
        } else if self.phase == Phase::Window {
            self.leave_window();
        }
        self.phase = phase;
    }

    fn leave_window(&mut self) {
        self.received.usage = ThreadUsage::here() - self.before;
        self.task.shared.leave_window();
    }

    /// Updates the window's times with one of its frames, received at `now` before any frame of the
    /// tail.
    #[inline]
    fn place(&mut self, now: u64) {
        self.received.first_frames += u64::from(now == self.received.first_ns);
        if now != self.received.last_ns {
            self.pause(now - self.received.last_ns);
            self.reads += 1;
        }
        self.received.last_ns = now;
    }

    #[inline]
    fn pause(&mut self, gap_ns: u64) {
        if gap_ns <= STALL_NS || self.reads == 0 {
            return;
        }
        let mean_ns = (self.received.last_ns - self.received.first_ns) / self.reads;
        if gap_ns > PAUSE_FACTOR * mean_ns {
            self.received.pauses = self.received.pauses.and(Pauses::one(gap_ns));
        }
    }

    /// Notes the times of a frame of the window.
    #[inline]
    fn time(&mut self, now: u64, header: &Header) {
        let times = Times {
            received_ns: now,
            sent_ns: header.sent_ns,
            intended_ns: header.intended_ns,
        };
        if times != self.last {
            self.record_times();
            self.last = times;
        }
        self.alike += 1;
    }

    /// Records the noted frames, which all have the times of the last one.
    fn record_times(&mut self) {
        let (times, frames) = (self.last, std::mem::take(&mut self.alike));
        if frames == 0 {
            return;
        }
        let received = &mut self.received;
        received.from_intended_ns +=
            i128::from(frames) * i128::from(difference(times.received_ns, times.intended_ns));
        received.intended_ns += u128::from(frames) * u128::from(times.intended_ns);
        let payload = self.task.settings.payload_bytes;
        if self.task.same_clock {
            let latency_ns = difference(times.received_ns, times.sent_ns);
            received.keep(times.received_ns, latency_ns, payload, frames);
            return;
        }
        let room = self
            .task
            .kept_frames
            .saturating_sub(received.deferred.len());
        let kept = frames.min(room as u64);
        received.deferred.extend(repeat_n(times, kept as usize));
        if frames > kept {
            received.truncated = true;
            let dropped = frames - kept;
            received
                .slices
                .record(times.received_ns, None, payload, dropped);
        }
    }

    fn after_read<R: FrameReceiver>(&mut self, receiver: &R, frames: usize) {
        if frames == 0 {
            // The time before this read. A thread that stalls within a read finds at the next one
            // what arrived meanwhile.
            self.now_ns = self.empty_ns;
            self.empty_ns = clock::now_ns();
        }
        if self.phase != Phase::WarmUp && self.socket.opened.is_none() {
            self.socket.opened = self.socket_count(receiver);
        }
        if self.phase == Phase::Tail && self.socket.closed.is_none() {
            self.socket.closed = self.socket_count(receiver);
        }
    }

    /// Returns the byte counters of the socket and of the loop for the whole run so far.
    fn socket_count<R: FrameReceiver>(&self, receiver: &R) -> Option<(u64, u64)> {
        let own = self.received.run_frames * u64::from(self.task.settings.payload_bytes);
        receiver.delivered_bytes().map(|socket| (socket, own))
    }

    fn over(&self) -> bool {
        if self.task.shared.stopped() {
            return true;
        }
        match self.task.shared.announced(usize::from(self.task.stream)) {
            Some(frames) => {
                self.received.run_frames >= frames
                    || self.task.settings.may_lose() && self.now_ns > self.heard_ns + SILENCE_NS
            }
            None => self.now_ns > self.task.deadline_ns,
        }
    }

    fn finish<R: FrameReceiver>(mut self, receiver: &R) -> StreamReceived {
        if self.phase == Phase::Window {
            self.leave_window();
        }
        self.record_times();
        let closed = self.socket.closed.or_else(|| self.socket_count(receiver));
        if self.phase == Phase::WarmUp && closed.is_some() {
            self.received.socket_window_bytes = Some(0); // this stream had no frame in the window
        }
        if let (Some(opened), Some(closed)) = (self.socket.opened, closed) {
            // What the socket delivered between two moments, corrected by the frames that the loop
            // counted outside the window but between these moments.
            let between = closed.0.saturating_sub(opened.0);
            let counted = closed.1.saturating_sub(opened.1);
            let window = self.received.window_frames * u64::from(self.task.settings.payload_bytes);
            self.received.socket_window_bytes = Some((between + window).saturating_sub(counted));
        }
        self.received.overflow = receiver.overflow();
        self.received
    }
}

#[cfg(test)]
mod tests;
