//! A root of files written by a test: /proc and /sys as they could be.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own that goes away with it.
pub(crate) struct FakeRoot(PathBuf);

impl FakeRoot {
    /// `name` must be another in every test.
    pub fn new(name: &str) -> Self {
        let folder = format!("icprobe-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, file: &str, text: &str) -> &Self {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }
}

impl Drop for FakeRoot {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
