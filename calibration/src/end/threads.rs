//! Data threads of an end, and the thread that reads the host's counters at the edges of the window.

use super::{End, Guards, ROOT};
use crate::clock;
use crate::error::{Context, Error, Result};
use crate::flags;
use crate::host::cpu::{CpuSample, ThreadUsage};
use crate::host::environment::Environment;
use crate::host::network::InterfaceCounters;
use crate::host::scheduling::{pin_task, pin_thread, set_realtime, threads_named};
use crate::pattern::call::{AnswerTask, AskTask, StreamAnswered, StreamAsked};
use crate::pattern::receive::{ReceiveTask, StreamReceived};
use crate::pattern::send::{SendTask, StreamSent};
use crate::pattern::{Edge, Shared};
use crate::report::Chosen;
use crate::settings::{Pattern, Protocol, RunSettings};
use crate::transport::Connection;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Highest real-time priority (sched(7)).
const REALTIME_MAX: u8 = 99;

/// Result of one data thread.
#[derive(Debug)]
pub(super) enum Stream {
    Sent(StreamSent),
    Received(Box<StreamReceived>),
    Asked(StreamAsked),
    Answered(StreamAnswered),
}

/// The host's counters at one moment.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) cpu: CpuSample,
    pub(super) interface: Option<InterfaceCounters>,
}

impl Sample {
    fn take(interface: Option<&str>) -> Result<Self> {
        let root = Path::new(ROOT);
        let counters = interface.map(|name| InterfaceCounters::read(root, name));
        Ok(Self {
            cpu: CpuSample::read(root)?,
            interface: counters.transpose()?,
        })
    }
}

/// The counters at the edges of the window.
struct Samples {
    opened: Sample,
    /// Time at which the sender announced its end, if before the end of the window.
    announced: Option<Sample>,
    closed: Sample,
}

impl Samples {
    /// Returns the samples at the start and end of the window. If the window's last frame, at
    /// `last_ns`, came before the announcement, the window ends at the announcement. After that,
    /// the receiver only waits for lost frames.
    fn window(self, last_ns: u64) -> [Sample; 2] {
        let announced = self.announced.filter(|sample| sample.cpu.at_ns >= last_ns);
        [self.opened, announced.unwrap_or(self.closed)]
    }
}

/// End with active traffic.
pub struct Running {
    end: End,
    shared: Arc<Shared>,
    data: Vec<JoinHandle<io::Result<Stream>>>,
    sampler: JoinHandle<Result<Samples>>,
    before: Sample,
    environment: Environment,
    chosen: Chosen,
}

/// End after the traffic.
pub struct Finished {
    pub(super) end: End,
    pub(super) streams: Vec<Stream>,
    pub(super) window: [Sample; 2],
    pub(super) run: [Sample; 2],
    pub(super) environment: Environment,
    pub(super) chosen: Chosen,
    pub(super) complete: bool,
}

/// Parameters of a data thread besides its connection.
struct Task {
    settings: RunSettings,
    stream: u16,
    tag: u32,
    asks: bool,
    same_clock: bool,
    deadline_ns: u64,
    kept_frames: usize,
    core: Option<usize>,
    shared: Arc<Shared>,
}

impl Running {
    pub(super) fn start(
        mut end: End,
        connections: Vec<Connection>,
        lead: Duration,
    ) -> Result<Self> {
        let interface = end.interface.clone();
        let environment = Environment::read(Path::new(ROOT), interface.as_deref());
        let shared = Arc::new(Shared::new(connections.len()));
        let chosen = connections.first().map(chosen).unwrap_or_default();
        check_realtime(&mut end);
        if end.settings.protocol == Protocol::Zeromq {
            pin_io_threads(&end.layout.cores);
        }
        let before = Sample::take(interface.as_deref())?;
        let above = end.settings.realtime_priority.unwrap_or(0) + 1;
        let sampler = spawn_sampler(&shared, interface, above.min(REALTIME_MAX))?;
        let data = connections
            .into_iter()
            .enumerate()
            .map(|(stream, connection)| spawn(task(&end, stream, &shared), connection))
            .collect::<Result<_>>()?;
        shared.begin(clock::now_ns() + lead.as_nanos() as u64);
        Ok(Self {
            end,
            shared,
            data,
            sampler,
            before,
            environment,
            chosen,
        })
    }

    /// Waits at most `timeout` for the data threads to end; returns whether they ended.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.shared.wait_finished(timeout)
    }

    /// Announces that the sender of each stream n has finished after `run_frames[n]` frames.
    pub fn announce(&self, run_frames: &[u64]) {
        for (stream, frames) in run_frames.iter().enumerate() {
            self.shared.announce(stream, *frames);
        }
        self.shared.end_announced();
        if self.end.settings.pattern != Pattern::Stream {
            self.shared.stop();
        }
    }

    /// Stops the data threads immediately.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Waits for the data threads, collects their results and restores the interface.
    ///
    /// # Errors
    /// A connection broke.
    pub fn join(mut self) -> Result<Finished> {
        let complete = !self.shared.stopped() || self.end.settings.pattern != Pattern::Stream;
        let streams: Vec<Stream> = self.data.into_iter().map(joined).collect::<Result<_>>()?;
        let samples = self.sampler.join();
        let samples =
            samples.map_err(|_| Error::peer("the thread that reads counters crashed"))??;
        let after = Sample::take(self.end.interface.as_deref())?;
        self.end.guards = Guards::default();
        let last_ns = streams.iter().map(Stream::last_ns).max().unwrap_or(0);
        Ok(Finished {
            end: self.end,
            streams,
            window: samples.window(last_ns),
            run: [self.before, after],
            environment: self.environment,
            chosen: self.chosen,
            complete,
        })
    }
}

impl Stream {
    pub(super) fn usage(&self) -> ThreadUsage {
        match self {
            Self::Sent(stream) => stream.usage,
            Self::Received(stream) => stream.usage,
            Self::Asked(stream) => stream.usage,
            Self::Answered(stream) => stream.usage,
        }
    }

    fn last_ns(&self) -> u64 {
        match self {
            Self::Sent(stream) => stream.last_ns,
            Self::Received(stream) => stream.last_ns,
            Self::Asked(stream) => stream.last_ns,
            Self::Answered(stream) => stream.last_ns,
        }
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

fn task(end: &End, stream: usize, shared: &Arc<Shared>) -> Task {
    let cores = &end.layout.cores;
    Task {
        settings: end.settings.clone(),
        stream: stream as u16,
        tag: end.tag,
        asks: end.asks,
        same_clock: end.same_clock(),
        deadline_ns: clock::now_ns() + end.longest.as_nanos() as u64,
        kept_frames: end.kept_frames / usize::from(end.settings.streams),
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
        .map_err(|_| Error::peer("a data thread crashed"))?;
    outcome.or_peer("the data connection broke")
}

/// Starts the thread that reads counters at the edges of the window. If permitted, it has
/// precedence over the data threads. Otherwise a data thread that never blocks would delay it long
/// after the edge.
fn spawn_sampler(
    shared: &Arc<Shared>,
    interface: Option<String>,
    priority: u8,
) -> Result<JoinHandle<Result<Samples>>> {
    let shared = Arc::clone(shared);
    let sample = move || {
        let _ = set_realtime(priority); // refused without the privilege: then it reads with ordinary priority
        let take = || Sample::take(interface.as_deref());
        shared.wait_for(Edge::Opened);
        let opened = take()?;
        shared.wait_for(Edge::Announced);
        let announced = (!shared.is_closed()).then(take).transpose()?;
        shared.wait_for(Edge::Closed);
        Ok(Samples {
            opened,
            announced,
            closed: take()?,
        })
    };
    thread::Builder::new()
        .name("sampler".into())
        .spawn(sample)
        .or_peer("the thread that reads counters cannot be started")
}

/// Pins ZeroMQ's own I/O threads to the cores of this end.
fn pin_io_threads(cores: &[usize]) {
    for thread in threads_named("ZMQbg") {
        let _ = pin_task(thread, cores); // one that has just ended needs no core
    }
}

/// Tests the priority on a separate thread, so that the record can report a refusal.
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
            (Pattern::Stream, false) => self
                .receive(connection)
                .map(|r| Stream::Received(Box::new(r))),
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
            start_ns: self.shared.wait_to_begin(),
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
            kept_frames: self.kept_frames,
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
            start_ns: self.shared.wait_to_begin(),
            kept_frames: self.kept_frames,
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
    /// Frames sent per stream, at the end that sends or calls.
    pub fn run_frames(&self) -> Vec<u64> {
        let sent = |stream: &Stream| match stream {
            Stream::Sent(sent) => Some(sent.counts.run),
            Stream::Asked(asked) => Some(asked.counts.run),
            Stream::Received(_) | Stream::Answered(_) => None,
        };
        self.streams.iter().filter_map(sent).collect()
    }
}
