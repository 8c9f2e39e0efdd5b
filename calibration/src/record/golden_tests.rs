//! Golden records are records of this version: reading and writing them leaves them unchanged.

use super::{Record, SCHEMA_VERSION};
use crate::plan::mark::PlanMark;
use read::golden;
use serde_json::Value;

#[path = "../../tests/golden/read.rs"]
mod read;

#[test]
fn every_golden_record_is_read_and_written_as_it_was() {
    for (name, golden) in golden() {
        let record: Record = serde_json::from_value(golden.clone())
            .unwrap_or_else(|why| panic!("{name} is no record of this version: {why}"));
        assert_eq!(record.schema_version, SCHEMA_VERSION, "{name}");
        let written = serde_json::to_value(&record).expect("a record can be written");
        assert_eq!(written, golden, "{name}");
    }
}

#[test]
fn the_mark_of_a_campaign_is_read_and_written_as_it_was() {
    let marks: Vec<Value> = golden()
        .into_iter()
        .filter_map(|(_, record)| record.get("plan").cloned())
        .collect();
    assert!(!marks.is_empty());
    for golden in marks {
        let mark: PlanMark = serde_json::from_value(golden.clone()).expect("a mark");
        assert_eq!(serde_json::to_value(&mark).expect("JSON"), golden);
    }
}
