//! File tree of a test that stands in for /proc and /sys.

use std::fs;
use std::path::{Path, PathBuf};

/// Temporary folder that is removed when this value is dropped.
pub(crate) struct FakeRoot(PathBuf);

impl FakeRoot {
    /// Creates the folder; `name` must be unique among all tests.
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
