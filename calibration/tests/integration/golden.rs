//! The published schema is the one of this program, and the golden records show every kind.
//!
//! That they are read and written as they were is a test of `record`.

use read::golden;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Command;

#[path = "../golden/read.rs"]
mod read;

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

#[test]
fn the_published_schema_is_the_one_of_this_program() {
    let printed = Command::new(env!("CARGO_BIN_EXE_icprobe"))
        .arg("schema")
        .output()
        .expect("icprobe runs");
    assert!(printed.status.success());
    let made = String::from_utf8(printed.stdout).expect("a text");
    assert!(
        made == include_str!("../../record.schema.json"),
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
