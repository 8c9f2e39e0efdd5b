//! `icprobe serve`: the responder.

use crate::error::Result;
use crate::host::privileges::drop_unneeded;
use crate::interrupt::stop_at_end;
use crate::run::options::{cpus_of, interface_settings};
use crate::serve::{Responder, respond};
use crate::session::DEFAULT_PORT;
use crate::session::key::Key;
use crate::session::limits::Limits;
use crate::units::{parse_bits_per_s, parse_bytes, parse_seconds};
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Arguments of `icprobe serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Address to listen on. Give an address of the network interface to be reachable from other hosts.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Port of the control connection.
    #[arg(long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Key file; both ends need the same key. Peers without it are refused.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Network interface for direct Ethernet. Default: the interface that has ADDRESS.
    #[arg(long)]
    interface: Option<String>,
    /// Cores this end may use, e.g. "0,2-3". Default: all.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// MTU to set on this end's interface during a run; restored afterwards.
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u32>,
    /// Offloads to set on this end's interface during a run, e.g. "tso=off,gro=off"; restored afterwards.
    #[arg(long, value_name = "LIST")]
    offloads: Option<String>,
    /// Cores that handle the interrupts of this end's interface during a run, e.g. "0"; restored afterwards.
    #[arg(long, value_name = "LIST")]
    interrupt_cpus: Option<String>,
    /// Allow callers to request real-time priority. A run can then occupy whole cores.
    #[arg(long)]
    allow_realtime: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Limits on what callers may request.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum goodput. A run of unlimited rate counts as 400 Gb/s.
    #[arg(long, value_name = "GOODPUT", default_value = "400 Gb/s", value_parser = parse_bits_per_s)]
    max_rate: f64,
    /// Maximum of warm-up plus window.
    #[arg(long, value_name = "TIME", default_value = "3600 s", value_parser = parse_seconds)]
    max_duration: f64,
    /// Maximum payload.
    #[arg(long, value_name = "SIZE", default_value = "1 GiB", value_parser = parse_bytes)]
    max_payload: u64,
    /// Maximum memory of a run.
    #[arg(long, value_name = "SIZE", default_value = "2 GiB", value_parser = parse_bytes)]
    max_memory: u64,
    /// Maximum number of connections of a run.
    #[arg(long, value_name = "N", default_value_t = 64)]
    max_streams: u16,
    /// Maximum number of simultaneous runs.
    #[arg(long, value_name = "N", default_value_t = 4)]
    max_sessions: usize,
}

impl Serve {
    /// Answers callers until the process is terminated.
    pub fn run(self) -> Result<u8> {
        let key = Key::load(&self.key)?;
        drop_unneeded();
        let stop = stop_at_end()?;
        let responder = Responder {
            limits: self.limits.limits(),
            interface: self.interface,
            cpus: cpus_of(self.cpus.as_deref())?,
            realtime: self.allow_realtime,
            stop,
            interrupt_cpus: cpus_of(self.interrupt_cpus.as_deref())?,
            interface_settings: interface_settings(self.mtu, self.offloads.as_deref())?,
        };
        respond(responder, SocketAddr::new(self.bind, self.port), &key)?;
        Ok(0)
    }
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        Limits {
            rate_bps: self.max_rate,
            duration_s: self.max_duration,
            payload_bytes: u32::try_from(self.max_payload).unwrap_or(u32::MAX),
            memory_bytes: self.max_memory,
            streams: self.max_streams,
            sessions: self.max_sessions,
        }
    }
}
