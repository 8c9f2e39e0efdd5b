//! Commands with at most one argument: `key`, `selfcheck`, `environment`, `schema`.

use super::output::print_json;
use crate::error::Result;
use crate::host::environment::Environment;
use crate::host::selfcheck::Instrument;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Arguments of `icprobe key`.
#[derive(Debug, Args)]
pub struct Key {
    /// File to write. Existing files are not overwritten. Copy the file to the other host over a secure
    /// channel (scp).
    file: PathBuf,
}

impl Key {
    /// Makes the key.
    pub fn run(self) -> Result<u8> {
        crate::session::key::Key::create(&self.file)?;
        eprintln!(
            "wrote a new key for both ends to {}; keep it readable only by you",
            self.file.display()
        );
        Ok(0)
    }
}

/// Arguments of `icprobe selfcheck`.
#[derive(Debug, Args)]
pub struct Selfcheck {
    /// Run the short measurement that is part of every record.
    #[arg(long)]
    quick: bool,
}

impl Selfcheck {
    /// Measures and prints.
    pub fn run(self) -> Result<u8> {
        print(&Instrument::measure(self.quick))
    }
}

/// Arguments of `icprobe environment`.
#[derive(Debug, Args)]
pub struct EnvironmentOf {
    /// Network interface to describe as well.
    #[arg(long)]
    interface: Option<String>,
}

impl EnvironmentOf {
    /// Reads and prints.
    pub fn run(self) -> Result<u8> {
        print(&Environment::read(
            Path::new("/"),
            self.interface.as_deref(),
        ))
    }
}

/// Arguments of `icprobe schema`.
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    /// Prints.
    pub fn run(self) -> Result<u8> {
        print(&super::schema::of_record())
    }
}

fn print(value: &impl Serialize) -> Result<u8> {
    print_json(value).map(|()| 0)
}
