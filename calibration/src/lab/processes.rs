//! Finds a lab's processes in /proc and kills them.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

/// Criteria for the processes of a lab.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Inode numbers of network namespaces that are certainly the lab's.
    pub namespaces: BTreeSet<u64>,
    /// An environment variable and its value.
    pub variable: Option<(&'static str, String)>,
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |process| *process != own)
}

fn has_variable(process: u32, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == wanted.as_bytes())
}

fn network_namespace(process: u32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{process}/ns/net")).ok()?;
    let text = link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?;
    text.parse().ok()
}

/// Processes whose environment has this variable with this value.
pub(super) fn with_variable(name: &str, value: &str) -> Vec<u32> {
    numbers()
        .filter(|process| has_variable(*process, name, value))
        .collect()
}

fn find(wanted: &Wanted) -> Vec<u32> {
    let inside = |process: u32| {
        network_namespace(process).is_some_and(|inode| wanted.namespaces.contains(&inode))
    };
    let marked = |process: u32| {
        let variable = wanted.variable.as_ref();
        variable.is_some_and(|(name, value)| has_variable(process, name, value))
    };
    numbers()
        .filter(|process| inside(*process) || marked(*process))
        .collect()
}

/// Kills all matching processes; returns false if some still run after `patience`.
pub(super) fn end(wanted: &Wanted, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let found = find(wanted);
        if found.is_empty() {
            return true;
        }
        for process in found {
            kill(process);
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(process: u32) {
    if let Some(process) = pid(process) {
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Reaps a killed child of this process; returns at once for other processes.
pub(super) fn reap(process: u32) {
    if let Some(process) = pid(process) {
        let _ = waitpid(Some(process), WaitOptions::empty());
    }
}

fn pid(process: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process).ok()?)
}
