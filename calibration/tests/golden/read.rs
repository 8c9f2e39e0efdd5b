//! The golden records as they stand beside this file.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// Each golden record with the name of its file.
pub fn golden() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of golden records") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let text = fs::read_to_string(&path).expect("a text");
            let parse = |line| serde_json::from_str(line).expect("JSON");
            records.extend(text.lines().map(|line| (name.to_string(), parse(line))));
        }
    }
    assert!(!records.is_empty());
    records
}
