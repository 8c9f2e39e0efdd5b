//! Calls in batches: all are handed over, then the caller waits once.

use super::super::wait_for_start;
use super::ask::{AskTask, Asking, StreamAsked};
use super::{READ_TIMEOUT, patience_ns};
use crate::clock;
use crate::frame::{Header, Phase};
use crate::settings::Protocol;
use crate::transport::{FrameReceiver, FrameSender};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A question whether all were invoked is asked again after this long without an answer, in ns.
const ASK_AGAIN_NS: u64 = 100_000_000;

impl AskTask<'_> {
    /// Hands over one-way calls until the window ends, then asks how many were invoked.
    pub fn oneway_batch<C: FrameSender + FrameReceiver>(
        &self,
        connection: &mut C,
    ) -> io::Result<StreamAsked> {
        wait_for_start(self.start_ns);
        let mut asking = Asking::of(self);
        hand_over_all(&mut asking, connection)?;
        asking.asked.queued_ns = clock::now_ns();
        let invoked = ask_how_many(&mut asking, connection)?;
        asking.asked.answered = invoked.min(asking.asked.counts.window);
        asking.asked.last_ns = clock::now_ns();
        Ok(asking.finish())
    }

    /// Hands over two-way calls until the window ends while another thread reads the answers.
    pub fn twoway_batch<S, R>(&self, sender: &mut S, receiver: &mut R) -> io::Result<StreamAsked>
    where
        S: FrameSender,
        R: FrameReceiver,
    {
        wait_for_start(self.start_ns);
        let mut asking = Asking::of(self);
        let asked = AtomicU64::new(u64::MAX);
        let answers = thread::scope(|scope| {
            let reading = scope.spawn(|| self.read_answers(receiver, &asked));
            let handed_over = hand_over_all(&mut asking, sender);
            asking.asked.queued_ns = clock::now_ns();
            asked.store(asking.asked.counts.run, Ordering::Release);
            let answers = reading
                .join()
                .map_err(|_| io::Error::other("the thread that read the answers broke off"))?;
            handed_over.and(answers)
        })?;
        for (now, asked_ns) in answers {
            asking.note(now, asked_ns);
        }
        Ok(asking.finish())
    }

    /// Times of every answer of the window: read at, asked at.
    fn read_answers<R: FrameReceiver>(
        &self,
        receiver: &mut R,
        asked: &AtomicU64,
    ) -> io::Result<Vec<(u64, u64)>> {
        let mut answers = Vec::new();
        let mut run = 0;
        let mut heard = clock::now_ns();
        while run < asked.load(Ordering::Acquire) && !self.shared.stopped() {
            let frames = receiver.receive(READ_TIMEOUT, &mut |now, frame: &[u8]| {
                let Some(header) = Header::read(frame).filter(|h| h.tag == self.tag) else {
                    return;
                };
                run += 1;
                heard = now;
                if header.phase == Phase::Window {
                    answers.push((now, header.sent_ns));
                }
            })?;
            let complete = asked.load(Ordering::Acquire) != u64::MAX;
            if frames == 0
                && complete
                && clock::now_ns() > heard + patience_ns(self.settings.protocol)
            {
                break;
            }
        }
        Ok(answers)
    }
}

fn hand_over_all<S: FrameSender>(asking: &mut Asking<'_>, sender: &mut S) -> io::Result<()> {
    let mut now = clock::now_ns();
    while asking.next(now).is_some() {
        asking.hand_over(sender, now)?;
        now = clock::now_ns();
    }
    sender.flush()
}

/// Asks with frames of the tail until one is answered; the answer's number is the count.
fn ask_how_many<C: FrameSender + FrameReceiver>(
    asking: &mut Asking<'_>,
    connection: &mut C,
) -> io::Result<u64> {
    let protocol = asking.task.settings.protocol;
    let give_up = clock::now_ns() + patience_ns(protocol);
    let ask_again_ns = if loses(protocol) {
        ASK_AGAIN_NS
    } else {
        patience_ns(protocol)
    };
    asking.header.phase = Phase::Tail;
    while clock::now_ns() < give_up && !asking.task.shared.stopped() {
        asking.hand_over(connection, clock::now_ns())?;
        connection.flush()?;
        if let Some(invoked) = asking.how_many(connection, clock::now_ns() + ask_again_ns)? {
            return Ok(invoked);
        }
    }
    Ok(0)
}

fn loses(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Udp | Protocol::Ethernet)
}

impl Asking<'_> {
    /// The count in an answer that comes before `until_ns`.
    fn how_many<R: FrameReceiver>(
        &self,
        receiver: &mut R,
        until_ns: u64,
    ) -> io::Result<Option<u64>> {
        let mut invoked = None;
        while invoked.is_none() && clock::now_ns() < until_ns && !self.task.shared.stopped() {
            receiver.receive(READ_TIMEOUT, &mut |_, frame: &[u8]| {
                let mine = Header::read(frame).filter(|header| header.tag == self.header.tag);
                invoked = mine.map(|header| header.seq).or(invoked);
            })?;
        }
        Ok(invoked)
    }
}
