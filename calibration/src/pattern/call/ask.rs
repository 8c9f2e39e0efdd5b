//! Request loop of ping-pong and synchronous calls.

use super::super::pacing::{Schedule, Waited};
use super::super::{Counts, Shared, Timeline, filled, is_stamped, wait_for_start};
use super::body::Vector;
use super::{READ_TIMEOUT, patience_ns};
use crate::clock;
use crate::frame::{Header, Phase};
use crate::host::cpu::ThreadUsage;
use crate::settings::{Body, RunSettings};
use crate::statistics::LatencyRecorder;
use crate::transport::{FrameReceiver, FrameSender, answer_bytes};
use std::io;
use std::time::Duration;

/// Counters and times of one stream's request loop.
#[derive(Debug, Default)]
pub struct StreamAsked {
    /// Requests sent.
    pub counts: Counts,
    /// Answered requests of the window.
    pub answered: u64,
    /// Start of the first request of the window, own clock, in ns.
    pub first_ns: u64,
    /// Time at which the last call of a batch had been handed over; 0 for other patterns.
    pub queued_ns: u64,
    /// Whether the number of replies is known: a batch may end without confirmation.
    pub confirmed: bool,
    /// End of the read of the window's last reply.
    pub last_ns: u64,
    /// Round trips of the window.
    pub round_trip: LatencyRecorder,
    /// Individual round trips in the order of the replies, if requested, in ns.
    pub raw_ns: Option<Vec<i64>>,
    /// Waiting for the schedule inside the window.
    pub waited: Waited,
    /// CPU usage of the thread inside the window.
    pub usage: ThreadUsage,
}

/// Task that sends the requests of one stream.
#[derive(Debug, Clone, Copy)]
pub struct AskTask<'a> {
    /// Settings of the run.
    pub settings: &'a RunSettings,
    /// Number of the stream.
    pub stream: u16,
    /// Name of the run.
    pub tag: u32,
    /// Start of the run, own clock.
    pub start_ns: u64,
    /// Maximum number of round trips stored individually.
    pub kept_frames: usize,
    /// The end it belongs to.
    pub shared: &'a Shared,
}

impl AskTask<'_> {
    /// Sends requests one at a time, each after the previous is answered or timed out.
    pub fn one_by_one<C: FrameSender + FrameReceiver>(
        &self,
        connection: &mut C,
    ) -> io::Result<StreamAsked> {
        let mut asking = Asking::of(self);
        wait_for_start(self.start_ns);
        let schedule = self.schedule();
        let mut now = clock::now_ns();
        loop {
            if let Some(schedule) = schedule {
                let due = schedule.due_ns(asking.header.seq).min(asking.end_ns());
                now = asking
                    .asked
                    .waited
                    .until(due, now, || self.shared.stopped());
            }
            let Some(phase) = asking.next(now) else { break };
            asking.drain(connection)?;
            if asking.hand_over(connection, now)? {
                now = asking.await_answer(connection, phase)?;
            } else {
                now = clock::now_ns();
            }
        }
        Ok(asking.finish())
    }

    fn schedule(&self) -> Option<Schedule> {
        let settings = self.settings;
        let of = |rate| Schedule::of(self.start_ns, rate, settings.streams, self.stream);
        settings.rate_fps.map(of)
    }
}

/// State of a request loop, also used by batches.
pub(super) struct Asking<'a> {
    pub(super) task: &'a AskTask<'a>,
    pub(super) asked: StreamAsked,
    pub(super) header: Header,
    timeline: Timeline,
    frame: Vec<u8>,
    vector: Option<Vector>,
    before: ThreadUsage,
    in_window: bool,
    /// Whether request and reply have room for a sequence number.
    numbered: bool,
}

impl<'a> Asking<'a> {
    pub(super) fn of(task: &'a AskTask<'a>) -> Self {
        let settings = task.settings;
        let asked = StreamAsked {
            confirmed: true,
            raw_ns: settings.raw.then(Vec::new),
            ..StreamAsked::default()
        };
        Self {
            task,
            asked,
            header: Header {
                tag: task.tag,
                stream: task.stream,
                phase: Phase::WarmUp,
                seq: 0,
                intended_ns: 0,
                sent_ns: 0,
            },
            timeline: Timeline::of(settings, task.stream, task.start_ns),
            frame: filled(settings.payload_bytes, task.stream),
            vector: (settings.body == Body::Vector).then(|| Vector::of(settings.payload_bytes)),
            before: ThreadUsage::default(),
            in_window: false,
            numbered: is_stamped(settings.payload_bytes.min(answer_bytes(settings))),
        }
    }

    /// Phase of a request sent at `now`; `None` after the window.
    pub(super) fn next(&mut self, now: u64) -> Option<Phase> {
        if self.task.shared.stopped() {
            return None;
        }
        let phase = self.timeline.phase(now, self.asked.counts.window)?;
        match phase {
            Phase::Tail => return None,
            Phase::Window if !self.in_window => self.enter_window(now),
            _ => {}
        }
        self.header.phase = phase;
        Some(phase)
    }

    fn enter_window(&mut self, now: u64) {
        self.in_window = true;
        self.asked.first_ns = now;
        self.asked.waited = Waited::default();
        self.before = ThreadUsage::here();
        self.task.shared.enter_window();
    }

    /// Encodes and sends a request at `now`; `false` if the system refused it.
    pub(super) fn hand_over<S: FrameSender>(
        &mut self,
        sender: &mut S,
        now: u64,
    ) -> io::Result<bool> {
        if let Some(vector) = &self.vector {
            vector.encode(&mut self.frame);
        }
        self.header.intended_ns = now;
        self.header.sent_ns = now;
        self.header.write(&mut self.frame);
        self.header.seq += 1;
        self.asked.counts.window += u64::from(self.header.phase == Phase::Window);
        let sent = sender.send(&self.frame)?;
        self.asked.counts.run += u64::from(sent);
        Ok(sent)
    }

    /// Time from which no more requests are sent.
    fn end_ns(&self) -> u64 {
        self.timeline.over_ns().unwrap_or(u64::MAX)
    }

    /// Discards late replies. A reply without a number cannot be told from one that timed out, so the socket
    /// must be empty before the next request.
    fn drain<R: FrameReceiver>(&self, receiver: &mut R) -> io::Result<()> {
        if self.numbered || !self.task.settings.may_lose() {
            return Ok(());
        }
        while receiver.receive(Duration::ZERO, |_, _| {})? > 0 {}
        Ok(())
    }

    /// Waits for the reply to the last request and returns its time.
    fn await_answer<R: FrameReceiver>(
        &mut self,
        receiver: &mut R,
        phase: Phase,
    ) -> io::Result<u64> {
        let asked_ns = self.header.sent_ns;
        let give_up_ns = asked_ns + patience_ns(self.task.settings);
        loop {
            let mut answered_ns = None;
            receiver.receive(READ_TIMEOUT, |now, frame: &[u8]| {
                if self.is_answer(frame) {
                    answered_ns = Some(now);
                }
            })?;
            if let Some(now) = answered_ns {
                if phase == Phase::Window {
                    self.note(now, asked_ns);
                }
                return Ok(now);
            }
            let now = clock::now_ns();
            if now > give_up_ns || self.task.shared.stopped() {
                return Ok(now);
            }
        }
    }

    /// Whether a frame is the reply to the last request. If request or reply is too short for a
    /// number, any frame is.
    fn is_answer(&self, frame: &[u8]) -> bool {
        let (tag, seq) = (self.header.tag, self.header.seq - 1);
        !self.numbered || Header::read(frame).is_some_and(|h| h.tag == tag && h.seq == seq)
    }

    pub(super) fn note(&mut self, now: u64, asked_ns: u64) {
        let round_trip = now.wrapping_sub(asked_ns) as i64;
        self.asked.answered += 1;
        self.asked.last_ns = now;
        self.asked.round_trip.record(round_trip, 1);
        let kept_frames = self.task.kept_frames;
        if let Some(raw) = self
            .asked
            .raw_ns
            .as_mut()
            .filter(|raw| raw.len() < kept_frames)
        {
            raw.push(round_trip);
        }
    }

    /// Whether a question at `now` belongs to the warm-up.
    pub(super) fn is_warming(&self, now: u64) -> bool {
        self.timeline.phase(now, 0) == Some(Phase::WarmUp)
    }

    /// Starts the window now instead of at its scheduled time, since the warm-up's calls are
    /// answered.
    pub(super) fn open_window(&mut self) {
        let (settings, stream) = (self.task.settings, self.task.stream);
        self.timeline = Timeline::window_from(settings, stream, clock::now_ns());
    }

    pub(super) fn finish(mut self) -> StreamAsked {
        if self.in_window {
            self.asked.usage = self.asked.usage + (ThreadUsage::here() - self.before);
            self.task.shared.leave_window();
        }
        self.asked
    }
}

#[cfg(test)]
mod tests;
