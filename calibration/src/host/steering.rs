//! Cores for an interface's receive processing: packet steering (RPS) and interrupt affinity.

use super::text_of;
use crate::error::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Written files with their previous content; restored when dropped.
#[derive(Debug, Default)]
struct Restore(Vec<(PathBuf, String)>);

impl Restore {
    /// Writes `text` to all files. Returns `None`, with all files unchanged, if there are none or one is
    /// refused.
    fn write(files: Vec<PathBuf>, text: &str) -> Option<Self> {
        let mut done = Self::default();
        for file in files {
            let before = fs::read_to_string(&file).ok()?.trim().to_owned();
            fs::write(&file, text).ok()?;
            done.0.push((file, before));
        }
        (!done.0.is_empty()).then_some(done)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        for (file, before) in self.0.drain(..).rev() {
            match fs::write(&file, before) {
                // The interface is gone, and its settings with it.
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    eprintln!("icprobe: {} was not restored: {why}", file.display());
                }
                _ => {}
            }
        }
    }
}

/// Steers an interface's receive processing to given cores until dropped.
#[derive(Debug)]
pub struct SteeringGuard(#[allow(dead_code, reason = "puts the files back when dropped")] Restore);

impl SteeringGuard {
    /// Steers all receive queues of `interface` to `cpus` (Documentation/networking/scaling.rst, RPS).
    ///
    /// Returns `None` if the interface has no such queues or this process may not steer them. Fails
    /// if `cpus` is empty.
    pub fn steer(interface: &str, cpus: &[usize]) -> Result<Option<Self>> {
        Self::steer_below(Path::new("/"), interface, cpus)
    }

    /// Like [`Self::steer`], with the files below `root`.
    pub fn steer_below(root: &Path, interface: &str, cpus: &[usize]) -> Result<Option<Self>> {
        let mask = cpu_mask(cpus)?;
        let queues = root.join("sys/class/net").join(interface).join("queues");
        let files = folder(&queues)
            .filter(|(name, _)| name.starts_with("rx-"))
            .map(|(_, path)| path.join("rps_cpus"))
            .collect();
        Ok(Restore::write(files, &mask).map(Self))
    }
}

/// Pins an interface's interrupts to given cores until dropped.
#[derive(Debug)]
pub struct InterruptGuard(#[allow(dead_code, reason = "puts the files back when dropped")] Restore);

impl InterruptGuard {
    /// Steers the message-signalled interrupts of the device behind `interface` to `cpus`.
    ///
    /// Returns `None` if there is no device, it has no such interrupts, or this process may not
    /// steer them. Fails if `cpus` is empty.
    pub fn steer(interface: &str, cpus: &[usize]) -> Result<Option<Self>> {
        Self::steer_below(Path::new("/"), interface, cpus)
    }

    /// Like [`Self::steer`], with the files below `root`.
    pub fn steer_below(root: &Path, interface: &str, cpus: &[usize]) -> Result<Option<Self>> {
        let mask = cpu_mask(cpus)?;
        let device = root.join("sys/class/net").join(interface).join("device");
        // A virtio interface's interrupts belong to the bus device above it.
        let places = [device.join("msi_irqs"), device.join("../msi_irqs")];
        let files = places
            .iter()
            .flat_map(|place| folder(place))
            .map(|(number, _)| root.join("proc/irq").join(number).join("smp_affinity"))
            .collect();
        Ok(Restore::write(files, &mask).map(Self))
    }
}

/// The steering masks of an interface's receive queues: (queue, mask), sorted.
pub(super) fn receive_steering(root: &Path, interface: &str) -> Vec<(String, String)> {
    let queues = root.join("sys/class/net").join(interface).join("queues");
    let mut masks: Vec<_> = folder(&queues)
        .filter(|(name, _)| name.starts_with("rx-"))
        .filter_map(|(name, path)| Some((name, text_of(&path, "rps_cpus")?)))
        .collect();
    masks.sort();
    masks
}

fn folder(path: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|e| (e.file_name().to_string_lossy().into_owned(), e.path()))
}

/// Formats cores as a kernel mask: hexadecimal groups of 32 bits, highest first, separated by commas.
fn cpu_mask(cpus: &[usize]) -> Result<String> {
    let Some(&last) = cpus.iter().max() else {
        return Err(Error::question("no core to steer to: give at least one"));
    };
    let mut groups = vec![0_u32; last / 32 + 1];
    for cpu in cpus {
        groups[cpu / 32] |= 1 << (cpu % 32);
    }
    let mut words = groups.iter().rev();
    let first = words.next().map_or(String::new(), |g| format!("{g:x}"));
    Ok(words.fold(first, |mask, group| format!("{mask},{group:08x}")))
}
