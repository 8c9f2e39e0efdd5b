use super::*;
use crate::host::fake::FakeRoot;
use proptest::prelude::*;
use std::path::Path;

/// Ticks of one core in the order of /proc/stat.
type Ticks = [u64; 10];

fn stat(cores: &[(usize, Ticks)], totals: [u64; 3]) -> String {
    let line = |name: String, ticks: &Ticks| {
        let ticks = ticks.map(|t| t.to_string()).join(" ");
        format!("{name} {ticks}\n")
    };
    let mut text = line("cpu ".into(), &[0; 10]);
    for (core, ticks) in cores {
        text += &line(format!("cpu{core}"), ticks);
    }
    let [interrupts, switches, softirqs] = totals;
    text + &format!(
        "intr {interrupts} 3 4\nctxt {switches}\nbtime 1\nprocesses 5\nsoftirq {softirqs} 1 2\n"
    )
}

fn sample(root: &FakeRoot, text: &str, at_s: f64) -> CpuSample {
    root.write("proc/stat", text);
    let mut sample = CpuSample::read(root.path()).unwrap();
    sample.at_ns = (at_s * 1e9) as u64;
    sample
}

#[test]
fn a_replayed_window_gives_its_modes_back() {
    let root = FakeRoot::new("cpu-replay");
    //             user nice sys idle iow irq soft steal guest gnice
    let before = [1000, 50, 300, 9000, 10, 5, 20, 40, 100, 10];
    let after = [1030, 60, 320, 9070, 20, 10, 35, 60, 110, 15];
    let a = sample(
        &root,
        &stat(&[(0, before), (3, before)], [100, 1000, 50]),
        10.0,
    );
    let b = sample(
        &root,
        &stat(&[(0, after), (3, before)], [300, 1500, 450]),
        12.0,
    );
    let usage = Usage::between(
        &a,
        &b,
        None,
        ThreadUsage {
            cpu_s: 1.0,
            voluntary: 7,
            involuntary: 2,
        },
    );
    // Of 30 user ticks, 10 were a guest's; of 10 niced ticks, 5 were a niced guest's: 20 + 5
    // remain.
    let core = usage.cores[0];
    let total = 30.0 + 10.0 + 20.0 + 70.0 + 10.0 + 5.0 + 15.0 + 20.0;
    for (got, ticks) in [
        (core.user, 25.0),
        (core.guest, 15.0),
        (core.system, 20.0),
        (core.irq, 5.0),
        (core.softirq, 15.0),
        (core.steal, 20.0),
        (core.idle, 80.0),
    ] {
        assert!((got - ticks / total).abs() < 1e-15, "{got} for {ticks}");
    }
    assert_eq!((core.core, usage.cores[1].core), (0, 3));
    assert_eq!(usage.cores[1].busy(), 0.0);
    assert_eq!(usage.window_s, 2.0);
    assert_eq!(usage.tick_s, 0.01);
    assert_eq!(
        (
            usage.interrupts_per_s,
            usage.context_switches_per_s,
            usage.softirqs_per_s
        ),
        (100.0, 250.0, 200.0)
    );
    assert_eq!(
        (
            usage.thread_cores,
            usage.voluntary_switches,
            usage.involuntary_switches
        ),
        (0.5, 7, 2)
    );
    assert_eq!(usage.baseline, None);
}

#[test]
fn interrupts_are_counted_per_core() {
    let root = FakeRoot::new("cpu-interrupts");
    let table = |a: u64, b: u64| {
        format!(
            "           CPU0       CPU2\n  0:  {a}  {b}  IO-APIC 2-edge timer\nLOC:  10  20  Local timer interrupts\nERR:  5\nMIS:  0\n"
        )
    };
    let text = stat(&[(0, [0; 10]), (2, [0; 10])], [0; 3]);
    root.write("proc/interrupts", &table(100, 200));
    root.write("proc/softirqs", "  CPU0 CPU2\n NET_RX: 1 2\n NET_TX: 3 4\n");
    let a = sample(&root, &text, 0.0);
    root.write("proc/interrupts", &table(300, 250));
    let b = sample(&root, &text, 2.0);
    let usage = Usage::between(&a, &b, None, ThreadUsage::default());
    assert_eq!(a.cores[0].softirqs, Some(4));
    assert_eq!(a.cores[1].interrupts, Some(220));
    assert_eq!(usage.cores[0].interrupts_per_s, Some(100.0));
    assert_eq!(usage.cores[1].interrupts_per_s, Some(25.0));
    assert_eq!(usage.cores[1].softirqs_per_s, Some(0.0));
}

#[test]
fn old_kernels_with_fewer_columns_are_read() {
    let root = FakeRoot::new("cpu-old");
    root.write("proc/stat", "cpu 1 2 3 4\ncpu0 10 20 30 40\nctxt 5\n");
    let s = CpuSample::read(root.path()).unwrap();
    assert_eq!(
        (s.cores[0].user, s.cores[0].idle, s.cores[0].steal),
        (30, 40, 0)
    );
    assert_eq!(
        (s.context_switches, s.interrupts, s.cores[0].interrupts),
        (5, 0, None)
    );
}

#[test]
fn no_counters_are_an_error_in_a_sentence() {
    let root = FakeRoot::new("cpu-none");
    assert!(CpuSample::read(root.path()).is_err());
    root.write("proc/stat", "hello\ncpuX 1 2\ncpu0 one two\n");
    let why = CpuSample::read(root.path()).unwrap_err().to_string();
    assert!(why.contains("names no core"), "{why}");
}

fn modes(core: usize, user: f64, system: f64, softirq: f64) -> CoreModes {
    CoreModes {
        core,
        user,
        system,
        softirq,
        steal: 0.1,
        idle: 0.9 - user - system - softirq,
        ..CoreModes::default()
    }
}

fn usage(cores: Vec<CoreModes>, idle: Vec<CoreModes>) -> Usage {
    Usage {
        window_s: 1.0,
        cores,
        baseline: Some(Baseline {
            window_s: 0.5,
            cores: idle,
        }),
        ..Usage::default()
    }
}

#[test]
fn utilisation_is_net_of_baseline_and_spin() {
    let now = vec![
        modes(0, 0.5, 0.2, 0.1),
        modes(1, 0.3, 0.1, 0.0),
        modes(2, 0.9, 0.0, 0.0),
    ];
    let idle = vec![modes(0, 0.1, 0.02, 0.0), modes(1, 0.0, 0.0, 0.0)];
    let u = utilisation(&usage(now, idle), &[0, 1], 0.4).unwrap();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(u.user, (0.8 - 0.1 - 0.4) / 2.0);
    near(u.system, 0.28 / 2.0);
    near(u.softirq, 0.05);
    near(u.cpu, (1.2 - 0.12 - 0.4) / 2.0);
    near(u.steal, 0.1);
}

#[test]
fn utilisation_stays_between_nothing_and_all() {
    let u = utilisation(
        &usage(vec![modes(0, 0.1, 0.0, 0.0)], vec![modes(0, 0.5, 0.0, 0.0)]),
        &[0],
        0.0,
    )
    .unwrap();
    assert_eq!((u.cpu, u.user), (0.0, 0.0));
    assert_eq!(utilisation(&usage(vec![], vec![]), &[0], 0.0), None);
    assert_eq!(
        utilisation(&usage(vec![modes(1, 0.1, 0.0, 0.0)], vec![]), &[0], 0.0),
        None
    );
}

#[test]
fn modes_sum_to_the_whole_also_where_the_idle_host_did_more_of_one() {
    let sum = |u: &Utilisation| u.user + u.system + u.irq + u.softirq;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    // Coarse ticks may show less user time than the spin; then the other modes are scaled down.
    let now = vec![modes(0, 0.2, 0.3, 0.1)];
    let u = utilisation(&usage(now.clone(), vec![]), &[0], 0.3).unwrap();
    near(u.cpu, 0.3);
    near(sum(&u), u.cpu);
    near(u.system, 3.0 * u.softirq);
    assert_eq!(u.user, 0.0);
    // The baseline exceeds the busy time, so all modes are 0.
    let u = utilisation(&usage(now, vec![modes(0, 0.9, 0.0, 0.0)]), &[0], 0.0).unwrap();
    assert_eq!((u.cpu, sum(&u)), (0.0, 0.0));
}

proptest! {
    #[test]
    fn modes_are_parts_of_the_whole(now in any::<[u8; 5]>(), idle in any::<[u8; 5]>(), spin in 0.0..1.5) {
        let core = |ticks: [u8; 5]| {
            let sum = ticks.iter().map(|t| f64::from(*t)).sum::<f64>() + 1.0;
            let [user, system, irq, softirq, guest] = ticks.map(|t| f64::from(t) / sum);
            CoreModes { user, system, irq, softirq, guest, ..CoreModes::default() }
        };
        let (now, idle) = (core(now), core(idle));
        let u = utilisation(&usage(vec![now], vec![idle]), &[0], spin).unwrap();
        let parts = [u.user, u.system, u.irq, u.softirq];
        prop_assert!(parts.iter().chain([&u.cpu]).all(|part| (0.0..=1.0).contains(part)));
        prop_assert!(parts.iter().sum::<f64>() <= u.cpu + 1e-12);
        let net = now.busy() - idle.busy() - spin;
        prop_assert!((u.cpu - net.clamp(0.0, 1.0)).abs() < 1e-12);
        if now.guest <= idle.guest {
            prop_assert!((parts.iter().sum::<f64>() - u.cpu).abs() < 1e-12);
        }
    }
}

#[test]
fn the_live_system_is_read() {
    let a = CpuSample::read(Path::new("/")).unwrap();
    let mine = ThreadUsage::here();
    let end = crate::clock::now_ns() + 60_000_000;
    while crate::clock::now_ns() < end {}
    let b = CpuSample::read(Path::new("/")).unwrap();
    let threads = ThreadUsage::here() - mine;
    let usage = Usage::between(&a, &b, Some((&a, &b)), threads);
    assert!(usage.window_s >= 0.06 && !usage.cores.is_empty());
    assert!(usage.process_cores > 0.0 && usage.thread_cores > 0.0);
    assert!(usage.process_cores >= usage.thread_cores * 0.5);
    assert_eq!(usage.baseline.as_ref().unwrap().cores, usage.cores);
    let back: Usage = serde_json::from_value(serde_json::to_value(&usage).unwrap()).unwrap();
    assert_eq!(back.cores.len(), usage.cores.len());
}

#[test]
fn waiting_is_a_voluntary_switch() {
    let before = ThreadUsage::here();
    for _ in 0..5 {
        crate::clock::sleep_until(crate::clock::now_ns() + 1_000_000);
    }
    let used = ThreadUsage::here() - before;
    assert!(used.voluntary >= 5, "{used:?}");
    let twice: ThreadUsage = [used, used].into_iter().sum();
    assert_eq!(twice.voluntary, 2 * used.voluntary);
}

proptest! {
    /// Any counters that grow: the shares sum to 1 and each is what was replayed.
    #[test]
    fn shares_are_those_of_the_ticks(before in any::<[u32; 8]>(), add in any::<[u16; 8]>(), name in any::<u64>()) {
        let root = FakeRoot::new(&format!("cpu-shares-{name}"));
        let mut first: Ticks = [0; 10];
        for (to, from) in first.iter_mut().zip(before) {
            *to = from.into();
        }
        let mut second = first;
        for (to, from) in second.iter_mut().zip(add) {
            *to += u64::from(from);
        }
        let a = sample(&root, &stat(&[(0, first)], [0; 3]), 0.0);
        let b = sample(&root, &stat(&[(0, second)], [0; 3]), 1.0);
        let core = Usage::between(&a, &b, None, ThreadUsage::default()).cores[0];
        let total: f64 = add.iter().map(|&t| f64::from(t)).sum();
        prop_assume!(total > 0.0);
        prop_assert!((core.busy() + core.idle + core.steal - 1.0).abs() < 1e-12);
        let [user, nice, system, idle, iowait, irq, softirq, steal] = add.map(f64::from);
        prop_assert!((core.user - (user + nice) / total).abs() < 1e-12);
        prop_assert!((core.idle - (idle + iowait) / total).abs() < 1e-12);
        for (got, ticks) in [(core.system, system), (core.irq, irq), (core.softirq, softirq), (core.steal, steal)] {
            prop_assert!((got - ticks / total).abs() < 1e-12);
        }
    }

    #[test]
    fn nonsense_never_panics(text in "\\PC{0,200}", line in "cpu[0-9]{0,3}( [0-9a-z]{0,21}){0,12}") {
        let root = FakeRoot::new("cpu-nonsense");
        root.write("proc/stat", &format!("{line}\n{text}\n{line}"));
        root.write("proc/interrupts", &text);
        let _ = CpuSample::read(root.path());
    }
}
