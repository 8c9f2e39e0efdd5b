//! System calls on namespaces, safe to make between fork and exec: they take no memory.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Joins a namespace that is open; none is no change.
pub(super) fn join(namespace: Option<&File>, kind: i32) -> io::Result<()> {
    let Some(file) = namespace else {
        return Ok(());
    };
    // SAFETY: setns takes an open descriptor and touches no memory.
    result(unsafe { libc::setns(file.as_raw_fd(), kind) })
}

/// Leaves namespaces for new ones.
pub(super) fn unshare(kinds: i32) -> io::Result<()> {
    // SAFETY: unshare touches no memory.
    result(unsafe { libc::unshare(kinds) })
}

/// Mounts something, or changes how mounts spread.
pub(super) fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all texts end with zero or are null, and no data is passed.
    result(unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            std::ptr::null(),
        )
    })
}

/// Writes a whole small file with one system call.
pub(super) fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends with zero.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    result(file)?;
    // SAFETY: the content is as long as it says.
    let written = unsafe { libc::write(file, content.as_ptr().cast(), content.len()) };
    let outcome = if written < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    };
    // SAFETY: opened above.
    unsafe { libc::close(file) };
    outcome
}

/// What a system call said that tells of failure by a negative number.
pub(super) fn result(code: i32) -> io::Result<()> {
    if code < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
