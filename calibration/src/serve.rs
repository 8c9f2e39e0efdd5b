//! The responder's part of a run.

use crate::clock::fit::Fit;
use crate::clock::{self, Identity};
use crate::end::{Clocks, End, EndSpec, Finished, Running, interface_of};
use crate::error::{Context, Error, Result};
use crate::host::network;
use crate::host::settings::InterfaceSettings;
use crate::pattern::Counts;
use crate::session::key::Key;
use crate::session::listener::Service;
use crate::session::message::{Accepted, Setup, StreamEnd};
use crate::session::text::{format_mac, parse_mac};
use crate::session::{Channel, Limits, Message, serve};
use crate::settings::RunSettings;
use crate::transport::{self, Announce, Connection, Place, Prepared, Role};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// A caller that says nothing for this long has gone.
const SILENCE: Duration = Duration::from_secs(60);
/// Time for both ends to connect the data streams.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long the loop waits for a message while its own data threads may end.
const LOOK_AROUND: Duration = Duration::from_millis(5);
/// Longest drain after the sender's announcement.
const DRAIN_TIME: Duration = Duration::from_secs(30);
/// The first frame leaves this long after the caller was told, in ns.
const LEAD_NS: u64 = 5_000_000;

/// How a responder is set up, by the one who runs it.
#[derive(Debug, Clone)]
pub struct Responder {
    /// What a caller may ask.
    pub limits: Limits,
    /// Interface of direct Ethernet; else the one with the address that was called.
    pub interface: Option<String>,
    /// Cores it may take; `None`: those the caller names, so that both divide them on one host.
    pub cpus: Option<Vec<usize>>,
    /// What to set its interface to for a run.
    pub interface_settings: InterfaceSettings,
    /// Cores that serve its interface's interrupts during a run; `None`: as they are.
    pub interrupt_cpus: Option<Vec<usize>>,
    /// Callers may ask for real-time priority: they could take a core for themselves.
    pub realtime: bool,
}

/// Answers callers who hold the key, until the process is ended.
///
/// # Errors
/// [`Error::Question`] where the address cannot be listened on.
pub fn respond(responder: Responder, address: SocketAddr, key: &Key) -> Result<()> {
    let listener =
        TcpListener::bind(address).or_question(format!("nobody can listen on {address}"))?;
    let local = listener.local_addr().or_peer("the control port")?;
    eprintln!("icprobe: answers on {local}");
    let limits = responder.limits.clone();
    serve(&listener, key, &limits, responder)
}

impl Service for Responder {
    fn session(&self, mut channel: Channel, peer: SocketAddr) {
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

/// What a session holds at each of its steps.
struct Session<'a> {
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
                "the responder gives no real-time priority: start it with --allow-realtime".into(),
            );
        }
        self.limits.check(settings)
    }

    fn set_up<'a>(&self, channel: &'a mut Channel, setup: Setup) -> Result<Session<'a>> {
        let settings = setup.settings;
        let longest = self.limits.longest_run(&settings);
        channel.end_within(longest);
        let mut place = Place {
            local: channel.local().ip(),
            peer: channel.peer().ip(),
            interface: self.interface.clone(),
        };
        place.interface = interface_of(&place);
        let prepared = transport::prepare(Role::Responder, &settings, &place)?;
        let mac = setup
            .mac
            .as_deref()
            .map(|text| parse_mac(text).ok_or_else(|| Error::peer("no hardware address")));
        let peer = Announce {
            ports: setup.ports,
            mac: mac.transpose()?,
        };
        let end = End::prepare(EndSpec {
            role: Role::Responder,
            settings: settings.clone(),
            tag: channel.session().tag(),
            cpus: self.cpus_for(setup.cpus),
            peer: setup.identity,
            interface_settings: self.interface_settings.clone(),
            interrupt_cpus: self.interrupt_cpus.clone(),
            longest,
            raw_frames: self.limits.raw_frames() as usize,
            place: place.clone(),
        })?;
        let accepted = Accepted {
            identity: Identity::here(),
            data_port: None,
            data_ports: prepared.announce().ports.clone(),
            mac: prepared.announce().mac.map(format_mac),
            mtu_bytes: place
                .interface
                .as_deref()
                .and_then(|i| network::mtu_of(i).ok())
                .unwrap_or(0),
            chosen: Default::default(),
        };
        channel.send(&Message::Accepted(accepted))?;
        Ok(Session {
            channel,
            settings,
            longest,
            end: Some(end),
            prepared: Some((prepared, peer)),
        })
    }

    /// The cores a run may use here: those this responder was given, else those of the caller that exist
    /// here, so that on one host both divide the same list.
    fn cpus_for(&self, callers: Vec<usize>) -> Vec<usize> {
        let own = crate::host::scheduling::available_cpus();
        let both: Vec<usize> = callers
            .into_iter()
            .filter(|cpu| own.contains(cpu))
            .collect();
        match (&self.cpus, both.is_empty()) {
            (Some(cpus), _) => cpus.clone(),
            (None, false) => both,
            (None, true) => own,
        }
    }
}

impl Session<'_> {
    /// Answers until the caller says farewell.
    fn run(&mut self) -> Result<()> {
        loop {
            let (message, read_ns) = self.channel.receive_stamped(SILENCE)?;
            match message {
                Message::Clock { sent_ns } => self.channel.answer_clock(sent_ns, read_ns)?,
                Message::Measure => self.measure_idle()?,
                Message::Start(_) => return self.traffic(),
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
            self.channel.send(&Message::Ready)?;
            let running = end.start(connections, clock::now_ns() + LEAD_NS)?;
            self.send_traffic(running)?
        } else {
            let running = end.start(connections, clock::now_ns())?;
            self.channel.send(&Message::Ready)?;
            self.receive_traffic(running)?
        };
        self.report(finished)
    }

    fn establish(&mut self, prepared: Prepared, peer: &Announce) -> Result<Vec<Connection>> {
        let session = self.channel.session();
        prepared.establish(peer, &session.token(), session.tag(), CONNECT_TIME)
    }

    /// This end sends or asks; the caller may ask for the time meanwhile.
    fn send_traffic(&mut self, running: Running) -> Result<Finished> {
        while !running.wait(Duration::ZERO) {
            if let Err(error) = self.answer_clock() {
                running.stop();
                return Err(error);
            }
        }
        let finished = running.join()?;
        let streams = finished.counts().into_iter().map(stream_end).collect();
        self.channel.send(&Message::Ended { streams })?;
        Ok(finished)
    }

    /// Waits a little for a question for the time, and answers it at once.
    fn answer_clock(&mut self) -> Result<()> {
        match self.channel.poll(LOOK_AROUND)? {
            Some((Message::Clock { sent_ns }, read_ns)) => {
                self.channel.answer_clock(sent_ns, read_ns)
            }
            Some((other, _)) => Err(other.unexpected("clock")),
            None => Ok(()),
        }
    }

    /// The caller sends or asks, and says when it has ended.
    fn receive_traffic(&mut self, running: Running) -> Result<Finished> {
        let streams = match self.await_end() {
            Ok(streams) => streams,
            Err(error) => {
                running.stop();
                return Err(error);
            }
        };
        running.announce(&streams.iter().map(|s| s.frames_run).collect::<Vec<_>>());
        running.wait(DRAIN_TIME);
        running.stop();
        running.join()
    }

    fn await_end(&mut self) -> Result<Vec<StreamEnd>> {
        loop {
            let (message, read_ns) = self.channel.receive_stamped(self.longest)?;
            match message {
                Message::Clock { sent_ns } => self.channel.answer_clock(sent_ns, read_ns)?,
                Message::Ended { streams } => return Ok(streams),
                other => return Err(other.unexpected("ended")),
            }
        }
    }

    fn report(&mut self, finished: Finished) -> Result<()> {
        let fit = self.await_fit()?;
        let clocks = if fit.exchanges == 0 {
            Clocks::Same
        } else {
            Clocks::PeersFit(&fit)
        };
        let report = finished.report(clocks);
        self.channel.send(&Message::Report(Box::new(report)))
    }

    fn await_fit(&mut self) -> Result<Fit> {
        loop {
            let (message, read_ns) = self.channel.receive_stamped(SILENCE)?;
            match message {
                Message::Clock { sent_ns } => self.channel.answer_clock(sent_ns, read_ns)?,
                Message::Collect { fit } => return Ok(fit),
                other => return Err(other.unexpected("collect")),
            }
        }
    }
}

fn stream_end(counts: Counts) -> StreamEnd {
    StreamEnd {
        frames_window: counts.window,
        frames_run: counts.run,
    }
}
