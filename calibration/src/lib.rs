//! icprobe measures an interconnect between two applications: goodput, one-way latency, CPU load and loss
//! of paced or unlimited frames. Both ends are measured over the same window.
//!
//! The modules stand on floors, lowest first, and use only what stands lower (a test reads this line):
//! `error frame flags utc` → `device interrupt settings units` → `clock statistics` → `host transport` →
//! `report` → `session pattern` → `record end` → `run serve` → `lab plan` → `campaign` → `compare` →
//! `cli`.

#[cfg(not(target_os = "linux"))]
compile_error!("icprobe measures with Linux's own counters and sockets: build it on Linux");

pub mod campaign;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod device;
pub mod end;
pub mod error;
pub mod flags;
pub mod frame;
pub mod host;
pub mod interrupt;
pub mod lab;
pub mod pattern;
pub mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod serve;
pub mod session;
pub mod settings;
pub mod statistics;
pub mod transport;
pub mod units;
pub mod utc;
