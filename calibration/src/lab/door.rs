//! Entering the network namespaces of a lab.
//!
//! As root, the namespaces are pinned (bind-mounted) in the folder of `ip netns`. Without root,
//! they are pinned in the mount namespace of a holder. The holder is a process in its own user
//! namespace, which owns all other namespaces of the lab. To enter the lab, a process first joins
//! the holder's user and mount namespaces (user_namespaces(7)).

use super::holder::{Holder, join, unshare, write_file};
use crate::error::{Context, Result};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::chdir;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable that identifies the lab of a process.
pub(super) const LAB_VARIABLE: &str = "ICPROBE_LAB";

/// Entry to the namespaces of one lab.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Door {
    /// Folder of the pins, in the lab's mount namespace.
    pub pins: PathBuf,
    /// Prefix of the name of a node's pin.
    pub prefix: String,
    /// Holder process of the lab; only without root.
    pub holder: Option<Holder>,
    /// Value of the environment variable that marks the lab's processes.
    pub mark: String,
}

/// Opened namespaces and other settings, which a child applies between fork and exec.
struct Entry {
    user: Option<File>,
    mount: Option<File>,
    network: Option<File>,
    folder: CString,
    clock: Option<Vec<u8>>,
    own_sysfs: bool,
}

impl Door {
    /// Name of a node's namespace.
    pub fn namespace(&self, node: &str) -> String {
        format!("{}{node}", self.prefix)
    }

    /// Path of a node's pinned namespace, as seen by a process of the lab.
    pub fn pin(&self, node: &str) -> PathBuf {
        self.pins.join(self.namespace(node))
    }

    /// Path of a node's pinned namespace, as seen by this process.
    pub fn pin_from_here(&self, node: &str) -> PathBuf {
        let pin = self.pin(node);
        match &self.holder {
            Some(holder) => holder.seen_from_here(&pin),
            None => pin,
        }
    }

    /// Command that runs in the mount namespace of the pins, outside all nodes.
    pub fn beside(&self, program: impl AsRef<OsStr>) -> Result<Command> {
        Ok(self.command(program, self.entry(None)?))
    }

    /// Command that runs in a node's network namespace; everything else is that of this machine.
    pub fn inside(&self, node: &str, program: impl AsRef<OsStr>) -> Result<Command> {
        Ok(self.command(program, self.entry(Some(node))?))
    }

    /// Command that runs as a program of a lab host. It sees the host's `/sys/class/net`, and
    /// monotonic and boot clocks that are `ahead_s` seconds ahead of this machine's. An environment
    /// variable marks the process as the lab's.
    pub fn within(&self, node: &str, program: impl AsRef<OsStr>, ahead_s: f64) -> Result<Command> {
        let mut entry = self.entry(Some(node))?;
        entry.own_sysfs = true;
        entry.clock = (ahead_s != 0.0).then(|| clock_offsets(ahead_s));
        let mut command = self.command(program, entry);
        command.env(LAB_VARIABLE, &self.mark);
        Ok(command)
    }

    fn command(&self, program: impl AsRef<OsStr>, entry: Entry) -> Command {
        let mut command = Command::new(program);
        // SAFETY: between fork and exec, `enter` only makes system calls on values prepared before.
        unsafe { command.pre_exec(move || entry.enter()) };
        command
    }

    fn entry(&self, node: Option<&str>) -> Result<Entry> {
        let open = |path: &Path| {
            File::open(path).or_peer(format_args!("the namespace {} is gone", path.display()))
        };
        let of_holder = |kind: &str| {
            self.holder
                .as_ref()
                .map(|h| open(&h.namespace(kind)))
                .transpose()
        };
        let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
        Ok(Entry {
            user: of_holder("user")?,
            mount: of_holder("mnt")?,
            network: node
                .map(|node| open(&self.pin_from_here(node)))
                .transpose()?,
            folder: CString::new(folder.as_os_str().as_bytes()).unwrap_or_default(),
            clock: None,
            own_sysfs: false,
        })
    }
}

/// The text for `/proc/self/timens_offsets` (time_namespaces(7)).
fn clock_offsets(ahead_s: f64) -> Vec<u8> {
    let seconds = ahead_s.trunc();
    let nanoseconds = ((ahead_s - seconds) * 1e9).floor();
    format!("monotonic {seconds} {nanoseconds}\nboottime {seconds} {nanoseconds}\n").into_bytes()
}

impl Entry {
    /// Joins the namespaces. Runs between fork and exec: makes only system calls and allocates no
    /// memory.
    fn enter(&self) -> io::Result<()> {
        join(self.user.as_ref(), LinkNameSpaceType::User)?;
        join(self.mount.as_ref(), LinkNameSpaceType::Mount)?;
        join(self.network.as_ref(), LinkNameSpaceType::Network)?;
        if self.own_sysfs {
            unshare(UnshareFlags::NEWNS)?;
            mount_change(
                c"/",
                MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM,
            )?;
            let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            let mount_as = |flags| mount(c"icprobe", c"/sys", c"sysfs", flags, None);
            mount_as(safe).or_else(|_| mount_as(safe | MountFlags::RDONLY))?;
        }
        if let Some(offsets) = &self.clock {
            unshare(UnshareFlags::NEWTIME)?;
            write_file(c"/proc/self/timens_offsets", offsets)?;
        }
        // Joining a mount namespace changes the working directory to its root. If the old folder
        // does not exist there, the root is kept.
        let _ = chdir(&*self.folder);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_seconds_and_nanoseconds() {
        let text = String::from_utf8(clock_offsets(7.25)).expect("text");
        assert_eq!(text, "monotonic 7 250000000\nboottime 7 250000000\n");
    }
}
