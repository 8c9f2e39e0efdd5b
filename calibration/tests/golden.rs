//! The published schema is the one of this program, and the golden records show every kind.
//!
//! That they are read and written as they were is a test of `record`.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the folder's README says of each is true of the record.
const NAMES: [&str; 10] = [
    "call",
    "campaign",
    "ethernet-loss",
    "ping-pong",
    "shared-cores",
    "short-frames",
    "tcp-unlimited",
    "two-clocks",
    "udp-paced",
    "zeromq",
];

/// Each golden record with the name of its file.
fn golden() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of golden records") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|name| name == "jsonl") {
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(&path).expect("a text");
            for line in text.lines() {
                let record = serde_json::from_str(line).expect("JSON");
                records.push((name.clone(), record));
            }
        }
    }
    records
}

#[test]
fn the_published_schema_is_the_one_of_this_program() {
    let printed = Command::new(env!("CARGO_BIN_EXE_icprobe"))
        .arg("schema")
        .output()
        .expect("icprobe runs");
    assert!(printed.status.success());
    let made = String::from_utf8(printed.stdout).expect("a text");
    assert!(
        made == include_str!("../record.schema.json"),
        "renew it: icprobe schema > calibration/record.schema.json"
    );
}

#[test]
fn the_golden_records_show_every_kind() {
    let all = golden();
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, NAMES.into_iter().collect());
    let of = |name: &str| &all.iter().find(|(given, _)| given == name).expect(name).1;
    assert!(of("udp-paced")["pacing"].is_object() && of("udp-paced")["raw_latency_s"].is_array());
    assert!(of("tcp-unlimited").get("pacing").is_none());
    assert!(of("ping-pong")["rtt_histogram"].is_object());
    assert_eq!(of("call")["settings"]["pattern"], json!("call"));
    assert!(of("short-frames").get("latency_histogram").is_none());
    assert!(of("ethernet-loss")["result"]["frames_lost"].as_u64() > Some(0));
    assert_eq!(of("two-clocks")["clock"]["same"], json!(false));
    assert!(
        of("shared-cores")["flags"]
            .as_array()
            .expect("flags")
            .contains(&json!("shared-cores"))
    );
    assert_eq!(of("zeromq")["settings"]["protocol"], json!("zeromq"));
    assert!(of("campaign")["plan"]["confidence"].is_object());
}
