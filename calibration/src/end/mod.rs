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

/// Root of the file system from which host properties are read.
const ROOT: &str = "/";
/// Time for both ends to connect the data streams.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Maximum wait for frames in transit after the sender is done.
pub const DRAIN_TIME: Duration = Duration::from_secs(30);
/// Loopback interface; two ends in one namespace share it.
const LOOPBACK: &str = "lo";

/// Configuration of an end before a run.
#[derive(Debug, Clone)]
pub struct EndSpec {
    /// Role on the control connection.
    pub role: Role,
    /// Settings of the run.
    pub settings: RunSettings,
    /// Tag in the header of every frame of the run.
    pub tag: u32,
    /// Addresses and interface.
    pub place: Place,
    /// Cores it may use; two ends on one host need the same list.
    pub cpus: Vec<usize>,
    /// The other end's clock and host.
    pub peer: Identity,
    /// Settings of its interface for the run.
    pub interface_settings: InterfaceSettings,
    /// Cores that handle its interrupts for the run; `None`: unchanged.
    pub interrupt_cpus: Option<Vec<usize>>,
    /// Time limit of the run.
    pub longest: Duration,
    /// Maximum number of frames whose timestamps are stored individually, over all streams.
    pub kept_frames: usize,
    /// No other run is active in this process, so the interface may be changed.
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

/// Guards that restore settings after the run.
#[derive(Default)]
struct Guards {
    _steering: Option<SteeringGuard>,
    _settings: Option<SettingsGuard>,
    _interrupts: Option<InterruptGuard>,
}

/// Interface of an end: the configured one, or the one with its address.
pub fn interface_of(place: &Place) -> Option<String> {
    place
        .interface
        .clone()
        .or_else(|| network::interface_towards(place.peer).ok())
}

impl End {
    /// Chooses cores, configures the interface, and steers receive processing to the chosen cores.
    ///
    /// # Errors
    /// The interface refuses the settings.
    pub fn prepare(spec: EndSpec) -> Result<Self> {
        let identity = Identity::here();
        let same_host = identity.same_host(&spec.peer);
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

    /// Steers receive processing to the end's own cores if both ends are on one host; otherwise the
    /// CPU values of the ends mix. Both ends share the loopback interface, so only the stream's
    /// receiver steers it.
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

    /// Runs the self-check, then measures the idle baseline for the configured time.
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

    /// Starts the data threads; the first frame is sent `lead` after their start.
    ///
    /// # Errors
    /// Counters cannot be read, or threads cannot be started.
    pub fn start(self, connections: Vec<Connection>, lead: Duration) -> Result<Running> {
        Running::start(self, connections, lead)
    }

    fn same_clock(&self) -> bool {
        self.identity.same_clock(&self.peer)
    }
}

/// Cores a process may use: the configured ones, or all it may run on.
pub fn cpus_or_all(cpus: Option<Vec<usize>>) -> Vec<usize> {
    cpus.unwrap_or_else(scheduling::available_cpus)
}
