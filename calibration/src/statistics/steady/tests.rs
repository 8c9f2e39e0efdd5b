use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const START: u64 = 5_000_000_300_000;

/// A frame of 1000 B every 0.1 ms; its latency by its number.
fn run(frames: u64, latency: impl Fn(u64) -> Option<i64>) -> SliceRecorder {
    let mut recorder = SliceRecorder::new(MS);
    for i in 0..frames {
        recorder.record(START + i * MS / 10, latency(i), 1000, 1);
    }
    recorder
}

/// Values that look like noise and are the same in every run.
fn noise(i: u64) -> i64 {
    (i.wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
        >> 40) as i64
        % 2_000
}

#[test]
fn a_steady_run_is_steady_from_the_start() {
    let s = run(10_000, |i| Some(50_000 + noise(i))).steady(START);
    assert!(s.detected);
    assert!(s.steady_from_s.unwrap() < 0.1);
    assert_eq!(s.transient.frames + s.steady.frames, 10_000);
    let goodput = s.steady.goodput_bps.unwrap();
    assert!((goodput / 80e6 - 1.0).abs() < 1e-3, "{goodput}");
    assert!((s.steady.duration_s + s.transient.duration_s - 0.9999).abs() < 1e-9);
}

#[test]
fn a_transient_is_cut_off_where_it_ends() {
    // 0.1 s of a queue that drains, then 0.9 s of noise.
    let s = run(10_000, |i| {
        Some(50_000 + noise(i) + (1000 - i.min(1000) as i64) * 1000)
    })
    .steady(START);
    assert!(s.detected);
    let from = s.steady_from_s.unwrap();
    assert!((0.08..0.12).contains(&from), "{from}");
    assert!(s.steady.latency_max_s.unwrap() < 80e-6);
    assert!(s.transient.latency_mean_s.unwrap() > 400e-6);
    assert_eq!(s.steady.frames + s.transient.frames, 10_000);
}

#[test]
fn a_ramp_is_never_steady() {
    let s = run(10_000, |i| Some(i as i64 * 100)).steady(START);
    assert!(!s.detected && s.steady_from_s.is_none());
    assert_eq!((s.steady, s.transient.frames), (Part::default(), 10_000));
    let json = serde_json::to_value(s).unwrap();
    assert!(json.get("steady_from_s").is_none());
    assert!(json["steady"].get("goodput_bps").is_none());
}

#[test]
fn too_few_slices_say_nothing() {
    assert!(!run(30, |_| Some(1000)).steady(START).detected);
    let empty = SliceRecorder::new(MS).steady(START);
    assert_eq!(empty, SteadyState::default());
}

#[test]
fn goodput_stands_in_where_there_is_no_latency() {
    // One frame in ten over the first 40 ms, every one later.
    let mut recorder = SliceRecorder::new(MS);
    for i in (0..4000_u64).filter(|i| *i > 400 || i % 10 == 0) {
        recorder.record(START + i * MS / 10, None, 1000, 1);
    }
    let s = recorder.steady(START);
    assert!(s.detected);
    let from = s.steady_from_s.unwrap();
    assert!((0.035..0.045).contains(&from), "{from}");
    assert!((s.steady.goodput_bps.unwrap() / 80e6 - 1.0).abs() < 0.01);
    assert!((s.transient.goodput_bps.unwrap() / 8e6 - 1.0).abs() < 0.4);
    assert_eq!(s.steady.latency_mean_s, None);
}

#[test]
fn a_constant_stream_without_latency_drops_nothing_or_little() {
    let s = run(2_000, |_| None).steady(START);
    assert!(s.detected);
    assert!(s.steady_from_s.unwrap() < 0.01);
    assert!((s.steady.goodput_bps.unwrap() / 80e6 - 1.0).abs() < 1e-3);
}

#[test]
fn long_runs_stay_small_and_lose_nothing() {
    let recorder = run(1_000_000, |i| Some(noise(i)));
    assert!(recorder.slices.len() <= SLICES_MAX);
    let s = recorder.steady(START);
    assert_eq!(s.transient.frames + s.steady.frames, 1_000_000);
}

#[test]
fn a_year_between_two_frames_does_no_harm() {
    let mut recorder = SliceRecorder::new(1);
    recorder.record(1, Some(5), 10, 1);
    recorder.record(31_557_600_000_000_000, Some(7), 10, 1);
    recorder.record(0, Some(6), 10, 1);
    recorder.record(u64::MAX - 1, Some(i64::MAX), 10, 1);
    let s = recorder.steady(0);
    assert_eq!(s.transient.frames, 4);
}

#[test]
fn mser_against_the_formula() {
    let means: Vec<f64> = (0..40)
        .map(|i| if i < 5 { 10.0 - f64::from(i) } else { 1.0 } + f64::from(i % 3) * 0.1)
        .collect();
    let error = |d: usize| {
        let rest = &means[d..];
        let n = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / n;
        rest.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (n * n)
    };
    let least = (0..=20)
        .min_by(|&a, &b| error(a).total_cmp(&error(b)))
        .unwrap();
    assert_eq!(mser(&means), Some(least));
    assert_eq!(least, 5);
}

proptest! {
    /// Two streams recorded apart and merged are one stream recorded together.
    #[test]
    fn merging_is_recording_together(
        times in prop::collection::vec((0..3_000 * MS, 0_i64..100_000, any::<bool>()), 2..300),
    ) {
        let mut times = times;
        times.sort_unstable();
        let (mut one, mut two, mut all) = (SliceRecorder::new(MS), SliceRecorder::new(MS), SliceRecorder::new(MS));
        for (at, latency, first) in &times {
            let half = if *first { &mut one } else { &mut two };
            half.record(START + at, Some(*latency), 100, 1);
            all.record(START + at, Some(*latency), 100, 1);
        }
        one.merge(&two);
        prop_assert_eq!(one.steady(START), all.steady(START));
        prop_assert!(one.slices.len() <= SLICES_MAX);
    }
}
