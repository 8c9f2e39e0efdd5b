//! One end of a run, the same code for the caller and the responder: [`End`] before the traffic,
//! [`Running`] during it, [`Finished`] after it.

mod report;
mod threads;

pub use report::Clocks;
pub use threads::{Finished, Running};

use crate::clock::Identity;
use crate::error::{Error, Result};
use crate::flags;
use crate::host::cpu::CpuSample;
use crate::host::network;
use crate::host::scheduling::{self, CoreLayout, split_host};
use crate::host::selfcheck::Instrument;
use crate::host::settings::{InterfaceSettings, SettingsGuard};
use crate::host::steering::{InterruptGuard, SteeringGuard};
use crate::settings::{Role, RunSettings};
use crate::transport::{Connection, Place};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Where everything of a host is read from.
const ROOT: &str = "/";
/// Time for both ends to connect the data streams.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Longest wait for what is still on its way when the sender is done.
pub const DRAIN_TIME: Duration = Duration::from_secs(30);
/// Every namespace has its own interface of this name, which both ends share.
const LOOPBACK: &str = "lo";

/// What an end is told before a run.
#[derive(Debug, Clone)]
pub struct EndSpec {
    /// Which end of the control connection it is.
    pub role: Role,
    /// What was asked.
    pub settings: RunSettings,
    /// Name of the run's frames.
    pub tag: u32,
    /// Where it stands.
    pub place: Place,
    /// Cores it may take; both ends on one host must be told the same.
    pub cpus: Vec<usize>,
    /// The other end's clock and host.
    pub peer: Identity,
    /// What to set its interface to for the run.
    pub interface_settings: InterfaceSettings,
    /// Cores that serve its interrupts for the run; `None`: as they are.
    pub interrupt_cpus: Option<Vec<usize>>,
    /// Nothing of the run lasts longer than this.
    pub longest: Duration,
    /// Most frames whose times are kept one by one, over all streams.
    pub kept_frames: usize,
    /// No other run goes on in this process: its interface may be set.
    pub alone: bool,
}

/// One end, ready for the traffic.
pub struct End {
    settings: RunSettings,
    asks: bool,
    tag: u32,
    peer: Identity,
    identity: Identity,
    interface: Option<String>,
    layout: CoreLayout,
    instrument: Instrument,
    baseline: Option<(CpuSample, CpuSample)>,
    flags: Vec<String>,
    longest: Duration,
    kept_frames: usize,
    guards: Guards,
}

/// What is put back when the run is over.
#[derive(Default)]
struct Guards {
    _steering: Option<SteeringGuard>,
    _settings: Option<SettingsGuard>,
    _interrupts: Option<InterruptGuard>,
}

/// The interface of an end: the one it was told, else the one with its address.
pub fn interface_of(place: &Place) -> Option<String> {
    place
        .interface
        .clone()
        .or_else(|| network::interface_towards(place.peer).ok())
}

impl End {
    /// Chooses cores, sets the interface, steers what it receives to its own cores.
    ///
    /// # Errors
    /// The interface cannot be set as asked.
    pub fn prepare(spec: EndSpec) -> Result<Self> {
        let identity = Identity::here();
        let same_host = identity.boot_id == spec.peer.boot_id;
        let mut end = Self {
            asks: spec.settings.sends(spec.role),
            tag: spec.tag,
            peer: spec.peer,
            identity,
            interface: interface_of(&spec.place),
            layout: split_host(spec.settings.cores, spec.role, &spec.cpus, same_host),
            settings: spec.settings,
            instrument: Instrument::default(),
            baseline: None,
            flags: Vec::new(),
            longest: spec.longest,
            kept_frames: spec.kept_frames,
            guards: Guards::default(),
        };
        if end.layout.cores.len() < usize::from(end.settings.cores) {
            return Err(Error::question(format!(
                "{} cores are asked for and {} may be used here: ask for fewer",
                end.settings.cores,
                end.layout.cores.len()
            )));
        }
        if !spec.alone {
            end.flag(flags::OVERLAPPING);
            return Ok(end);
        }
        end.set_interface(&spec.interface_settings)?;
        end.steer_interrupts(spec.interrupt_cpus.as_deref())?;
        if same_host {
            end.steer()?;
        }
        Ok(end)
    }

    fn set_interface(&mut self, settings: &InterfaceSettings) -> Result<()> {
        if let Some(interface) = self.interface.as_deref().filter(|_| !settings.is_empty()) {
            self.guards._settings = Some(settings.apply(interface)?);
        }
        Ok(())
    }

    fn steer_interrupts(&mut self, cpus: Option<&[usize]>) -> Result<()> {
        if let (Some(interface), Some(cpus)) = (self.interface.as_deref(), cpus) {
            self.guards._interrupts = InterruptGuard::steer(interface, cpus)?;
            if self.guards._interrupts.is_none() {
                self.flag(flags::UNSTEERED);
            }
        }
        Ok(())
    }

    /// On one host, what an end receives is processed on its own cores, or its CPU is not its own.
    /// Loopback is both ends': there the receiver of the stream steers.
    fn steer(&mut self) -> Result<()> {
        let Some(interface) = self.interface.clone() else {
            return Ok(());
        };
        if interface == LOOPBACK && self.asks {
            return Ok(());
        }
        self.guards._steering = SteeringGuard::steer(&interface, &self.layout.cores)?;
        if self.guards._steering.is_none() && !self.layout.shared {
            self.flag(flags::UNSTEERED);
        }
        Ok(())
    }

    fn flag(&mut self, flag: &str) {
        self.flags.push(flag.to_owned());
    }

    /// Measures the instrument, then watches the idle host, as long as the settings say.
    ///
    /// # Errors
    /// The kernel's counters cannot be read.
    pub fn measure_idle(&mut self) -> Result<()> {
        self.instrument = Instrument::measure(true);
        if self.settings.baseline_s > 0.0 {
            let before = CpuSample::read(Path::new(ROOT))?;
            thread::sleep(Duration::from_secs_f64(self.settings.baseline_s));
            self.baseline = Some((before, CpuSample::read(Path::new(ROOT))?));
        }
        Ok(())
    }

    /// Starts the data threads; the first frame leaves `lead` after they exist.
    ///
    /// # Errors
    /// Counters cannot be read, or the system gives no threads.
    pub fn start(self, connections: Vec<Connection>, lead: Duration) -> Result<Running> {
        Running::start(self, connections, lead)
    }

    fn same_clock(&self) -> bool {
        self.identity.same_clock(&self.peer)
    }
}

/// The cores a process may take: those it was told, else all it may run on.
pub fn cpus_or_all(cpus: Option<Vec<usize>>) -> Vec<usize> {
    cpus.unwrap_or_else(scheduling::available_cpus)
}
