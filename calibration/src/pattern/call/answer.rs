//! Reply loop of ping-pong and calls.

use super::super::{Shared, is_stamped};
use super::READ_TIMEOUT;
use super::body::Vector;
use crate::clock;
use crate::frame::{Header, Phase};
use crate::host::cpu::ThreadUsage;
use crate::settings::{Body, Pattern, RunSettings};
use crate::transport::{FrameReceiver, FrameSender, answer_bytes};
use std::io;

/// Counters of one stream's reply loop.
#[derive(Debug, Default)]
pub struct StreamAnswered {
    /// Requests inside the window.
    pub window_frames: u64,
    /// Requests of the run.
    pub run_frames: u64,
    /// Frames of another run; not answered.
    pub foreign: u64,
    /// Arrival of the first request of the window, own clock, in ns.
    pub first_ns: u64,
    /// Arrival of the last request of the window.
    pub last_ns: u64,
    /// CPU usage of the thread since the first request of the window.
    pub usage: ThreadUsage,
}

/// Task that answers the requests of one stream.
#[derive(Debug, Clone, Copy)]
pub struct AnswerTask<'a> {
    /// Settings of the run.
    pub settings: &'a RunSettings,
    /// Number of the stream.
    pub stream: u16,
    /// Name of the run.
    pub tag: u32,
    /// Deadline for replies, own clock, in ns.
    pub deadline_ns: u64,
    /// The end it belongs to.
    pub shared: &'a Shared,
}

struct Answering<'a> {
    task: &'a AnswerTask<'a>,
    answered: StreamAnswered,
    vector: Option<Vector>,
    /// Headers of the requests of one read; `None` for a frame too short for a header, which is
    /// answered too.
    open: Vec<Option<Header>>,
    reply: Vec<u8>,
    before: Option<ThreadUsage>,
}

impl AnswerTask<'_> {
    /// Answers until the caller is done and the end is stopped, or until the connection closes.
    pub fn run<C: FrameSender + FrameReceiver>(
        &self,
        connection: &mut C,
    ) -> io::Result<StreamAnswered> {
        let mut answering = Answering {
            task: self,
            answered: StreamAnswered::default(),
            vector: (self.settings.body == Body::Vector)
                .then(|| Vector::room(self.settings.payload_bytes)),
            open: Vec::new(),
            reply: vec![0; answer_bytes(self.settings) as usize],
            before: None,
        };
        while !self.shared.stopped() && clock::now_ns() < self.deadline_ns {
            match answering.once(connection) {
                Err(error) if is_end(&error) => break,
                outcome => outcome?,
            }
        }
        Ok(answering.finish())
    }
}

/// Whether an error means that the caller has closed the connection. Outstanding requests then need
/// no reply.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        UnexpectedEof | ConnectionRefused | ConnectionReset | BrokenPipe
    )
}

impl Answering<'_> {
    fn once<C: FrameSender + FrameReceiver>(&mut self, connection: &mut C) -> io::Result<()> {
        connection.receive(READ_TIMEOUT, |now, frame: &[u8]| self.take(now, frame))?;
        self.answer(connection)
    }

    fn take(&mut self, now: u64, frame: &[u8]) {
        let stamped = is_stamped(self.task.settings.payload_bytes);
        let header =
            Header::read(frame).filter(|h| h.tag == self.task.tag && h.stream == self.task.stream);
        let phase = match header {
            Some(header) => Some(header.phase),
            None if stamped => None,
            None => frame.first().and_then(|byte| Phase::of(*byte)),
        };
        let Some(phase) = phase else {
            self.answered.foreign += 1;
            return;
        };
        if let Some(vector) = &mut self.vector {
            vector.decode(frame);
            std::hint::black_box(vector.elements());
        }
        self.count(now, phase);
        self.open.push(header);
    }

    fn count(&mut self, now: u64, phase: Phase) {
        self.answered.run_frames += 1;
        if phase != Phase::Window {
            return;
        }
        if self.answered.window_frames == 0 {
            self.answered.first_ns = now;
            self.before = Some(ThreadUsage::here());
            self.task.shared.enter_window();
        }
        self.answered.window_frames += 1;
        self.answered.last_ns = now;
    }

    fn answer<S: FrameSender>(&mut self, sender: &mut S) -> io::Result<()> {
        let oneway = self.task.settings.pattern == Pattern::OnewayBatch;
        for header in self.open.drain(..) {
            let answer = match header {
                Some(header) if oneway && header.phase != Phase::Tail => continue,
                Some(header) if oneway => Header {
                    seq: self.answered.window_frames,
                    ..header
                },
                Some(header) => header,
                None => short_answer(self.task),
            };
            answer.write(&mut self.reply);
            sender.send(&self.reply)?;
        }
        sender.flush()
    }

    fn finish(mut self) -> StreamAnswered {
        if let Some(before) = self.before {
            self.answered.usage = ThreadUsage::here() - before;
            self.task.shared.leave_window();
        }
        self.answered
    }
}

/// Reply to a request without a header.
fn short_answer(task: &AnswerTask<'_>) -> Header {
    Header {
        tag: task.tag,
        stream: task.stream,
        phase: Phase::Window,
        seq: 0,
        intended_ns: 0,
        sent_ns: 0,
    }
}

#[cfg(test)]
mod tests;
