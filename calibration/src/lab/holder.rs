//! Without root: the process that owns a lab's user and mount namespace.
//!
//! The holder only sleeps. The lab's namespaces exist as long as it lives. If it is killed, the
//! kernel removes them with everything in them. Commands find the holder by its environment
//! variables, so a crash between its start and the first state file loses nothing.

use super::processes::{self, Wanted};
use crate::error::{Context, Result};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::write;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{getegid, geteuid, setsid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const HOLDER_VARIABLE: &str = "ICPROBE_LAB_HOLDER";

/// The process that holds a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    /// Process id.
    pub process: u32,
}

impl Holder {
    /// Starts the holder of the lab whose state file is given.
    pub fn start(state_file: &Path) -> Result<Self> {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let user_map = format!("0 {user} 1");
        let group_map = format!("0 {group} 1");
        let mut command = Command::new("sleep");
        command
            .arg("infinity")
            .env_clear()
            .env(HOLDER_VARIABLE, state_file);
        command.env("PATH", "/usr/bin:/bin").current_dir("/");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let separate = move || separate(user_map.as_bytes(), group_map.as_bytes());
        // SAFETY: between fork and exec, `separate` only makes system calls on values prepared
        // before.
        unsafe { command.pre_exec(separate) };
        let child = command.spawn().or_question(
            "no user namespace can be made here; run as root or allow unprivileged user namespaces",
        )?;
        Ok(Self {
            process: child.id(),
        })
    }

    /// Finds the running holder of the lab with the given state file.
    pub fn find(state_file: &Path) -> Option<Self> {
        let process =
            *processes::with_variable(HOLDER_VARIABLE, &state_file.to_string_lossy()).first()?;
        Some(Self { process })
    }

    /// Kills this holder, and all others that a crash left behind for the same state file. Returns
    /// false if one still runs after `patience`.
    pub fn end(&self, state_file: &Path, patience: Duration) -> bool {
        let wanted = Wanted {
            variable: Some((HOLDER_VARIABLE, state_file.to_string_lossy().into_owned())),
            ..Wanted::default()
        };
        let ended = processes::end(&wanted, patience);
        processes::reap(self.process);
        ended
    }

    /// Path of the holder's namespace of a kind (`user` or `mnt`).
    pub fn namespace(&self, kind: &str) -> PathBuf {
        format!("/proc/{}/ns/{kind}", self.process).into()
    }

    /// Converts a path in the holder's mount namespace to the path by which this process sees it.
    pub fn seen_from_here(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        Path::new(&format!("/proc/{}/root", self.process)).join(relative)
    }
}

/// Makes the calling process root of its own user and mount namespace, in a session without a
/// terminal.
fn separate(user_map: &[u8], group_map: &[u8]) -> io::Result<()> {
    setsid()?;
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", user_map)?;
    write_file(c"/proc/self/gid_map", group_map)?;
    let apart = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    Ok(mount_change(c"/", apart)?)
}

/// Joins an open namespace; without one this is a no-op. Safe between fork and exec: allocates no memory.
pub(super) fn join(namespace: Option<&File>, kind: LinkNameSpaceType) -> io::Result<()> {
    let Some(file) = namespace else {
        return Ok(());
    };
    Ok(move_into_link_name_space(file.as_fd(), Some(kind))?)
}

/// Moves the process into new namespaces. Safe between fork and exec: allocates no memory.
pub(super) fn unshare(kinds: UnshareFlags) -> io::Result<()> {
    // SAFETY: between fork and exec there is one thread, and no kind used here is FILES (the table
    // of open files).
    Ok(unsafe { unshare_unsafe(kinds) }?)
}

/// Writes a small file with one system call. Safe between fork and exec: allocates no memory.
pub(super) fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(&file, content)?;
    Ok(())
}
