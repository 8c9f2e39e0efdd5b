//! The asking loop: ping-pong and synchronous calls.

use super::super::pacing::{STALL_NS, Schedule, Waited};
use super::super::{Counts, Pauses, Shared, Timeline, filled, wait_for_start};
use super::body::Vector;
use super::{READ_TIMEOUT, patience_ns};
use crate::clock;
use crate::frame::{HEADER_BYTES, Header, Phase};
use crate::host::cpu::ThreadUsage;
use crate::settings::{Body, RunSettings};
use crate::statistics::LatencyRecorder;
use crate::transport::{FrameReceiver, FrameSender};
use std::io;

/// What one stream's asker counted and timed.
#[derive(Debug, Default)]
pub struct StreamAsked {
    /// Questions sent.
    pub counts: Counts,
    /// Questions of the window that were answered.
    pub answered: u64,
    /// Start of the window's first question, own clock, in ns.
    pub first_ns: u64,
    /// When the window's last question had been handed over.
    pub queued_ns: u64,
    /// When the window's last answer had been read.
    pub last_ns: u64,
    /// Round trips of the window.
    pub round_trip: LatencyRecorder,
    /// Each of them in the order of the answers, where asked for, in ns.
    pub raw_ns: Option<Vec<i64>>,
    /// Waiting for the schedule inside the window.
    pub waited: Waited,
    /// Pauses of the loop itself.
    pub pauses: Pauses,
    /// What the thread used inside the window.
    pub usage: ThreadUsage,
}

/// One stream of questions.
#[derive(Debug, Clone, Copy)]
pub struct AskTask<'a> {
    /// What was asked for.
    pub settings: &'a RunSettings,
    /// Number of the stream.
    pub stream: u16,
    /// Name of the run.
    pub tag: u32,
    /// When the run starts, own clock.
    pub start_ns: u64,
    /// The end it belongs to.
    pub shared: &'a Shared,
}

impl AskTask<'_> {
    /// Asks one question after the other, each when the last is answered or given up.
    pub fn one_by_one<C: FrameSender + FrameReceiver>(
        &self,
        connection: &mut C,
    ) -> io::Result<StreamAsked> {
        wait_for_start(self.start_ns);
        let mut asking = Asking::of(self);
        let schedule = self.schedule();
        let mut now = clock::now_ns();
        loop {
            if let Some(schedule) = schedule {
                now = asking
                    .asked
                    .waited
                    .until(schedule.due_ns(asking.header.seq), now);
            }
            let Some(phase) = asking.next(now) else { break };
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

/// The state of an asking loop; batches use it too.
pub(super) struct Asking<'a> {
    pub(super) task: &'a AskTask<'a>,
    pub(super) asked: StreamAsked,
    pub(super) header: Header,
    timeline: Timeline,
    frame: Vec<u8>,
    vector: Option<Vector>,
    before: ThreadUsage,
    in_window: bool,
}

impl<'a> Asking<'a> {
    pub(super) fn of(task: &'a AskTask<'a>) -> Self {
        let settings = task.settings;
        let asked = StreamAsked {
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
        }
    }

    /// The phase of the question to be asked at `now`; `None` when the window is over.
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

    /// Encodes and sends the question of `now`; `false` where the system refused it.
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

    /// Waits for the answer to the last question and returns the time.
    fn await_answer<R: FrameReceiver>(
        &mut self,
        receiver: &mut R,
        phase: Phase,
    ) -> io::Result<u64> {
        let (asked_ns, tag, seq) = (self.header.sent_ns, self.header.tag, self.header.seq - 1);
        let patience = patience_ns(self.task.settings.protocol);
        loop {
            let mut answered_ns = None;
            receiver.receive(READ_TIMEOUT, &mut |now, frame: &[u8]| {
                if is_answer(frame, tag, seq) {
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
            if now > asked_ns + patience || self.task.shared.stopped() {
                return Ok(now);
            }
        }
    }

    pub(super) fn note(&mut self, now: u64, asked_ns: u64) {
        let round_trip = now.wrapping_sub(asked_ns) as i64;
        self.asked.answered += 1;
        self.asked.last_ns = now;
        self.asked.round_trip.record(round_trip);
        if let Some(raw) = &mut self.asked.raw_ns {
            raw.push(round_trip);
        }
    }

    pub(super) fn finish(mut self) -> StreamAsked {
        if self.in_window {
            self.asked.usage = ThreadUsage::here() - self.before;
            self.asked.queued_ns = self.asked.queued_ns.max(self.header.sent_ns);
            self.asked.pauses = self.asked.pauses.and(waiting_pauses(&self.asked.waited));
            self.task.shared.leave_window();
        }
        self.asked
    }
}

fn waiting_pauses(waited: &Waited) -> Pauses {
    let stalled = waited.longest_pause_ns > STALL_NS;
    Pauses {
        count: waited.stalls,
        longest_ns: if stalled { waited.longest_pause_ns } else { 0 },
    }
}

/// A frame too short for a header answers whatever was asked last.
fn is_answer(frame: &[u8], tag: u32, seq: u64) -> bool {
    if frame.len() < HEADER_BYTES {
        return true;
    }
    Header::read(frame).is_some_and(|header| header.tag == tag && header.seq == seq)
}
