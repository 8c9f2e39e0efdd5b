use super::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("icprobe-campaign-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runner that returns the given outcomes in order, and then only good runs.
struct Synthetic {
    outcomes: Vec<Result<Measured>>,
    asked: Vec<RunSpec>,
    recovered: u32,
}

impl Synthetic {
    fn new(outcomes: Vec<Result<Measured>>) -> Self {
        Self {
            outcomes,
            asked: Vec::new(),
            recovered: 0,
        }
    }
}

fn good(flags: &str) -> Result<Measured> {
    let line = format!(
        r#"{{"schema_version":1,"point":{{}},"result":{{"goodput_bps":1e8,"frames_sent":5}},"flags":[{flags}]}}"#
    );
    Ok(Measured {
        line,
        background: Vec::new(),
    })
}

impl Runner for Synthetic {
    fn run(&mut self, spec: &RunSpec) -> Result<Measured> {
        self.asked.push(spec.clone());
        if self.outcomes.is_empty() {
            good("")
        } else {
            self.outcomes.remove(0)
        }
    }

    fn recover(&mut self) -> Result<()> {
        self.recovered += 1;
        Ok(())
    }
}

fn plan(body: &str) -> Plan {
    Plan::parse(&format!(
        "name = \"p\"\ndescription = \"d\"\nsource = \"s\"\n{body}"
    ))
    .unwrap()
}

const PLAN: &str = "[[grid]]\nprotocol = \"tcp\"\npayload = [\"1 B\", \"2 B\", \"3 B\"]\n";

fn context() -> Context {
    Context {
        place: "lab:x".into(),
        line_rate_bps: Some(1e8),
        short: false,
    }
}

fn conduct(plan: &Plan, scratch: &Scratch, runner: &mut Synthetic) -> (u8, String) {
    let mut campaign = Campaign::open(plan, &context(), &scratch.0).unwrap();
    let summary = campaign.conduct(runner, &mut Progress::quiet()).unwrap();
    (
        summary.exit_code(campaign.agenda()),
        summary.text(campaign.agenda()),
    )
}

#[test]
fn every_run_is_recorded_with_its_place_in_the_plan() {
    let scratch = Scratch::new("all");
    let plan = plan(PLAN);
    let (code, text) = conduct(&plan, &scratch, &mut Synthetic::new(Vec::new()));
    assert_eq!(code, 0);
    assert!(text.contains("100 Mb/s"), "{text}");
    let records = std::fs::read_to_string(&scratch.0).unwrap();
    assert_eq!(records.lines().count(), 3);
    for line in records.lines() {
        assert!(
            line.starts_with(r#"{"schema_version":1,"#),
            "the order of the keys is kept"
        );
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let mark = reading::mark(&record).unwrap();
        assert_eq!(
            (mark.name.as_str(), mark.digest),
            ("p", plan.digest(&context()))
        );
    }
    let mut again = Synthetic::new(Vec::new());
    assert_eq!(conduct(&plan, &scratch, &mut again).0, 0);
    assert!(again.asked.is_empty());
}

#[test]
fn a_failed_run_is_tried_once_more() {
    let scratch = Scratch::new("retry");
    let mut runner = Synthetic::new(vec![Err(Error::peer("gone"))]);
    assert_eq!(conduct(&plan(PLAN), &scratch, &mut runner).0, 0);
    assert_eq!((runner.asked.len(), runner.recovered), (4, 1));
    assert_eq!(runner.asked[0], runner.asked[1]);
}

#[test]
fn a_run_that_fails_twice_is_missing_and_made_by_the_next_campaign() {
    let scratch = Scratch::new("missing");
    let mut runner = Synthetic::new(vec![Err(Error::peer("gone")), Err(Error::peer("gone"))]);
    let (code, text) = conduct(&plan(PLAN), &scratch, &mut runner);
    assert_eq!(code, 3);
    assert!(text.contains("missing") && text.contains("gone"), "{text}");
    let mut next = Synthetic::new(Vec::new());
    assert_eq!(conduct(&plan(PLAN), &scratch, &mut next).0, 0);
    assert_eq!(next.asked, [runner.asked[0].clone()]);
}

#[test]
fn what_is_printed_must_be_a_record() {
    let scratch = Scratch::new("nonsense");
    let nonsense = |line: &str| {
        Ok(Measured {
            line: line.into(),
            background: Vec::new(),
        })
    };
    let mut runner = Synthetic::new(vec![nonsense("{}"), nonsense("{\"a\":"), good("")]);
    assert_eq!(conduct(&plan(PLAN), &scratch, &mut runner).0, 3);
}

#[test]
fn refused_points_end_with_two_and_optional_ones_do_not() {
    for (optional, expected) in [("", 2), ("optional = true\n", 0)] {
        let scratch = Scratch::new("refused");
        let refuse = || Err(Error::question("no draft API"));
        let mut runner = Synthetic::new(vec![refuse(), refuse(), refuse()]);
        let body = format!("[repeats]\nmin = 3\nmax = 3\n{PLAN}{optional}");
        let (code, text) = conduct(&plan(&body), &scratch, &mut runner);
        assert_eq!((code, runner.asked.len()), (expected, 3));
        assert!(text.contains("no draft API"), "{text}");
    }
}

#[test]
fn a_peer_that_is_gone_ends_the_campaign_early() {
    let scratch = Scratch::new("early");
    let gone = (0..100).map(|_| Err(Error::peer("gone"))).collect();
    let mut runner = Synthetic::new(gone);
    let body = PLAN.replace(
        "\"3 B\"",
        "\"3 B\", \"4 B\", \"5 B\", \"6 B\", \"7 B\", \"8 B\"",
    );
    let (code, text) = conduct(&plan(&body), &scratch, &mut runner);
    assert_eq!((code, runner.asked.len()), (3, 10));
    assert!(text.contains("run the same command again"), "{text}");
}

#[test]
fn a_flagged_run_ends_with_one() {
    let scratch = Scratch::new("flagged");
    assert_eq!(
        conduct(
            &plan(PLAN),
            &scratch,
            &mut Synthetic::new(vec![good("\"stalled\"")])
        )
        .0,
        1
    );
    assert_eq!(
        conduct(&plan(PLAN), &scratch, &mut Synthetic::new(Vec::new())).0,
        1
    );
}

#[test]
fn another_plan_does_not_write_into_the_records() {
    let scratch = Scratch::new("other");
    conduct(&plan(PLAN), &scratch, &mut Synthetic::new(Vec::new()));
    let other = plan(&PLAN.replace("\"3 B\"", "\"4 B\""));
    let error = Campaign::open(&other, &context(), &scratch.0)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&other.digest(&context())) && error.contains(&plan(PLAN).digest(&context()))
    );
}

#[test]
fn marks_of_a_search_say_what_was_found() {
    let scratch = Scratch::new("search");
    let body =
        "[search]\ntrials = 1\n[[grid]]\nsearch = true\nprotocol = \"udp\"\npayload = \"1 kB\"";
    conduct(&plan(body), &scratch, &mut Synthetic::new(Vec::new()));
    let records = std::fs::read_to_string(&scratch.0).unwrap();
    let record: serde_json::Value = serde_json::from_str(records.trim()).unwrap();
    let search = reading::mark(&record).unwrap().search.unwrap();
    assert!(search.ended && search.passed);
    assert_eq!((search.load_bps, search.loss_free_bps), (1e8, Some(1e8)));
}

#[test]
fn the_mark_is_added_at_the_end_of_the_line() {
    let mark = PlanMark {
        name: "p".into(),
        digest: "d".into(),
        point: "x".into(),
        repeat: 0,
        kind: crate::plan::RunKind::Grid,
        held_out: false,
        confidence: None,
        search: None,
        background: Vec::new(),
    };
    for line in ["{}", "{\"a\": 1}", "{\"a\": 1 }\n"] {
        let record: serde_json::Value =
            serde_json::from_str(&marked(line, &mark).unwrap()).unwrap();
        assert_eq!(record["plan"]["name"], "p");
    }
}

#[test]
fn specs_carry_what_the_plan_says() {
    let scratch = Scratch::new("specs");
    let mut runner = Synthetic::new(Vec::new());
    conduct(&plan(PLAN), &scratch, &mut runner);
    let payloads: BTreeSet<String> = runner
        .asked
        .iter()
        .map(|spec| spec.point.options["payload"].to_string())
        .collect();
    let expected = [1, 2, 3].map(|n| format!("\"{n} B\""));
    assert_eq!(payloads, BTreeSet::from(expected));
}
