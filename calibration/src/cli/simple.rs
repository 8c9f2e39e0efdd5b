//! The commands that take hardly an argument.

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
    /// Where to write it; an existing file is refused. Copy it to the other host by a safe way (scp).
    file: PathBuf,
}

impl Key {
    /// Makes the key.
    pub fn run(self) -> Result<u8> {
        crate::session::key::Key::create(&self.file)?;
        eprintln!(
            "a new key for both ends is in {}; keep it readable for you alone",
            self.file.display()
        );
        Ok(0)
    }
}

/// Arguments of `icprobe selfcheck`.
#[derive(Debug, Args)]
pub struct Selfcheck {
    /// The short measurement that stands in every record.
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
    /// The interface to describe with it.
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
