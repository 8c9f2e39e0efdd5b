//! A campaign killed with SIGKILL at random moments: the same command goes on, nothing lost, nothing twice.
//!
//! The campaign is another process: this test binary once more, asked for the ignored test below.

use crate::own_name;
use icprobe::campaign::{Campaign, Measured, Progress, Runner};
use icprobe::error::Result;
use icprobe::plan::{Context, Plan, RunSpec};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Names the records of the campaign in the other process.
const RECORDS: &str = "ICPROBE_TEST_CAMPAIGN_RECORDS";
/// How often it is killed.
const KILLS: u32 = 30;

const PLAN: &str = r#"
name = "killed"
description = "a campaign that is killed"
source = "none"
[repeats]
min = 3
max = 6
width = 0.05
[reference]
every = 7
protocol = "udp"
payload = "99 B"
[search]
lowest = "1 Mb/s"
highest = "90 Mb/s"
resolution = "2 Mb/s"
[[grid]]
protocol = ["tcp", "udp"]
payload = ["1 B", "2 B", "3 B", "4 B", "5 B"]
cores = 1
load = ["10 %", "50 %"]
[[grid]]
held_out = true
protocol = "tcp"
payload = ["6 B", "7 B"]
load = "50 %"
[[grid]]
search = true
protocol = "udp"
payload = ["1 kB", "2 kB"]
"#;

fn plan() -> (Plan, Context) {
    let context = Context {
        place: "lab:none".into(),
        line_rate_bps: Some(1e8),
        short: false,
    };
    (Plan::parse(PLAN).unwrap(), context)
}

/// Takes its time, writes down what it was asked, and answers with values that follow from the question alone.
struct Synthetic {
    asked: PathBuf,
}

impl Runner for Synthetic {
    fn run(&mut self, spec: &RunSpec) -> Result<Measured> {
        let id = spec.id();
        let mut asked = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.asked)
            .unwrap();
        writeln!(asked, "{id:?}").unwrap();
        thread::sleep(Duration::from_millis(4));
        let noise = if id.point.starts_with(|c: char| c < '8') {
            0
        } else {
            id.repeat % 3
        };
        let lost = u32::from(spec.load_bps.unwrap_or(0.0) > 33e6);
        // Padding makes the line longer than a page.
        let padding = "x".repeat(9_000);
        let line = format!(
            r#"{{"schema_version":1,"point":{{}},"result":{{"goodput_bps":{},"frames_sent":100000,"frames_lost":{lost}}},"flags":[],"padding":"{padding}"}}"#,
            100 + 20 * noise
        );
        Ok(Measured {
            line,
            background: Vec::new(),
        })
    }
}

fn conduct(records: &Path) {
    let (plan, context) = plan();
    let mut campaign = Campaign::open(&plan, &context, records).unwrap();
    let mut runner = Synthetic {
        asked: records.with_extension("asked"),
    };
    campaign
        .conduct(&mut runner, &mut Progress::quiet())
        .unwrap();
}

#[test]
#[ignore = "the campaign of the other process, started by the test beside"]
fn the_other_process() {
    if let Some(records) = std::env::var_os(RECORDS) {
        conduct(Path::new(&records));
    }
}

fn start(records: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "campaign_kill::the_other_process", "--ignored"])
        .env(RECORDS, records)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The runs of a file of records, in its order.
fn runs(records: &Path) -> Vec<String> {
    let text = fs::read_to_string(records).unwrap();
    let run = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let plan = &record["plan"];
        format!(
            "{} {} {} {}",
            plan["point"], plan["kind"], plan["repeat"], plan["search"]
        )
    };
    text.lines().map(run).collect()
}

/// Moments between 5 and 80 ms after the start, other ones in each run of the test.
fn moment() -> Duration {
    let mut random = [0; 2];
    getrandom::fill(&mut random).unwrap();
    Duration::from_micros(5000 + u64::from(u16::from_ne_bytes(random)) * 75_000 / 65_536)
}

#[test]
fn killed_at_thirty_moments_a_campaign_makes_exactly_the_plans_runs() {
    let folder = std::env::temp_dir().join(own_name("kill"));
    fs::create_dir_all(&folder).unwrap();
    let (whole, killed) = (folder.join("whole.jsonl"), folder.join("killed.jsonl"));
    conduct(&whole);

    let mut kills = 0;
    while kills < KILLS {
        let mut other = start(&killed);
        thread::sleep(moment());
        let ended = other.try_wait().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        if ended.is_some_and(|status| status.success()) {
            // It reached the end before all kills: what is to be killed begins anew.
            assert_eq!(runs(&killed), runs(&whole));
            fs::remove_file(&killed).unwrap();
        }
        kills += u32::from(ended.is_none());
    }
    assert!(start(&killed).wait().unwrap().success());

    let (expected, found) = (runs(&whole), runs(&killed));
    assert_eq!(
        found.iter().collect::<BTreeSet<_>>().len(),
        found.len(),
        "a run stands twice"
    );
    assert_eq!(found, expected);
    let asked = fs::read_to_string(killed.with_extension("asked"))
        .unwrap()
        .lines()
        .count();
    eprintln!("{} runs, {KILLS} kills, {asked} runs begun", expected.len());
    fs::remove_dir_all(&folder).unwrap();
}
