//! Sending loop of a stream, paced or unlimited.

use super::pacing::{Schedule, Waited};
use super::{Counts, Edges, Shared, Timeline, filled, wait_for_start};
use crate::clock;
use crate::frame::{Header, Phase};
use crate::host::cpu::ThreadUsage;
use crate::settings::RunSettings;
use crate::statistics::LatencyRecorder;
use crate::transport::FrameSender;
use std::io;

/// Counters and times of one stream's sender.
#[derive(Debug, Default)]
pub struct StreamSent {
    /// Frames sent.
    pub counts: Counts,
    /// Start of the last send before the window, own clock, in ns; 0 without one.
    pub before_ns: u64,
    /// Start of the first send of the window.
    pub first_ns: u64,
    /// Frames of the window that have the time of its first send: those of its first batch.
    pub first_frames: u64,
    /// Start of the last send of the window.
    pub last_ns: u64,
    /// Sends of the window that the system refused.
    pub send_errors: u64,
    /// Waiting for the schedule inside the window.
    pub waited: Waited,
    /// Time inside send calls of the window, in ns; only for paced streams.
    pub sending_ns: u64,
    /// Lateness of paced sends: actual less scheduled time.
    pub send_error: LatencyRecorder,
    /// CPU usage of the thread inside the window.
    pub usage: ThreadUsage,
}

impl StreamSent {
    /// Times of the window's frames; see [`Edges`].
    pub fn edges(&self) -> Edges {
        Edges {
            before_ns: self.before_ns,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            frames: self.counts.window,
            first_frames: self.first_frames.min(self.counts.window),
        }
    }
}

/// One stream to send.
#[derive(Debug, Clone, Copy)]
pub struct SendTask<'a> {
    /// Settings of the run.
    pub settings: &'a RunSettings,
    /// Number of the stream.
    pub stream: u16,
    /// Name of the run.
    pub tag: u32,
    /// Start of the run, own clock.
    pub start_ns: u64,
    /// The end it belongs to.
    pub shared: &'a Shared,
}

impl SendTask<'_> {
    /// Sends the stream from its first frame to its last.
    pub fn run<S: FrameSender>(&self, sender: &mut S) -> io::Result<StreamSent> {
        let mut sending = Sending::of(self);
        wait_for_start(self.start_ns);
        match self.settings.rate_fps {
            Some(rate) => sending.paced(sender, rate)?,
            None => sending.unlimited(sender)?,
        }
        sender.flush()?;
        Ok(sending.finish(sender.refused()))
    }
}

struct Sending<'a> {
    task: &'a SendTask<'a>,
    timeline: Timeline,
    frame: Vec<u8>,
    header: Header,
    sent: StreamSent,
    /// Waiting since the last edge of the window.
    waited: Waited,
    /// Refused frames of batches up to the last edge.
    refused: u64,
    before: ThreadUsage,
}

impl<'a> Sending<'a> {
    fn of(task: &'a SendTask<'a>) -> Self {
        let (stream, start_ns) = (task.stream, task.start_ns);
        Self {
            task,
            timeline: Timeline::of(task.settings, stream, start_ns),
            frame: filled(task.settings.payload_bytes, stream),
            header: Header {
                tag: task.tag,
                stream,
                phase: Phase::WarmUp,
                seq: 0,
                intended_ns: 0,
                sent_ns: 0,
            },
            sent: StreamSent::default(),
            waited: Waited::default(),
            refused: 0,
            before: ThreadUsage::default(),
        }
    }

    /// Reads the clock once per system call: the end of one send is the start of the next. The frames
    /// of a batch share the time at which the batch was begun.
    fn unlimited<S: FrameSender>(&mut self, sender: &mut S) -> io::Result<()> {
        let mut now = clock::now_ns();
        while let Some(phase) = self.next(now, sender)? {
            self.send(sender, phase, now, now)?;
            if !sender.is_holding() {
                now = clock::now_ns();
            }
        }
        Ok(())
    }

    fn paced<S: FrameSender>(&mut self, sender: &mut S, rate_fps: f64) -> io::Result<()> {
        let task = self.task;
        let schedule = Schedule::of(task.start_ns, rate_fps, task.settings.streams, task.stream);
        let mut due = 0;
        let mut now = clock::now_ns();
        loop {
            let intended = schedule.due_ns(due);
            due += 1;
            let end = self.timeline.over_ns().unwrap_or(u64::MAX);
            now = self
                .waited
                .until(intended.min(end), now, || task.shared.stopped());
            let Some(phase) = self.next(now, sender)? else {
                return Ok(());
            };
            self.send(sender, phase, intended, now)?;
            let begun = now;
            now = clock::now_ns();
            if phase == Phase::Window {
                self.sent.sending_ns += now - begun;
                self.sent.send_error.record((begun - intended) as i64, 1);
            }
        }
    }

    /// Returns the phase of a frame sent at `now`, and marks the edges of the window. No batch
    /// holds frames of two phases, so refused frames are charged to their own phase.
    #[inline]
    fn next<S: FrameSender>(&mut self, now: u64, sender: &mut S) -> io::Result<Option<Phase>> {
        if self.task.shared.stopped() {
            return Ok(None);
        }
        let phase = self
            .timeline
            .phase(now, self.sent.counts.window + self.sent.send_errors);
        if phase != Some(self.header.phase) {
            sender.flush()?;
            self.change(phase, now, sender.refused());
        }
        Ok(phase)
    }

    fn change(&mut self, phase: Option<Phase>, now: u64, refused: u64) {
        self.settle(refused);
        if self.header.phase == Phase::Window {
            self.leave_window();
        }
        if phase == Some(Phase::Window) {
            self.sent.first_ns = now;
            self.waited = Waited::default();
            self.before = ThreadUsage::here();
            self.task.shared.enter_window();
        }
        self.header.phase = phase.unwrap_or(Phase::Tail);
    }

    /// Subtracts frames that were accepted into a batch but then refused by the system.
    fn settle(&mut self, refused: u64) {
        let frames = (refused - self.refused).min(self.sent.counts.run);
        self.refused = refused;
        self.sent.counts.run -= frames;
        if self.header.phase == Phase::Window {
            let of_window = frames.min(self.sent.counts.window);
            self.sent.counts.window -= of_window;
            self.sent.send_errors += of_window;
        }
    }

    fn leave_window(&mut self) {
        self.sent.usage = ThreadUsage::here() - self.before;
        self.sent.waited = self.waited;
        self.task.shared.leave_window();
    }

    #[inline]
    fn send<S: FrameSender>(
        &mut self,
        sender: &mut S,
        phase: Phase,
        intended_ns: u64,
        now: u64,
    ) -> io::Result<()> {
        self.header.intended_ns = intended_ns;
        self.header.sent_ns = now;
        let in_window = phase == Phase::Window;
        if sender.send_stamped(&self.header, &mut self.frame)? {
            self.header.seq += 1;
            self.sent.counts.run += 1;
            self.sent.counts.window += u64::from(in_window);
            self.sent.first_frames += u64::from(in_window && now == self.sent.first_ns);
        } else {
            self.sent.send_errors += u64::from(in_window);
        }
        match phase {
            Phase::WarmUp => self.sent.before_ns = now,
            Phase::Window => self.sent.last_ns = now,
            Phase::Tail => {}
        }
        Ok(())
    }

    fn finish(mut self, refused: u64) -> StreamSent {
        self.settle(refused);
        if self.header.phase == Phase::Window {
            self.leave_window(); // stopped inside
        }
        self.sent
    }
}

#[cfg(test)]
mod tests;
