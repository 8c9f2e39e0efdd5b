//! Caller's part of a run.

pub mod options;

use crate::clock::fit::{Exchange, Fit, one_clock};
use crate::clock::{self, Identity};
use crate::end::{
    CONNECT_TIME, DRAIN_TIME, End, EndSpec, Finished, Running, cpus_or_all, interface_of,
};
use crate::error::{Error, Result};
use crate::host::settings::InterfaceSettings;
use crate::interrupt::Stop;
use crate::record::{Record, Told, record};
use crate::report::EndReport;
use crate::session::key::Key;
use crate::session::message::{Accepted, Setup};
use crate::session::{Channel, Limits, Message, connect};
use crate::settings::{Role, RunSettings};
use crate::transport::{self, Announce, Place, Prepared};
use crate::utc;
use serde_json::{Map, Value};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Timeout for replies of the peer that need no measuring.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Timeout for the peer's report, after the silence that ends a lossy stream.
const COLLECT_TIME: Duration = Duration::from_secs(60);
/// Clock exchanges before and after the traffic, and the pause between two of them.
const EXCHANGES: usize = 40;
const EXCHANGE_PAUSE: Duration = Duration::from_millis(2);
/// Clock exchanges to verify that two ends with the same boot identifier share a clock.
const CHECKS: usize = 3;
/// Pause between two clock exchanges during the traffic.
const EXCHANGE_EVERY: Duration = Duration::from_millis(50);
/// Time between both ends being ready and the first frame.
const LEAD: Duration = Duration::from_millis(2);

/// Responder of a run.
#[derive(Debug, Clone)]
pub struct Target {
    /// Address of the responder.
    pub address: IpAddr,
    /// Port of its control connection.
    pub port: u16,
    /// Interface for direct Ethernet; `None`: the one that routes to the responder.
    pub interface: Option<String>,
}

/// One run of a caller.
#[derive(Debug, Clone)]
pub struct Question {
    /// Settings of the run.
    pub settings: RunSettings,
    /// Responder.
    pub target: Target,
    /// Cores this end may take; `None`: all it may run on.
    pub cpus: Option<Vec<usize>>,
    /// Settings of this end's interface for the run.
    pub interface_settings: InterfaceSettings,
    /// Cores that handle its interrupts for the run; `None`: unchanged.
    pub interrupt_cpus: Option<Vec<usize>>,
    /// Labels for the record, not measured.
    pub labels: Map<String, Value>,
}

/// Carries out the run; `stop` ends it early and restores all changed settings.
///
/// # Errors
/// [`Error::Question`] if the run is not possible here; [`Error::Peer`] if the peer or the network fails.
pub fn run(question: &Question, key: &Key, stop: &Stop) -> Result<Record> {
    let started_utc = utc::now();
    let target = SocketAddr::new(question.target.address, question.target.port);
    let channel = connect(target, key)?;
    let mut call = Call::set_up(channel, question, stop.clone())?;
    call.exchange_clocks(EXCHANGES)?;
    call.measure_idle()?;
    let finished = call.traffic()?;
    call.exchange_clocks(EXCHANGES)?;
    call.collect(finished, question, started_utc)
}

struct Call {
    channel: Channel,
    settings: RunSettings,
    end: Option<End>,
    prepared: Option<(Prepared, Announce)>,
    exchanges: Vec<Exchange>,
    same_clock: bool,
    began_ns: u64,
    stop: Stop,
}

impl Call {
    fn set_up(mut channel: Channel, question: &Question, stop: Stop) -> Result<Self> {
        let settings = question.settings.clone();
        if settings.raw {
            channel.allow_raw();
        }
        let mut place = Place {
            local: channel.local.ip(),
            peer: channel.peer.ip(),
            interface: question.target.interface.clone(),
        };
        place.interface = interface_of(&place);
        let prepared = transport::prepare(Role::Caller, &settings, &place)?;
        let cpus = cpus_or_all(question.cpus.clone());
        channel.send(&Message::Setup(Setup {
            settings: settings.clone(),
            identity: Identity::here(),
            cpus: cpus.clone(),
            announce: prepared.announce().clone(),
        }))?;
        let accepted = accepted(&mut channel)?;
        let end = End::prepare(EndSpec {
            role: Role::Caller,
            settings: settings.clone(),
            tag: channel.session.tag(),
            place,
            cpus,
            peer: accepted.identity.clone(),
            interface_settings: question.interface_settings.clone(),
            interrupt_cpus: question.interrupt_cpus.clone(),
            longest: longest(&settings),
            kept_frames: Limits::default().kept_frames(),
            alone: true,
        })?;
        Ok(Self {
            same_clock: Identity::here().same_clock(&accepted.identity),
            prepared: Some((prepared, accepted.announce)),
            channel,
            settings,
            end: Some(end),
            exchanges: Vec::new(),
            began_ns: clock::now_ns(),
            stop,
        })
    }

    /// Exchanges timestamps with the peer, unless both ends share a clock.
    fn exchange_clocks(&mut self, times: usize) -> Result<()> {
        let times = if self.same_clock { CHECKS } else { times };
        for _ in 0..times {
            self.exchanges.push(self.channel.exchange(ANSWER_TIME)?);
            std::thread::sleep(EXCHANGE_PAUSE);
        }
        if self.same_clock && !one_clock(&self.exchanges) {
            return Err(Error::peer(
                "both hosts have the same boot id but different clocks, like clones of a running machine: restart one",
            ));
        }
        Ok(())
    }

    /// Measures the idle baseline of both hosts at the same time.
    fn measure_idle(&mut self) -> Result<()> {
        self.channel.send(&Message::Measure)?;
        if let Some(end) = &mut self.end {
            end.measure_idle()?;
        }
        let patience = ANSWER_TIME + Duration::from_secs_f64(self.settings.baseline_s);
        self.expect("measured", patience, |message| {
            matches!(message, Message::Measured)
        })
    }

    fn expect(
        &mut self,
        name: &str,
        patience: Duration,
        is: impl Fn(&Message) -> bool,
    ) -> Result<()> {
        let message = self.channel.receive(patience)?;
        if is(&message) {
            Ok(())
        } else {
            Err(message.unexpected(name))
        }
    }

    fn traffic(&mut self) -> Result<Finished> {
        let (Some(end), Some((prepared, announce))) = (self.end.take(), self.prepared.take())
        else {
            return Err(Error::question(
                "a run can only be started once: start a new one",
            ));
        };
        self.channel.send(&Message::Start)?;
        let (token, tag) = (self.channel.session.token(), self.channel.session.tag());
        let connections = prepared.establish(&announce, &token, tag, CONNECT_TIME)?;
        self.began_ns = clock::now_ns();
        if self.settings.reverse {
            let running = end.start(connections, Duration::ZERO)?;
            self.channel.send(&Message::Ready)?; // the receiver says when to send
            self.receive_traffic(running)
        } else {
            self.await_ready()?;
            let running = end.start(connections, LEAD)?;
            self.send_traffic(running)
        }
    }

    fn await_ready(&mut self) -> Result<()> {
        let patience = ANSWER_TIME + CONNECT_TIME;
        self.expect("ready", patience, |message| {
            matches!(message, Message::Ready)
        })
    }

    /// Runs the traffic if this end sends or calls.
    fn send_traffic(&mut self, running: Running) -> Result<Finished> {
        while !running.wait(EXCHANGE_EVERY) {
            if let Err(error) = self.during() {
                running.stop();
                return Err(error);
            }
        }
        let finished = running.join()?;
        let frames = finished.run_frames();
        self.channel.send(&Message::Ended { frames })?;
        Ok(finished)
    }

    /// Work while data flows: clock exchanges, or a check that the peer is still connected.
    fn during(&mut self) -> Result<()> {
        self.stop.check()?;
        if !self.same_clock {
            let exchange = self.channel.exchange(ANSWER_TIME)?;
            self.exchanges.push(exchange);
            return Ok(());
        }
        match self.channel.poll(Duration::ZERO)? {
            Some(message) => Err(message.unexpected("nothing")),
            None => Ok(()),
        }
    }

    /// Runs the traffic if the peer sends or calls; the peer announces the end.
    fn receive_traffic(&mut self, running: Running) -> Result<Finished> {
        match self.await_end() {
            Ok(frames) => running.announce(&frames),
            Err(error) => {
                running.stop();
                return Err(error);
            }
        }
        if !running.wait(DRAIN_TIME) {
            running.stop();
        }
        running.join()
    }

    fn await_end(&mut self) -> Result<Vec<u64>> {
        let give_up_ns = clock::now_ns() + longest(&self.settings).as_nanos() as u64;
        let mut ask_ns = clock::now_ns();
        while clock::now_ns() < give_up_ns {
            self.stop.check()?;
            if !self.same_clock && clock::now_ns() >= ask_ns {
                ask_ns = clock::now_ns() + EXCHANGE_EVERY.as_nanos() as u64;
                let sent_ns = clock::now_ns();
                self.channel.send(&Message::Clock { sent_ns })?;
            }
            match self.channel.poll(EXCHANGE_EVERY)? {
                None => {}
                Some(Message::Ended { frames }) => return Ok(frames),
                Some(answer) => self.exchanges.push(self.channel.exchange_of(answer)?),
            }
        }
        Err(Error::peer(
            "the peer did not end the run in time: ask for a shorter one",
        ))
    }

    fn collect(
        &mut self,
        finished: Finished,
        question: &Question,
        started_utc: String,
    ) -> Result<Record> {
        let fit = match self.same_clock {
            true => None,
            false => Fit::of(&self.exchanges, self.began_ns, clock::now_ns()),
        };
        self.channel.send(&Message::Collect { fit })?;
        let responder = self.report()?;
        let _ = self.channel.send(&Message::Bye); // the report has arrived: failure does not matter
        let clocks = finished.clocks(fit.as_ref(), true);
        Ok(record(Told {
            run: name_of_run()?,
            started_utc,
            settings: self.settings.clone(),
            labels: question.labels.clone(),
            caller: finished.report(clocks),
            responder,
            fit,
        }))
    }

    /// Receives the responder's report; skips late clock replies.
    fn report(&mut self) -> Result<EndReport> {
        let give_up = Instant::now() + COLLECT_TIME;
        while Instant::now() < give_up {
            match self.channel.receive(COLLECT_TIME)? {
                Message::Report(report) => return Ok(*report),
                Message::ClockReply { .. } => {}
                other => return Err(other.unexpected("report")),
            }
        }
        Err(Error::peer(
            "the peer sent no report: check that it is still running",
        ))
    }
}

/// Time limit of the traffic and the report at this end. A window given in frames may take up to a
/// day.
fn longest(settings: &RunSettings) -> Duration {
    let traffic_s = match settings.frames {
        Some(_) => 86_400.0,
        None => settings.warmup_s + settings.duration_s + settings.tail_s.unwrap_or(0.0),
    };
    COLLECT_TIME + Duration::from_secs_f64(traffic_s)
}

fn accepted(channel: &mut Channel) -> Result<Accepted> {
    match channel.receive(ANSWER_TIME)? {
        Message::Accepted(accepted) => Ok(accepted),
        other => Err(other.unexpected("accepted")),
    }
}

fn name_of_run() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::question(format!("the system provides no random numbers: {e}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
