use super::*;
use crate::plan::Context;
use crate::plan::search::Trial;

fn context() -> Context {
    Context {
        place: "lab:direct".into(),
        line_rate_bps: Some(1e8),
        short: false,
    }
}

fn agenda(body: &str) -> Agenda {
    let plan = Plan::parse(&format!(
        "name = \"p\"\ndescription = \"d\"\nsource = \"s\"\n{body}"
    ))
    .unwrap();
    let digest = plan.digest(&context());
    Agenda::new(&plan, plan.points(&context()).unwrap(), &digest, Some(1e8)).unwrap()
}

fn reading(goodput: f64) -> Reading {
    Reading {
        values: BTreeMap::from([("goodput_bps".to_owned(), goodput)]),
        flags: Vec::new(),
        trial: Trial {
            sent: 1_000_000,
            lost: 0,
            rate_kept: true,
        },
    }
}

/// Makes all runs; `value` gives each run's goodput.
fn finish(agenda: &mut Agenda, value: impl Fn(&RunSpec) -> f64) -> Vec<RunSpec> {
    let mut made = Vec::new();
    while let Some(spec) = agenda.next() {
        agenda.learn(spec.id(), reading(value(&spec)));
        made.push(spec);
        assert!(made.len() < 10_000, "no end");
    }
    made
}

const REPEATED: &str = "[repeats]\nmin = 3\nmax = 6\nwidth = 0.05\n[[grid]]\nprotocol = \"tcp\"\npayload = [\"1 B\", \"2 B\"]\n";

#[test]
fn runs_that_agree_stop_at_the_least_and_others_at_the_most() {
    let mut agenda = agenda(REPEATED);
    let steady = |spec: &RunSpec| spec.point.options["payload"].as_str() == Some("1 B");
    let made = finish(&mut agenda, |spec| {
        if steady(spec) {
            100.0
        } else {
            f64::from(1 + spec.repeat % 2)
        }
    });
    let count = |wanted: bool| made.iter().filter(|spec| steady(spec) == wanted).count();
    assert_eq!((count(true), count(false)), (3, 6));
    let marks: Vec<_> = (agenda.points().iter())
        .map(|point| agenda.confidence(&point.id, point.kind, 5).unwrap())
        .collect();
    assert_eq!(marks.iter().filter(|mark| mark.met).count(), 1);
    assert!(marks.iter().all(|mark| mark.adjusted_confidence > 0.98));
    assert_eq!(agenda.remaining(), ((0, 0.0), (0, 0.0)));
}

#[test]
fn rounds_are_interleaved() {
    let mut agenda = agenda(REPEATED);
    let made = finish(&mut agenda, |_| 1.0);
    let repeats: Vec<u32> = made.iter().map(|spec| spec.repeat).collect();
    assert_eq!(repeats, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn a_metric_that_is_not_measured_is_never_met() {
    let mut agenda = agenda(&REPEATED.replace("width", "metrics = [\"nothing\"]\nwidth"));
    assert_eq!(finish(&mut agenda, |_| 1.0).len(), 12);
}

#[test]
fn stopping_anywhere_and_going_on_makes_the_same_runs() {
    let body = format!(
        "[reference]\nevery = 3\nprotocol = \"udp\"\npayload = \"9 B\"\n{REPEATED}cores = [1, 2]\n"
    );
    let value = |spec: &RunSpec| match spec.point.options["payload"].as_str() {
        Some("1 B") => 100.0,
        _ => f64::from(1 + spec.repeat % 3),
    };
    let whole = finish(&mut agenda(&body), value);
    for stop in 0..=whole.len() {
        let mut again = agenda(&body);
        for spec in &whole[..stop] {
            again.learn(spec.id(), reading(value(spec)));
        }
        assert_eq!(
            finish(&mut again, value),
            whole[stop..],
            "stopped after {stop}"
        );
    }
}

#[test]
fn reference_runs_follow_the_runs_that_are_made() {
    let body = format!("[reference]\nevery = 2\nprotocol = \"udp\"\npayload = \"9 B\"\n{REPEATED}");
    let mut agenda = agenda(&body);
    let ((least, _), (most, _)) = agenda.remaining();
    assert_eq!((least, most), (6 + 3, 12 + 6));
    let made = finish(&mut agenda, |_| 1.0);
    let references = made
        .iter()
        .filter(|spec| spec.point.kind == RunKind::Reference)
        .count();
    assert_eq!((made.len(), references), (9, 3));
}

#[test]
fn what_failed_or_is_refused_is_left_out() {
    let mut agenda = agenda(REPEATED);
    let first = agenda.next().unwrap();
    agenda.give_up(first.id());
    let second = agenda.next().unwrap();
    assert_ne!(first.id(), second.id());
    agenda.refuse(&second.id());
    let made = finish(&mut agenda, |_| 1.0);
    assert!(made.iter().all(|spec| spec.point.id == first.point.id));
    // The one given up is missing: repeats go on until three runs agree.
    assert_eq!(
        made.iter().map(|spec| spec.repeat).collect::<Vec<_>>(),
        [1, 2, 3]
    );
}

#[test]
fn a_search_bisects_and_tells_what_it_found() {
    let mut agenda = agenda(
        "[search]\nlowest = \"10 %\"\nhighest = \"90 %\"\nresolution = \"10 %\"\n[[grid]]\nsearch = true\nprotocol = \"udp\"\npayload = \"1 kB\"",
    );
    let mut last = None;
    let mut loads = Vec::new();
    while let Some(spec) = agenda.next() {
        let load = spec.load_bps.unwrap();
        let mut trial = reading(1.0);
        trial.trial.lost = u64::from(load > 55e6);
        agenda.learn(spec.id(), trial);
        loads.push(load);
        last = agenda.search(&spec);
    }
    assert_eq!(loads, [90e6, 10e6, 50e6, 70e6, 60e6]);
    let last = last.unwrap();
    assert!(last.ended && !last.passed);
    assert_eq!(
        (last.loss_free_bps, last.lossy_bps),
        (Some(50e6), Some(60e6))
    );
    assert!(last.loss_rate_high.unwrap() < 1e-4);
    assert_eq!(
        agenda.found(&agenda.points()[0]).unwrap().loss_free_bps,
        Some(50e6)
    );
}
