//! Offloads and MTU of an interface: read, set and restore.

use crate::device::{Device, offload_names};
use crate::error::{Context, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of an interface that a run may ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceSettings {
    /// MTU, in bytes; absent: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Offloads by the short names of `ethtool -K` (rx, tx, sg, tso, gso, gro, lro), on or off.
    #[serde(default)]
    pub offloads: BTreeMap<String, bool>,
}

impl InterfaceSettings {
    /// Reads the current settings of the interface.
    pub fn read(interface: &str) -> Result<Self> {
        let device = Device::open(interface)?;
        let mtu = device.mtu_bytes();
        Ok(Self {
            mtu_bytes: Some(mtu.or_question(format!("cannot read the MTU of {interface}"))?),
            offloads: device.offloads(),
        })
    }

    /// Parses offloads written as `tso=off,gso=on`; an empty text means none.
    pub fn parse_offloads(text: &str) -> Result<BTreeMap<String, bool>> {
        let mut offloads = BTreeMap::new();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (name, on) = match part.split_once('=') {
                Some((name, "on")) => (name, true),
                Some((name, "off")) => (name, false),
                _ => return Err(wrong_offload(part)),
            };
            if !offload_names().any(|known| known == name) {
                return Err(wrong_offload(part));
            }
            if offloads.insert(name.to_owned(), on).is_some() {
                return Err(Error::question(format!(
                    "offload {name} is given twice: give it once"
                )));
            }
        }
        Ok(offloads)
    }

    /// Whether no setting is requested.
    pub fn is_empty(&self) -> bool {
        self.mtu_bytes.is_none() && self.offloads.is_empty()
    }

    /// Applies the settings until the guard is dropped. Values that already match are not touched.
    ///
    /// If the interface or the kernel refuses, returns an error and leaves the interface unchanged.
    pub fn apply(&self, interface: &str) -> Result<SettingsGuard> {
        let guard = SettingsGuard {
            interface: interface.to_owned(),
            before: Self::read(interface)?,
        };
        // If this fails, the guard is dropped and restores the previous changes.
        self.set(interface, &guard.before)?;
        Ok(guard)
    }

    fn set(&self, interface: &str, now: &Self) -> Result<()> {
        let device = Device::open(interface)?;
        if let Some(mtu) = self.mtu_bytes.filter(|_| self.mtu_bytes != now.mtu_bytes) {
            let done = device.set_mtu(mtu);
            done.or_question(format!("{interface} does not take an MTU of {mtu} B"))?;
        }
        for name in offload_names() {
            let Some(&on) = self.offloads.get(name) else {
                continue;
            };
            if device.offload(name).ok() != Some(on) {
                let word = if on { "on" } else { "off" };
                let done = device.set_offload(name, on);
                done.or_question(format!("{interface} does not switch offload {name} {word}"))?;
            }
            if device.offload(name).ok() != Some(on) {
                return Err(Error::question(format!(
                    "{interface} keeps offload {name} as it is: leave it out or take another interface"
                )));
            }
        }
        Ok(())
    }
}

fn wrong_offload(part: &str) -> Error {
    let names = offload_names().collect::<Vec<_>>().join(", ");
    Error::question(format!(
        "{part:?} is no offload: write NAME=on or NAME=off with a NAME of {names}"
    ))
}

/// Restores the interface's settings when dropped.
#[derive(Debug)]
pub struct SettingsGuard {
    interface: String,
    before: InterfaceSettings,
}

impl Drop for SettingsGuard {
    fn drop(&mut self) {
        let Ok(now) = InterfaceSettings::read(&self.interface) else {
            return; // The interface is gone, and its settings with it.
        };
        if let Err(why) = self.before.set(&self.interface, &now) {
            eprintln!(
                "icprobe: settings of {} were not restored: {why}",
                self.interface
            );
        }
    }
}
