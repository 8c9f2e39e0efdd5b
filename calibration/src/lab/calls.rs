//! System calls on namespaces, safe to make between fork and exec: they take no memory.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::write;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Joins a namespace that is open; none is no change.
pub(super) fn join(namespace: Option<&File>, kind: LinkNameSpaceType) -> io::Result<()> {
    let Some(file) = namespace else {
        return Ok(());
    };
    Ok(move_into_link_name_space(file.as_fd(), Some(kind))?)
}

/// Leaves namespaces for new ones.
pub(super) fn unshare(kinds: UnshareFlags) -> io::Result<()> {
    // SAFETY: between fork and exec there is one thread, and of the kinds given here none is that
    // of the open files.
    Ok(unsafe { unshare_unsafe(kinds) }?)
}

/// Writes a whole small file with one system call.
pub(super) fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(&file, content)?;
    Ok(())
}
