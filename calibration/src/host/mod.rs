//! Host of an end: counters, settings, and the limits of icprobe on it.
//!
//! Readers take the root of the file system as an argument, so that tests can supply files.

pub mod cpu;
pub mod environment;
#[cfg(test)]
pub(crate) mod fake;
mod netlink;
pub mod network;
pub mod privileges;
pub mod scheduling;
pub mod selfcheck;
pub mod settings;
pub mod steering;

use std::fs;
use std::path::Path;

/// Content of a small file without surrounding white space; `None` if unreadable or empty.
fn text_of(root: &Path, path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Content of a file that holds one number.
fn number_of<T: std::str::FromStr>(root: &Path, path: impl AsRef<Path>) -> Option<T> {
    text_of(root, path)?.parse().ok()
}

/// Whether the root is that of the live system, so that system calls may be used as well.
fn is_live(root: &Path) -> bool {
    root == Path::new("/")
}
