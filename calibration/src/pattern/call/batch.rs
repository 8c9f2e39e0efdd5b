//! Batched calls: all calls are handed over, then the caller waits once.
//!
//! The warm-up is a separate batch. Its calls are answered before the window opens; otherwise they
//! would take time of the window.

use super::super::wait_for_start;
use super::ask::{AskTask, Asking, StreamAsked};
use super::{READ_TIMEOUT, patience_ns};
use crate::clock;
use crate::frame::{Header, Phase};
use crate::host::cpu::ThreadUsage;
use crate::statistics::LatencyRecorder;
use crate::transport::{FrameReceiver, FrameSender};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Retry interval of the request for confirmation, in ns.
const ASK_AGAIN_NS: u64 = 100_000_000;
/// Polling interval for the number of replies to two-way calls.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

impl AskTask<'_> {
    /// Hands over one-way calls until the window ends, then asks how many were invoked.
    pub fn oneway_batch<C>(&self, connection: &mut C) -> io::Result<StreamAsked>
    where
        C: FrameSender + FrameReceiver,
    {
        let mut asking = Asking::of(self);
        wait_for_start(self.start_ns);
        if asking.warm_up(connection)? {
            ask_how_many(&mut asking, connection)?;
        }
        asking.hand_over_window(connection)?;
        let invoked = ask_how_many(&mut asking, connection)?;
        asking.asked.confirmed = invoked.is_some();
        asking.asked.answered = invoked.unwrap_or(0).min(asking.asked.counts.window);
        asking.asked.last_ns = clock::now_ns();
        Ok(asking.finish())
    }

    /// Hands over two-way calls until the window ends while another thread reads the answers.
    pub fn twoway_batch<S, R>(&self, sender: &mut S, receiver: &mut R) -> io::Result<StreamAsked>
    where
        S: FrameSender,
        R: FrameReceiver,
    {
        let mut asking = Asking::of(self);
        let mut answers = Answers::of(self);
        let progress = Progress::default();
        wait_for_start(self.start_ns);
        thread::scope(|scope| {
            let reading = scope.spawn(|| answers.read(receiver, &progress));
            let handed_over = self.hand_over_twice(&mut asking, sender, &progress);
            progress
                .asked
                .store(asking.asked.counts.run, Ordering::Release);
            progress.complete.store(1, Ordering::Release);
            let read = reading
                .join()
                .map_err(|_| io::Error::other("the thread that reads the replies crashed"))?;
            handed_over.and(read)
        })?;
        answers.add_to(&mut asking.asked);
        Ok(asking.finish())
    }

    fn hand_over_twice<S: FrameSender>(
        &self,
        asking: &mut Asking<'_>,
        sender: &mut S,
        progress: &Progress,
    ) -> io::Result<()> {
        if asking.warm_up(sender)? {
            let give_up = clock::now_ns() + patience_ns(self.settings);
            let open = || progress.answered.load(Ordering::Acquire) < asking.asked.counts.run;
            while open() && clock::now_ns() < give_up && !self.shared.stopped() {
                thread::sleep(LOOK_AGAIN);
            }
        }
        asking.hand_over_window(sender)
    }
}

/// State shared by the two threads of two-way calls.
#[derive(Debug, Default)]
struct Progress {
    answered: AtomicU64,
    asked: AtomicU64,
    complete: AtomicU64,
}

/// Counts of the reading thread of two-way calls.
struct Answers<'a> {
    task: &'a AskTask<'a>,
    run: u64,
    window: u64,
    last_ns: u64,
    heard_ns: u64,
    round_trip: LatencyRecorder,
    raw_ns: Vec<i64>,
    usage: ThreadUsage,
}

impl<'a> Answers<'a> {
    fn of(task: &'a AskTask<'a>) -> Self {
        Self {
            task,
            run: 0,
            window: 0,
            last_ns: 0,
            heard_ns: clock::now_ns(),
            round_trip: LatencyRecorder::new(),
            raw_ns: Vec::new(),
            usage: ThreadUsage::default(),
        }
    }

    fn read<R: FrameReceiver>(&mut self, receiver: &mut R, progress: &Progress) -> io::Result<()> {
        let before = ThreadUsage::here();
        while !self.over(progress) {
            receiver.receive(READ_TIMEOUT, |now, frame: &[u8]| self.take(now, frame))?;
            progress.answered.store(self.run, Ordering::Release);
        }
        self.usage = ThreadUsage::here() - before;
        Ok(())
    }

    fn over(&self, progress: &Progress) -> bool {
        let complete = progress.complete.load(Ordering::Acquire) == 1;
        let all = self.run >= progress.asked.load(Ordering::Acquire);
        let silent = || clock::now_ns() > self.heard_ns + patience_ns(self.task.settings);
        self.task.shared.stopped() || complete && (all || silent())
    }

    fn take(&mut self, now: u64, frame: &[u8]) {
        let Some(header) = Header::read(frame).filter(|header| header.tag == self.task.tag) else {
            return;
        };
        self.run += 1;
        self.heard_ns = now;
        if header.phase == Phase::Window {
            let round_trip = now.wrapping_sub(header.sent_ns) as i64;
            self.window += 1;
            self.last_ns = now;
            self.round_trip.record(round_trip, 1);
            if self.task.settings.raw && self.raw_ns.len() < self.task.kept_frames {
                self.raw_ns.push(round_trip);
            }
        }
    }

    fn add_to(self, asked: &mut StreamAsked) {
        asked.answered = self.window.min(asked.counts.window);
        asked.last_ns = self.last_ns;
        asked.round_trip = self.round_trip;
        asked.raw_ns = self.task.settings.raw.then_some(self.raw_ns);
        asked.usage = self.usage;
    }
}

impl Asking<'_> {
    /// Hands over the calls of the warm-up; returns whether there were any.
    fn warm_up<S: FrameSender>(&mut self, sender: &mut S) -> io::Result<bool> {
        let before = self.asked.counts.run;
        let mut now = clock::now_ns();
        while self.is_warming(now) && self.next(now).is_some() {
            self.hand_over(sender, now)?;
            now = clock::now_ns();
        }
        sender.flush()?;
        Ok(self.asked.counts.run > before)
    }

    fn hand_over_window<S: FrameSender>(&mut self, sender: &mut S) -> io::Result<()> {
        self.open_window();
        let mut now = clock::now_ns();
        while self.next(now).is_some() {
            self.hand_over(sender, now)?;
            now = clock::now_ns();
        }
        sender.flush()?;
        self.asked.queued_ns = clock::now_ns();
        Ok(())
    }

    /// Waits until `until_ns` for the reply to a request for confirmation sent at `since_ns` or
    /// later; returns the number of invoked calls in it. Late replies to requests about the warm-up
    /// are ignored.
    fn how_many<R: FrameReceiver>(
        &self,
        receiver: &mut R,
        since_ns: u64,
        until_ns: u64,
    ) -> io::Result<Option<u64>> {
        let mut invoked = None;
        let is_answer = |h: &Header| h.tag == self.header.tag && h.sent_ns >= since_ns;
        while invoked.is_none() && clock::now_ns() < until_ns && !self.task.shared.stopped() {
            receiver.receive(READ_TIMEOUT, |_, frame: &[u8]| {
                let answer = Header::read(frame).filter(is_answer);
                invoked = answer.map(|header| header.seq).or(invoked);
            })?;
        }
        Ok(invoked)
    }
}

/// Sends requests for confirmation (frames of the tail) until one is answered. Returns the number
/// of the window's calls that were invoked, from the reply; `None` without a reply.
fn ask_how_many<C>(asking: &mut Asking<'_>, connection: &mut C) -> io::Result<Option<u64>>
where
    C: FrameSender + FrameReceiver,
{
    let patience = patience_ns(asking.task.settings);
    let since = clock::now_ns();
    let give_up = since + patience.max(10 * ASK_AGAIN_NS);
    let ask_again = if asking.task.settings.may_lose() {
        ASK_AGAIN_NS
    } else {
        patience
    };
    asking.header.phase = Phase::Tail;
    while clock::now_ns() < give_up && !asking.task.shared.stopped() {
        asking.hand_over(connection, clock::now_ns())?;
        connection.flush()?;
        let invoked = asking.how_many(connection, since, clock::now_ns() + ask_again)?;
        if invoked.is_some() {
            return Ok(invoked);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
