//! The data threads of an end, and the one that reads the host's counters at the edges of the window.

use super::{End, ROOT};
use crate::clock;
use crate::error::{Context, Error, Result};
use crate::flags;
use crate::host::cpu::{CpuSample, ThreadUsage};
use crate::host::network::InterfaceCounters;
use crate::host::scheduling::{pin_thread, set_realtime};
use crate::pattern::call::{AnswerTask, AskTask, StreamAnswered, StreamAsked};
use crate::pattern::receive::{ReceiveTask, StreamReceived};
use crate::pattern::send::{SendTask, StreamSent};
use crate::pattern::{Counts, Edge, Shared};
use crate::report::Chosen;
use crate::settings::{Pattern, RunSettings};
use crate::transport::Connection;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What one data thread did.
#[derive(Debug)]
pub(super) enum Stream {
    Sent(StreamSent),
    Received(StreamReceived),
    Asked(StreamAsked),
    Answered(StreamAnswered),
}

/// The host's counters at one moment.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) cpu: CpuSample,
    pub(super) interface: InterfaceCounters,
}

impl Sample {
    fn take(interface: Option<&str>) -> Result<Self> {
        let root = Path::new(ROOT);
        let counters = interface
            .map(|name| InterfaceCounters::read(root, name))
            .transpose()?;
        Ok(Self {
            cpu: CpuSample::read(root)?,
            interface: counters.unwrap_or_default(),
        })
    }
}

/// An end with its traffic going.
pub struct Running {
    end: End,
    shared: Arc<Shared>,
    data: Vec<JoinHandle<io::Result<Stream>>>,
    sampler: JoinHandle<Result<[Sample; 2]>>,
    before: Sample,
    chosen: Chosen,
}

/// An end whose traffic is over.
pub struct Finished {
    pub(super) end: End,
    pub(super) streams: Vec<Stream>,
    pub(super) window: [Sample; 2],
    pub(super) run: [Sample; 2],
    chosen: Chosen,
}

/// What a data thread needs to know besides its connection.
struct Task {
    settings: RunSettings,
    stream: u16,
    tag: u32,
    asks: bool,
    same_clock: bool,
    start_ns: u64,
    deadline_ns: u64,
    raw_frames: usize,
    core: Option<usize>,
    shared: Arc<Shared>,
}

impl Running {
    pub(super) fn start(mut end: End, connections: Vec<Connection>, start_ns: u64) -> Result<Self> {
        let before = Sample::take(end.interface.as_deref())?;
        let shared = Arc::new(Shared::new(connections.len()));
        let sampler = spawn_sampler(&shared, end.interface.clone())?;
        let chosen = connections.first().map(chosen).unwrap_or_default();
        check_realtime(&mut end);
        let data = connections
            .into_iter()
            .enumerate()
            .map(|(stream, connection)| spawn(task(&end, stream, start_ns, &shared), connection))
            .collect::<Result<_>>()?;
        Ok(Self {
            end,
            shared,
            data,
            sampler,
            before,
            chosen,
        })
    }

    /// Waits at most `timeout` for the data threads to end; says whether they have.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.shared.wait_finished(timeout)
    }

    /// The sender of stream n has sent `run_frames[n]` frames and will send no more.
    pub fn announce(&self, run_frames: &[u64]) {
        for (stream, frames) in run_frames.iter().enumerate() {
            self.shared.announce(stream, *frames);
        }
        self.shared.close_window();
        if self.end.settings.pattern != Pattern::Stream {
            self.shared.stop();
        }
    }

    /// Ends the data threads at once.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Waits for the data threads and gathers what they did.
    ///
    /// # Errors
    /// A connection broke.
    pub fn join(self) -> Result<Finished> {
        let streams = self.data.into_iter().map(joined).collect::<Result<_>>()?;
        let window = self
            .sampler
            .join()
            .map_err(|_| Error::peer("the thread that reads counters broke off"))??;
        let after = Sample::take(self.end.interface.as_deref())?;
        Ok(Finished {
            end: self.end,
            streams,
            window,
            run: [self.before, after],
            chosen: self.chosen,
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Tells the control thread that a data thread is over, also when it panics.
struct Guard(Arc<Shared>);

fn chosen(connection: &Connection) -> Chosen {
    let sender = connection.sender.iter().flat_map(|half| half.chosen());
    let receiver = connection.receiver.iter().flat_map(|half| half.chosen());
    sender.chain(receiver).collect()
}

fn task(end: &End, stream: usize, start_ns: u64, shared: &Arc<Shared>) -> Task {
    let cores = &end.layout.cores;
    Task {
        settings: end.settings.clone(),
        stream: stream as u16,
        tag: end.tag,
        asks: end.asks,
        same_clock: end.same_clock(),
        start_ns,
        deadline_ns: clock::now_ns() + end.longest.as_nanos() as u64,
        raw_frames: end.raw_frames,
        core: (!cores.is_empty()).then(|| cores[stream % cores.len()]),
        shared: Arc::clone(shared),
    }
}

fn spawn(task: Task, connection: Connection) -> Result<JoinHandle<io::Result<Stream>>> {
    thread::Builder::new()
        .name(format!("data-{}", task.stream))
        .spawn(move || {
            let _guard = Guard(Arc::clone(&task.shared));
            task.run(connection)
        })
        .or_peer("a data thread cannot be started")
}

fn joined(thread: JoinHandle<io::Result<Stream>>) -> Result<Stream> {
    let outcome = thread
        .join()
        .map_err(|_| Error::peer("a data thread broke off"))?;
    outcome.or_peer("the data connection broke")
}

fn spawn_sampler(
    shared: &Arc<Shared>,
    interface: Option<String>,
) -> Result<JoinHandle<Result<[Sample; 2]>>> {
    let shared = Arc::clone(shared);
    thread::Builder::new()
        .name("sampler".into())
        .spawn(move || {
            shared.wait_for(Edge::Opened);
            let opened = Sample::take(interface.as_deref());
            shared.wait_for(Edge::Closed);
            Ok([opened?, Sample::take(interface.as_deref())?])
        })
        .or_peer("the thread that reads counters cannot be started")
}

/// Tries the priority on a thread of its own, so that the record can say that it was refused.
fn check_realtime(end: &mut End) {
    let Some(priority) = end.settings.realtime_priority else {
        return;
    };
    let granted = thread::spawn(move || set_realtime(priority).is_ok()).join();
    if !granted.unwrap_or(false) {
        end.flag(flags::NO_REALTIME);
    }
}

impl Task {
    fn run(&self, connection: Connection) -> io::Result<Stream> {
        clock::tighten_timer_slack();
        if let Some(core) = self.core {
            pin_thread(&[core]).map_err(io::Error::other)?;
        }
        if let Some(priority) = self.settings.realtime_priority {
            let _ = set_realtime(priority); // the record says if it was refused
        }
        match (self.settings.pattern, self.asks) {
            (Pattern::Stream, true) => self.send(connection).map(Stream::Sent),
            (Pattern::Stream, false) => self.receive(connection).map(Stream::Received),
            (_, true) => self.ask(connection).map(Stream::Asked),
            (_, false) => self.answer(connection).map(Stream::Answered),
        }
    }

    fn send(&self, connection: Connection) -> io::Result<StreamSent> {
        let mut sender = connection.into_sender().map_err(io::Error::other)?;
        let (settings, stream, tag) = (&self.settings, self.stream, self.tag);
        SendTask {
            settings,
            stream,
            tag,
            start_ns: self.start_ns,
            shared: &self.shared,
        }
        .run(&mut sender)
    }

    fn receive(&self, connection: Connection) -> io::Result<StreamReceived> {
        let mut receiver = connection.into_receiver().map_err(io::Error::other)?;
        let task = ReceiveTask {
            settings: &self.settings,
            stream: self.stream,
            tag: self.tag,
            same_clock: self.same_clock,
            raw_frames: self.raw_frames,
            deadline_ns: self.deadline_ns,
            shared: &self.shared,
        };
        task.run(&mut receiver)
    }

    fn ask(&self, connection: Connection) -> io::Result<StreamAsked> {
        let mut both = connection.into_duplex().map_err(io::Error::other)?;
        let (settings, stream, tag) = (&self.settings, self.stream, self.tag);
        let task = AskTask {
            settings,
            stream,
            tag,
            start_ns: self.start_ns,
            shared: &self.shared,
        };
        match self.settings.pattern {
            Pattern::OnewayBatch => task.oneway_batch(&mut both),
            Pattern::TwowayBatch => task.twoway_batch(&mut both.sender, &mut both.receiver),
            _ => task.one_by_one(&mut both),
        }
    }

    fn answer(&self, connection: Connection) -> io::Result<StreamAnswered> {
        let mut both = connection.into_duplex().map_err(io::Error::other)?;
        let task = AnswerTask {
            settings: &self.settings,
            stream: self.stream,
            tag: self.tag,
            deadline_ns: self.deadline_ns,
            shared: &self.shared,
        };
        task.run(&mut both)
    }
}

impl Finished {
    /// Frames sent of each stream, at the end that sends or asks.
    pub fn counts(&self) -> Vec<Counts> {
        let sent = |stream: &Stream| match stream {
            Stream::Sent(sent) => Some(sent.counts),
            Stream::Asked(asked) => Some(asked.counts),
            Stream::Received(_) | Stream::Answered(_) => None,
        };
        self.streams.iter().filter_map(sent).collect()
    }

    /// What the system chose for the sockets of this end.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    pub(super) fn threads(&self) -> ThreadUsage {
        let usage = |stream: &Stream| match stream {
            Stream::Sent(stream) => stream.usage,
            Stream::Received(stream) => stream.usage,
            Stream::Asked(stream) => stream.usage,
            Stream::Answered(stream) => stream.usage,
        };
        self.streams.iter().map(usage).sum()
    }
}
