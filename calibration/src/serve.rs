//! Responder's part of a run.

use crate::clock::fit::Fit;
use crate::clock::{self, Identity};
use crate::end::{CONNECT_TIME, DRAIN_TIME, End, EndSpec, Finished, Running, interface_of};
use crate::error::{Context, Error, Result};
use crate::host::settings::InterfaceSettings;
use crate::interrupt::Stop;
use crate::session::key::Key;
use crate::session::message::{Accepted, Setup};
use crate::session::text::{format_mac, parse_mac};
use crate::session::{Channel, Limits, Message, Service, Stopper, serve_until};
use crate::settings::{Role, RunSettings};
use crate::transport::{self, Announce, Connection, Place, Prepared};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A caller silent for this long counts as disconnected.
const SILENCE: Duration = Duration::from_secs(60);
/// Polling interval for messages while the caller sends data.
const LISTEN: Duration = Duration::from_millis(100);
/// Polling interval for messages while the own data threads run.
const LOOK_AROUND: Duration = Duration::from_millis(5);
/// Lead time between the announcement of the start and the first frame.
const LEAD: Duration = Duration::from_millis(5);

/// Configuration of a responder.
#[derive(Debug, Default)]
pub struct Responder {
    /// Limits on a caller's requests.
    pub limits: Limits,
    /// Interface for direct Ethernet; `None`: the one with the called address.
    pub interface: Option<String>,
    /// Cores it may use; `None`: those named by the caller, so that two ends on one host share one list.
    pub cpus: Option<Vec<usize>>,
    /// Settings of its interface during a run.
    pub interface_settings: InterfaceSettings,
    /// Cores that handle its interface's interrupts during a run; `None`: unchanged.
    pub interrupt_cpus: Option<Vec<usize>>,
    /// Whether callers may request real-time priority, with which they can occupy whole cores.
    pub realtime: bool,
    /// Stop flag of the responder.
    pub stop: Stop,
    /// Number of active runs.
    pub running: Arc<AtomicUsize>,
}

/// Answers callers that hold the key, until the process is terminated.
///
/// # Errors
/// [`Error::Question`] if the address cannot be listened on.
pub fn respond(responder: Responder, address: SocketAddr, key: &Key) -> Result<()> {
    let listener = TcpListener::bind(address).or_question(format!("cannot listen on {address}"))?;
    let local = listener.local_addr().or_peer("the control port")?;
    eprintln!("icprobe: answers on {local}");
    let limits = responder.limits.clone();
    let stopper = Stopper::of(&listener)?;
    let (flag, stop) = (stopper.flag(), responder.stop.clone());
    let running = Arc::clone(&responder.running);
    std::thread::spawn(move || {
        while !stop.asked() {
            std::thread::sleep(LISTEN);
        }
        stopper.stop();
    });
    serve_until(&listener, key, &limits, &flag, responder)?;
    // Runs check the stop flag themselves; the process must wait until they have restored all settings.
    while running.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(LOOK_AROUND);
    }
    Ok(())
}

impl Service for Responder {
    fn session(&self, mut channel: Channel, peer: SocketAddr) {
        let _one_more = Counted::of(&self.running);
        if let Err(error) = self.answer(&mut channel) {
            eprintln!("icprobe: a run with {peer} ended early: {error}");
            let _ = channel.send(&Message::Failed {
                reason: error.to_string(),
            });
        }
    }

    fn turned_away(&self, peer: SocketAddr, why: &Error) {
        eprintln!("icprobe: turned {peer} away: {why}");
    }
}

/// Guard that counts one active run while it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn of(running: &'a AtomicUsize) -> Self {
        running.fetch_add(1, Ordering::SeqCst);
        Self(running)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// State of a session.
struct Session<'a> {
    stop: Stop,
    /// Clock fit sent by the caller, if any yet.
    fit: Option<Option<Fit>>,
    channel: &'a mut Channel,
    settings: RunSettings,
    longest: Duration,
    end: Option<End>,
    prepared: Option<(Prepared, Announce)>,
}

impl Responder {
    fn answer(&self, channel: &mut Channel) -> Result<()> {
        let setup = match channel.receive(SILENCE)? {
            Message::Setup(setup) => setup,
            other => return Err(other.unexpected("setup")),
        };
        if let Err(reason) = self.allowed(&setup.settings) {
            return channel.send(&Message::Refused { reason });
        }
        if setup.settings.raw {
            channel.allow_raw();
        }
        match self.set_up(channel, setup) {
            Ok(mut session) => session.run(),
            Err(Error::Question(reason)) => channel.send(&Message::Refused { reason }),
            Err(error) => Err(error),
        }
    }

    fn allowed(&self, settings: &RunSettings) -> std::result::Result<(), String> {
        if settings.realtime_priority.is_some() && !self.realtime {
            return Err(
                "the responder does not allow real-time priority: start it with --allow-realtime"
                    .into(),
            );
        }
        self.limits.check(settings)
    }

    fn set_up<'a>(&self, channel: &'a mut Channel, setup: Setup) -> Result<Session<'a>> {
        let settings = setup.settings;
        let longest = self.limits.longest_run(&settings);
        let alone = self.running.load(Ordering::SeqCst) <= 1;
        channel.end_within(longest);
        let place = self.place(channel);
        let prepared = transport::prepare(Role::Responder, &settings, &place)?;
        let peer = announced(setup.ports, setup.mac.as_deref())?;
        let accepted = accepted(prepared.announce());
        let end = End::prepare(EndSpec {
            role: Role::Responder,
            settings: settings.clone(),
            tag: channel.session().tag(),
            cpus: self.cpus_for(setup.cpus, &setup.identity),
            peer: setup.identity,
            interface_settings: self.interface_settings.clone(),
            interrupt_cpus: self.interrupt_cpus.clone(),
            longest,
            kept_frames: self.limits.kept_frames(),
            alone,
            place,
        })?;
        channel.send(&Message::Accepted(accepted))?;
        Ok(Session {
            stop: self.stop.clone(),
            fit: None,
            channel,
            settings,
            longest,
            end: Some(end),
            prepared: Some((prepared, peer)),
        })
    }

    /// Addresses and interface of this end towards the caller.
    fn place(&self, channel: &Channel) -> Place {
        let place = Place {
            local: channel.local().ip(),
            peer: channel.peer().ip(),
            interface: self.interface.clone(),
        };
        Place {
            interface: interface_of(&place),
            ..place
        }
    }

    /// Cores a run may use here: those configured for this responder. If none are configured and the caller
    /// is on
    /// this host, the caller's cores, so that both ends share one list. Otherwise all cores.
    fn cpus_for(&self, callers: Vec<usize>, caller: &Identity) -> Vec<usize> {
        let own = crate::host::scheduling::available_cpus();
        let here = caller.boot_id == Identity::here().boot_id;
        match &self.cpus {
            Some(cpus) => cpus.clone(),
            None if here => callers
                .into_iter()
                .filter(|cpu| own.contains(cpu))
                .collect(),
            None => own,
        }
    }
}

/// Source of the caller's data, as announced by the caller.
fn announced(ports: Vec<u16>, mac: Option<&str>) -> Result<Announce> {
    let unreadable = || Error::peer("the peer's hardware address cannot be read");
    let mac = mac.map(|text| parse_mac(text).ok_or_else(unreadable));
    Ok(Announce {
        ports,
        mac: mac.transpose()?,
    })
}

fn accepted(announce: &Announce) -> Accepted {
    Accepted {
        identity: Identity::here(),
        data_ports: announce.ports.clone(),
        mac: announce.mac.map(format_mac),
    }
}

impl Session<'_> {
    /// Answers messages until the caller ends the session.
    fn run(&mut self) -> Result<()> {
        loop {
            let (message, read_ns) = self.channel.receive_stamped(SILENCE)?;
            match message {
                Message::Clock { sent_ns } => self.channel.answer_clock(sent_ns, read_ns)?,
                Message::Measure => self.measure_idle()?,
                Message::Start => return self.traffic(),
                Message::Bye => return Ok(()),
                other => return Err(other.unexpected("start")),
            }
        }
    }

    fn measure_idle(&mut self) -> Result<()> {
        if let Some(end) = &mut self.end {
            end.measure_idle()?;
        }
        self.channel.send(&Message::Measured)
    }

    fn traffic(&mut self) -> Result<()> {
        let (Some(end), Some((prepared, peer))) = (self.end.take(), self.prepared.take()) else {
            return Err(Error::peer("a session is one run: start a new one"));
        };
        let connections = self.establish(prepared, &peer)?;
        let finished = if self.settings.reverse {
            self.await_ready()?;
            let running = end.start(connections, LEAD)?;
            self.send_traffic(running)?
        } else {
            let running = end.start(connections, Duration::ZERO)?;
            self.channel.send(&Message::Ready)?;
            self.receive_traffic(running)?
        };
        self.report(finished)
    }

    /// Waits until the receiving caller has read its counters and started its threads.
    fn await_ready(&mut self) -> Result<()> {
        match self.channel.receive(CONNECT_TIME)? {
            Message::Ready => Ok(()),
            other => Err(other.unexpected("ready")),
        }
    }

    fn establish(&mut self, prepared: Prepared, peer: &Announce) -> Result<Vec<Connection>> {
        let session = self.channel.session();
        prepared.establish(peer, &session.token(), session.tag(), CONNECT_TIME)
    }

    /// Runs the traffic if this end sends or calls; answers clock requests meanwhile.
    fn send_traffic(&mut self, running: Running) -> Result<Finished> {
        while !running.wait(Duration::ZERO) {
            if let Err(error) = self.stop.check().and_then(|()| self.answer_clock()) {
                running.stop();
                return Err(error);
            }
        }
        let finished = running.join()?;
        let frames = finished.run_frames();
        self.channel.send(&Message::Ended { frames })?;
        Ok(finished)
    }

    /// Waits briefly for a clock request and answers it immediately.
    fn answer_clock(&mut self) -> Result<()> {
        match self.channel.poll(LOOK_AROUND)? {
            Some((Message::Clock { sent_ns }, read_ns)) => {
                self.channel.answer_clock(sent_ns, read_ns)
            }
            Some((other, _)) => Err(other.unexpected("clock")),
            None => Ok(()),
        }
    }

    /// Runs the traffic if the caller sends or calls; the caller announces the end.
    fn receive_traffic(&mut self, running: Running) -> Result<Finished> {
        match self.drain(&running) {
            Ok(()) => running.join(),
            Err(error) => {
                running.stop();
                Err(error)
            }
        }
    }

    /// Answers clock requests until the caller has ended and all frames have arrived or are lost.
    fn drain(&mut self, running: &Running) -> Result<()> {
        running.announce(&self.await_end()?);
        let give_up_ns = clock::now_ns() + DRAIN_TIME.as_nanos() as u64;
        while !running.wait(Duration::ZERO) {
            self.stop.check()?;
            if clock::now_ns() > give_up_ns {
                running.stop();
            }
            if self.fit.is_none() {
                self.answer_after_the_end()?;
            } else {
                running.wait(LOOK_AROUND);
            }
        }
        Ok(())
    }

    fn await_end(&mut self) -> Result<Vec<u64>> {
        let give_up_ns = clock::now_ns() + self.longest.as_nanos() as u64;
        while clock::now_ns() < give_up_ns {
            self.stop.check()?;
            match self.channel.poll(LISTEN)? {
                None => {}
                Some((Message::Clock { sent_ns }, read_ns)) => {
                    self.channel.answer_clock(sent_ns, read_ns)?
                }
                Some((Message::Ended { frames }, _)) => return Ok(frames),
                Some((other, _)) => return Err(other.unexpected("ended")),
            }
        }
        Err(Error::peer(
            "the caller did not end the run in the time it asked for",
        ))
    }

    /// Handles a clock request or a request for the report while the last frames are in transit.
    fn answer_after_the_end(&mut self) -> Result<()> {
        match self.channel.poll(LOOK_AROUND)? {
            Some((Message::Clock { sent_ns }, read_ns)) => {
                self.channel.answer_clock(sent_ns, read_ns)
            }
            Some((Message::Collect { fit }, _)) => {
                self.fit = Some(fit);
                Ok(())
            }
            Some((other, _)) => Err(other.unexpected("collect")),
            None => Ok(()),
        }
    }

    fn report(&mut self, finished: Finished) -> Result<()> {
        let give_up_ns = clock::now_ns() + SILENCE.as_nanos() as u64;
        while self.fit.is_none() && clock::now_ns() < give_up_ns {
            self.answer_after_the_end()?;
        }
        let fit = self.fit.take().flatten();
        let clocks = finished.clocks(fit.as_ref(), false);
        let report = finished.report(clocks);
        self.channel.send(&Message::Report(Box::new(report)))
    }
}
