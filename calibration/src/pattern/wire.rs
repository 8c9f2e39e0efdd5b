//! Network in memory, for tests: arrivals are given in advance, and sent frames are kept.

use crate::clock;
use crate::frame::{Header, Phase};
use crate::settings::{Protocol, RunSettings};
use crate::transport::{FrameReceiver, FrameSender};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Name of the run in tests.
pub(crate) const TAG: u32 = 0x00c0_ffee;
/// Number of the stream in tests.
pub(crate) const STREAM: u16 = 2;
/// Waiting time of a receiver without frames.
const PAUSE: Duration = Duration::from_millis(1);

/// Settings without a warm-up, with three streams that send `frames` frames or requests each.
pub(crate) fn counted(protocol: Protocol, payload_bytes: u32, frames: u64) -> RunSettings {
    RunSettings {
        frames: Some(3 * frames),
        streams: 3,
        warmup_s: 0.0,
        ..RunSettings::new(protocol, payload_bytes)
    }
}

/// A frame of the tests' stream.
pub(crate) fn frame(phase: Phase, seq: u64, sent_ns: u64, payload_bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; payload_bytes];
    header(phase, seq, sent_ns).write(&mut frame);
    frame
}

/// Header of a frame of the tests' stream that is sent when it is due.
pub(crate) fn header(phase: Phase, seq: u64, sent_ns: u64) -> Header {
    Header {
        tag: TAG,
        stream: STREAM,
        phase,
        seq,
        intended_ns: sent_ns,
        sent_ns,
    }
}

/// The headers of frames.
pub(crate) fn headers(frames: &[Vec<u8>]) -> Vec<Header> {
    let header = |frame: &Vec<u8>| Header::read(frame).expect("a header");
    frames.iter().map(header).collect()
}

/// Sender that keeps the frames that `takes` accepts, and refuses the others.
pub(crate) struct Sends<F> {
    /// Accepted frames.
    pub(crate) sent: Vec<Vec<u8>>,
    /// Whether frame n, counted from 0, is accepted.
    takes: F,
    asked: usize,
}

impl<F: FnMut(usize) -> bool + Send> Sends<F> {
    pub(crate) fn if_taken(takes: F) -> Self {
        Self {
            sent: Vec::new(),
            takes,
            asked: 0,
        }
    }
}

impl<F: FnMut(usize) -> bool + Send> FrameSender for Sends<F> {
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        let taken = (self.takes)(self.asked);
        self.asked += 1;
        if taken {
            self.sent.push(frame.to_vec());
        }
        Ok(taken)
    }
}

/// Sender that hands frames over in batches; the system refuses the last frames of each batch.
pub(crate) struct Batches {
    /// Frames handed over and accepted.
    pub(crate) sent: Vec<Vec<u8>>,
    /// Frames handed over and refused.
    pub(crate) lost: Vec<Vec<u8>>,
    held: Vec<Vec<u8>>,
    size: usize,
    refused_of_each: usize,
}

impl Batches {
    pub(crate) fn of(size: usize, refused_of_each: usize) -> Self {
        Self {
            sent: Vec::new(),
            lost: Vec::new(),
            held: Vec::new(),
            size,
            refused_of_each,
        }
    }
}

impl FrameSender for Batches {
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.held.push(frame.to_vec());
        if self.held.len() == self.size {
            self.flush()?;
        }
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        let taken = self.held.len().saturating_sub(self.refused_of_each);
        self.lost.extend(self.held.split_off(taken));
        self.sent.append(&mut self.held);
        Ok(())
    }

    fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    fn refused(&self) -> u64 {
        self.lost.len() as u64
    }
}

/// Result of one read of a receiver.
pub(crate) enum Read {
    /// The given frames; the given time is the clock after the read.
    At(u64, Vec<Vec<u8>>),
    /// The given frames; the clock after the read is the current time.
    Now(Vec<Vec<u8>>),
    /// No frame for the given time.
    Idle(Duration),
    /// The peer has closed.
    Closed,
    /// No frame; the peer's host reports that no socket receives (connection refused).
    Nobody,
}

/// Receiver that returns the given reads, and then nothing.
pub(crate) struct Arrivals {
    reads: VecDeque<Read>,
    delivered_bytes: u64,
}

impl Arrivals {
    pub(crate) fn of(reads: Vec<Read>) -> Self {
        Self {
            reads: reads.into(),
            delivered_bytes: 0,
        }
    }
}

impl FrameReceiver for Arrivals {
    fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(u64, &[u8]),
    ) -> io::Result<usize> {
        let (now, frames) = match self.reads.pop_front() {
            Some(Read::At(now, frames)) => (now, frames),
            Some(Read::Now(frames)) => (clock::now_ns(), frames),
            Some(Read::Closed) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(Read::Nobody) => return Err(io::ErrorKind::ConnectionRefused.into()),
            Some(Read::Idle(time)) => {
                thread::sleep(time);
                return Ok(0);
            }
            None => {
                thread::sleep(timeout.min(PAUSE));
                return Ok(0);
            }
        };
        for frame in &frames {
            self.delivered_bytes += frame.len() as u64;
            each(now, frame);
        }
        Ok(frames.len())
    }

    fn delivered_bytes(&self) -> Option<u64> {
        Some(self.delivered_bytes)
    }

    fn overflow(&self) -> Option<u64> {
        Some(7)
    }
}

/// Connection that returns the given reads and keeps sent frames.
pub(crate) struct Both {
    pub(crate) arrivals: Arrivals,
    pub(crate) sent: Vec<Vec<u8>>,
}

impl Both {
    pub(crate) fn of(reads: Vec<Read>) -> Self {
        Self {
            arrivals: Arrivals::of(reads),
            sent: Vec::new(),
        }
    }
}

impl FrameSender for Both {
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.sent.push(frame.to_vec());
        Ok(true)
    }
}

impl FrameReceiver for Both {
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize> {
        self.arrivals.receive(timeout, each)
    }

    fn delivered_bytes(&self) -> Option<u64> {
        self.arrivals.delivered_bytes()
    }

    fn overflow(&self) -> Option<u64> {
        self.arrivals.overflow()
    }
}

/// Frames on their way to one end.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl FrameReceiver for Inbox {
    fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(u64, &[u8]),
    ) -> io::Result<usize> {
        let next = self.0.lock().unwrap().pop_front();
        match next {
            Some(frame) => {
                each(clock::now_ns(), &frame);
                Ok(1)
            }
            None => {
                thread::sleep(timeout.min(PAUSE));
                Ok(0)
            }
        }
    }

    fn delivered_bytes(&self) -> Option<u64> {
        None
    }

    fn overflow(&self) -> Option<u64> {
        None
    }
}

/// Peer defined by a function: its replies to request n, counted from 0.
pub(crate) struct Peer<F> {
    /// Received requests.
    pub(crate) asked: Vec<Vec<u8>>,
    /// Frames it sent that have not been read yet.
    pub(crate) inbox: Inbox,
    answers: F,
}

impl<F: FnMut(usize, &[u8]) -> Vec<Vec<u8>> + Send> Peer<F> {
    pub(crate) fn that(answers: F) -> Self {
        Self {
            asked: Vec::new(),
            inbox: Inbox::default(),
            answers,
        }
    }
}

impl<F: FnMut(usize, &[u8]) -> Vec<Vec<u8>> + Send> FrameSender for Peer<F> {
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        let answers = (self.answers)(self.asked.len(), frame);
        self.asked.push(frame.to_vec());
        self.inbox.0.lock().unwrap().extend(answers);
        Ok(true)
    }
}

impl<F: FnMut(usize, &[u8]) -> Vec<Vec<u8>> + Send> FrameReceiver for Peer<F> {
    fn receive(&mut self, timeout: Duration, each: impl FnMut(u64, &[u8])) -> io::Result<usize> {
        self.inbox.receive(timeout, each)
    }

    fn delivered_bytes(&self) -> Option<u64> {
        None
    }

    fn overflow(&self) -> Option<u64> {
        None
    }
}
