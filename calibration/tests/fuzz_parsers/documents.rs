//! Plans and topologies, which a person wrote or took from somebody else.

use crate::{cases, fuzz_within};
use icprobe::lab::Topology;
use icprobe::plan::Plan;
use icprobe::plan::catalogue::PLANS;
use std::fs;
use std::path::Path;

/// Memory that a document may take: its tree of values stands beside the text.
const MEMORY_BYTES: usize = 1 << 20;
const MEMORY_PER_BYTE: usize = 512;

#[test]
fn plans() {
    let right: Vec<Vec<u8>> = PLANS
        .iter()
        .map(|(_, text)| text.as_bytes().to_vec())
        .collect();
    fuzz_document("plan", &right, |text| {
        let _ = Plan::parse(text);
    });
}

#[test]
fn topologies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies");
    let right: Vec<Vec<u8>> = Topology::known_names()
        .into_iter()
        .map(|name| {
            fs::read(folder.join(format!("{name}.toml"))).expect("a topology of this crate")
        })
        .collect();
    fuzz_document("topology", &right, |text| {
        let _ = Topology::parse(text);
    });
}

fn fuzz_document(name: &str, right: &[Vec<u8>], parse: impl Fn(&str)) {
    fuzz_within(
        MEMORY_BYTES,
        MEMORY_PER_BYTE,
        cases(),
        name,
        right,
        |bytes| {
            parse(&String::from_utf8_lossy(bytes));
        },
    );
}
