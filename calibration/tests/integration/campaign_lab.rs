//! Campaigns for real, in labs of their own: the short form of plans, and kills.
//!
//! Every plan and fifty kills take minutes: they are ignored here and run by `make measure`.
//! Needs network namespaces: root, or a kernel that lets users have them.

use crate::own_name;
use icprobe::lab::{self, Topology};
use icprobe::plan::catalogue::PLANS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Plans of each kind: all protocols, a search, three hosts, and ZeroMQ with its options.
const SOME: [&str; 4] = ["goodput", "loss-free", "two-senders", "zeromq-batch"];

/// A folder of its own that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(own_name(name));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// False, said aloud, where no lab can be built; in CI that is a failure.
fn labs_work() -> bool {
    let name = own_name("try");
    let built = Topology::load("direct")
        .and_then(|t| t.renamed(&name))
        .and_then(|t| lab::up(&t));
    let _ = lab::down(&name);
    if let Err(error) = &built {
        assert!(std::env::var_os("CI").is_none(), "no lab in CI: {error}");
        eprintln!("skipped, no lab can be built here: {error}");
    }
    built.is_ok()
}

fn campaign(plan: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_icprobe"));
    command
        .args(["campaign", plan, "--lab", "--short"])
        .stdin(Stdio::null());
    command
}

/// Point, kind and repeat of every record.
fn runs(records: &Path) -> Vec<String> {
    let text = fs::read_to_string(records).unwrap();
    let run = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let plan = &record["plan"];
        format!("{} {} {}", plan["point"], plan["kind"], plan["repeat"])
    };
    text.lines().map(run).collect()
}

/// Number of runs of a plan's short form that are made in any case, and at most.
fn planned(plan: &str) -> (u64, u64) {
    let output = campaign(plan).arg("--dry-run").output().unwrap();
    let planned: Value = serde_json::from_slice(&output.stdout).unwrap();
    (
        planned["runs_least"].as_u64().unwrap(),
        planned["runs_most"].as_u64().unwrap(),
    )
}

#[test]
fn plans_run_in_their_short_form() {
    run_in_their_short_form(SOME);
}

#[test]
#[ignore = "minutes of measuring: make measure"]
fn every_plan_runs_in_its_short_form() {
    run_in_their_short_form(PLANS.iter().map(|(name, _)| *name));
}

fn run_in_their_short_form(plans: impl IntoIterator<Item = &'static str>) {
    if !labs_work() {
        return;
    }
    let folder = Folder::new("plans");
    for plan in plans {
        let records = folder.0.join(format!("{plan}.jsonl"));
        let output = campaign(plan).arg("-o").arg(&records).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{plan}: {said}"
        );
        let made = runs(&records);
        let left_out = said
            .lines()
            .filter(|line| line.starts_with("not offered"))
            .count() as u64;
        let (least, most) = planned(plan);
        assert!(
            (least..=most).contains(&(made.len() as u64 + left_out)),
            "{plan}: {said}"
        );
        assert_eq!(
            made.iter().collect::<BTreeSet<_>>().len(),
            made.len(),
            "{plan}"
        );
    }
    let left: Vec<_> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(
        left.iter()
            .all(|path| path.extension().is_some_and(|e| e == "jsonl")),
        "{left:?}"
    );
}

fn start(records: &Path) -> Child {
    let mut command = campaign("held-out");
    let said = fs::File::create(records.with_extension("said")).unwrap();
    command
        .arg("-o")
        .arg(records)
        .stdout(Stdio::null())
        .stderr(said);
    command.spawn().unwrap()
}

/// What a campaign on these records ended with must be 0 or 1; else what it said is shown.
fn check_end(status: ExitStatus, records: &Path) {
    let said = fs::read_to_string(records.with_extension("said")).unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{status}: {said}");
}

/// Moments between 50 ms and 1.3 s after the start.
fn moment() -> Duration {
    let mut random = [0; 2];
    getrandom::fill(&mut random).unwrap();
    Duration::from_micros(50_000 + u64::from(u16::from_ne_bytes(random)) * 1_250_000 / 65_536)
}

/// Processes that know of these records: campaigns, responders and runs by their key.
fn processes(records: &Path) -> Vec<String> {
    let known = records.to_string_lossy().into_owned();
    let lines = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).replace('\0', " "))
        });
    lines.filter(|line| line.contains(&known)).collect()
}

#[test]
fn killed_for_real_a_campaign_makes_exactly_the_plans_runs() {
    killed(12);
}

#[test]
#[ignore = "half a minute of kills: make measure"]
fn killed_fifty_times_a_campaign_makes_exactly_the_plans_runs() {
    killed(50);
}

fn killed(times: u32) {
    if !labs_work() {
        return;
    }
    let folder = Folder::new(&format!("killed-{times}"));
    let records = folder.0.join("records.jsonl");
    let (least, most) = planned("held-out");
    assert_eq!(least, most);
    let complete = || {
        let made = runs(&records);
        assert_eq!(
            made.iter().collect::<BTreeSet<_>>().len() as u64,
            least,
            "{made:?}"
        );
        assert_eq!(made.len() as u64, least);
    };
    let mut kills = 0;
    while kills < times {
        let mut other = start(&records);
        thread::sleep(moment());
        if let Some(status) = other.try_wait().unwrap() {
            check_end(status, &records);
            complete();
            fs::remove_file(&records).unwrap();
            continue;
        }
        other.kill().unwrap();
        other.wait().unwrap();
        kills += 1;
    }
    let killed = Instant::now();
    while !processes(&records).is_empty() {
        assert!(
            killed.elapsed() < Duration::from_secs(10),
            "children outlive the campaign: {:?}",
            processes(&records)
        );
        thread::sleep(Duration::from_millis(50));
    }
    check_end(start(&records).wait().unwrap(), &records);
    complete();
    assert!(!folder.0.join("records.jsonl.work").exists());
}
