//! Responder's part of a run.

use crate::clock::fit::Fit;
use crate::clock::{self, Identity};
use crate::end::{CONNECT_TIME, DRAIN_TIME, End, EndSpec, Finished, Running, interface_of};
use crate::error::{Error, Result, require};
use crate::host::settings::InterfaceSettings;
use crate::interrupt::Stop;
use crate::session::key::Key;
use crate::session::message::{Accepted, Setup};
use crate::session::{Channel, Limits, Listener, Message};
use crate::settings::{Role, RunSettings};
use crate::transport::{self, Announce, Connection, Place, Prepared};
use std::net::SocketAddr;
use std::sync::Arc;
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
}

/// Answers callers that hold the key, until the process is terminated.
///
/// # Errors
/// [`Error::Question`] if the address cannot be listened on.
pub fn respond(responder: Responder, address: SocketAddr, key: &Key) -> Result<()> {
    let listener = Listener::bind(address, key.clone(), responder.limits.clone())?;
    eprintln!("icprobe: answers on {}", listener.address);
    let (stop, stopped) = (responder.stop.clone(), Arc::clone(&listener));
    std::thread::spawn(move || {
        while !stop.asked() {
            std::thread::sleep(LISTEN);
        }
        stopped.stop();
    });
    let counted = Arc::clone(&listener);
    listener.serve(move |proved, peer| match proved {
        Ok(channel) => responder.session(channel, counted.sessions() <= 1),
        Err(why) => eprintln!("icprobe: turned {peer} away: {why}"),
    })?;
    // Runs check the stop flag themselves; the process must wait until they have restored all settings.
    while listener.sessions() > 0 {
        std::thread::sleep(LOOK_AROUND);
    }
    Ok(())
}

/// State of a session.
struct Session<'a> {
    stop: Stop,
    /// Fit sent by the caller: the outer `None` before it is sent, the inner `None` if there is no
    /// fit.
    fit: Option<Option<Fit>>,
    channel: &'a mut Channel,
    settings: RunSettings,
    longest: Duration,
    end: Option<End>,
    prepared: Option<(Prepared, Announce)>,
}

impl Responder {
    fn session(&self, mut channel: Channel, alone: bool) {
        if let Err(error) = self.answer(&mut channel, alone) {
            eprintln!("icprobe: a run with {} ended early: {error}", channel.peer);
            let _ = channel.send(&Message::Failed {
                reason: error.to_string(),
            });
        }
    }

    fn answer(&self, channel: &mut Channel, alone: bool) -> Result<()> {
        let setup = match channel.receive(SILENCE)? {
            Message::Setup(setup) => setup,
            other => return Err(other.unexpected("setup")),
        };
        match self.set_up(channel, setup, alone) {
            Ok(mut session) => session.run(),
            Err(Error::Question(reason)) => channel.send(&Message::Refused { reason }),
            Err(error) => Err(error),
        }
    }

    fn set_up<'a>(
        &self,
        channel: &'a mut Channel,
        setup: Setup,
        alone: bool,
    ) -> Result<Session<'a>> {
        let settings = setup.settings;
        require(
            settings.realtime_priority.is_none() || self.realtime,
            || {
                "the responder does not allow real-time priority: start it with --allow-realtime"
                    .into()
            },
        )?;
        self.limits.check(&settings)?;
        if settings.raw {
            channel.allow_raw();
        }
        let longest = self.limits.longest_run(&settings);
        channel.end_within(longest);
        let place = self.place(channel);
        let prepared = transport::prepare(Role::Responder, &settings, &place)?;
        let accepted = Accepted {
            identity: Identity::here(),
            announce: prepared.announce().clone(),
        };
        let end = End::prepare(EndSpec {
            role: Role::Responder,
            settings: settings.clone(),
            tag: channel.session.tag(),
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
            prepared: Some((prepared, setup.announce)),
        })
    }

    /// Addresses and interface of this end towards the caller.
    fn place(&self, channel: &Channel) -> Place {
        let place = Place {
            local: channel.local.ip(),
            peer: channel.peer.ip(),
            interface: self.interface.clone(),
        };
        Place {
            interface: interface_of(&place),
            ..place
        }
    }

    /// Cores a run may use here: those configured for this responder. If none are configured and
    /// the caller is on this host, the caller's cores, so that both ends share one list. Otherwise
    /// all cores.
    fn cpus_for(&self, callers: Vec<usize>, caller: &Identity) -> Vec<usize> {
        let own = crate::host::scheduling::available_cpus();
        let here = caller.same_host(&Identity::here());
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

impl Session<'_> {
    /// Answers messages until the caller ends the session.
    fn run(&mut self) -> Result<()> {
        loop {
            match self.channel.receive(SILENCE)? {
                Message::Clock { sent_ns } => self.channel.answer_clock(sent_ns)?,
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
        let session = &self.channel.session;
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
            Some(Message::Clock { sent_ns }) => self.channel.answer_clock(sent_ns),
            Some(other) => Err(other.unexpected("clock")),
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
                Some(Message::Clock { sent_ns }) => self.channel.answer_clock(sent_ns)?,
                Some(Message::Ended { frames }) => return Ok(frames),
                Some(other) => return Err(other.unexpected("ended")),
            }
        }
        Err(Error::peer(
            "the caller did not end the run in the time it asked for",
        ))
    }

    /// Handles a clock request or a request for the report while the last frames are in transit.
    fn answer_after_the_end(&mut self) -> Result<()> {
        match self.channel.poll(LOOK_AROUND)? {
            Some(Message::Clock { sent_ns }) => self.channel.answer_clock(sent_ns),
            Some(Message::Collect { fit }) => {
                self.fit = Some(fit);
                Ok(())
            }
            Some(other) => Err(other.unexpected("collect")),
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
