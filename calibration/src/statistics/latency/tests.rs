use super::*;
use proptest::prelude::*;

fn recorded(values: &[i64]) -> LatencyRecorder {
    let mut recorder = LatencyRecorder::new();
    values.iter().for_each(|&v| recorder.record(v, 1));
    recorder
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 + 1e-9 * b.abs()
}

#[test]
fn a_thousand_known_values() {
    let values: Vec<i64> = (1..=1000).collect();
    let s = recorded(&values).summary().unwrap();
    assert_eq!((s.count, s.negative), (1000, 0));
    assert!(close(s.mean_s, 500.5e-9));
    assert!(close(
        s.std_s.unwrap(),
        (1000.0 * 1001.0 / 12.0_f64).sqrt() * 1e-9
    ));
    assert!(close(s.min_s, 1e-9) && close(s.max_s, 1000e-9));
    // Below 2048 ns every bucket is one nanosecond wide.
    assert!(close(s.p50_s, 500e-9) && close(s.p99_s, 990e-9) && close(s.p999_s, 999e-9));
    assert!(
        s.histogram
            .buckets
            .iter()
            .all(|b| b[0] == b[1] && b[2] == 1)
    );
}

#[test]
fn one_value_has_no_deviation_and_is_every_quantile() {
    let s = recorded(&[123_456_789]).summary().unwrap();
    assert_eq!(s.std_s, None);
    let value = 123_456_789e-9;
    assert!(
        [s.mean_s, s.min_s, s.max_s, s.p50_s, s.p99_s, s.p999_s]
            .iter()
            .all(|v| close(*v, value))
    );
}

#[test]
fn frames_with_one_latency_count_as_often_as_they_came() {
    let mut together = LatencyRecorder::new();
    for (latency_ns, frames) in [(-7, 2), (30, 3), (5_000_000, 1)] {
        together.record(latency_ns, frames);
    }
    let apart = recorded(&[-7, -7, 30, 30, 30, 5_000_000]);
    assert_eq!(together.summary(), apart.summary());
}

#[test]
fn negative_values_stand_apart() {
    let recorder = recorded(&[-5, 10, -1, 20, 0]);
    let s = recorder.summary().unwrap();
    assert_eq!((s.count, s.negative), (3, 2));
    assert!(close(s.mean_s, 10e-9) && s.min_s == 0.0);
    let none = recorded(&[-5]);
    assert_eq!((none.summary(), none.negative()), (None, 1));
    assert_eq!(LatencyRecorder::new().summary(), None);
}

#[test]
fn beyond_an_hour_is_an_hour() {
    let s = recorded(&[i64::MAX, i64::MAX]).summary().unwrap();
    assert_eq!(s.max_s, 3600.0);
    assert_eq!(s.p50_s, 3600.0);
    assert_eq!(s.histogram.count(), 2);
}

#[test]
fn the_record_reads_as_documented() {
    let s = recorded(&[5, 5, 3_000]).summary().unwrap();
    let json = serde_json::to_value(&s).unwrap();
    assert_eq!(
        json["histogram"],
        serde_json::json!({"unit": "ns", "significant_digits": 3, "buckets": [[5, 5, 2], [3000, 3001, 1]]})
    );
    let single = serde_json::to_value(recorded(&[5]).summary().unwrap()).unwrap();
    assert!(single.get("std_s").is_none());
    assert_eq!(
        serde_json::from_value::<LatencySummary>(single)
            .unwrap()
            .std_s,
        None
    );
}

proptest! {
    #[test]
    fn sums_and_quantiles_hold(values in prop::collection::vec(0_i64..10_000_000_000, 1..400)) {
        let s = recorded(&values).summary().unwrap();
        let buckets = &s.histogram.buckets;
        prop_assert_eq!(buckets.iter().map(|b| b[2]).sum::<u64>(), values.len() as u64);
        prop_assert!(buckets.windows(2).all(|w| w[0][1] < w[1][0]));
        for v in &values {
            prop_assert!(buckets.iter().any(|b| (b[0]..=b[1]).contains(&(*v as u64))));
        }
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for (share, got) in [((1, 2), s.p50_s), ((99, 100), s.p99_s), ((999, 1000), s.p999_s)] {
            let rank = (sorted.len() * share.0).div_ceil(share.1);
            let exact = sorted[rank - 1] as f64 * 1e-9;
            prop_assert!(got >= exact - 1e-15 && got <= exact * 1.001 + 1e-9, "{got} for {exact}");
            prop_assert!(got <= s.max_s);
        }
        // The mean of the buckets' middles is the exact one within half a bucket.
        let middle = |b: &[u64; 3]| (b[0] + b[1]) as f64 / 2.0 * b[2] as f64;
        let mean = buckets.iter().map(middle).sum::<f64>() / values.len() as f64;
        prop_assert!((mean * 1e-9 - s.mean_s).abs() <= s.mean_s * 0.0006 + 1e-9);
    }

    #[test]
    fn merging_is_recording_together(a in prop::collection::vec(-1000_i64..1_000_000_000, 0..100), b in prop::collection::vec(-1000_i64..1_000_000_000, 0..100)) {
        let mut merged = recorded(&a);
        merged.merge(&recorded(&b));
        let together = recorded(&[a, b].concat());
        prop_assert_eq!(merged.summary(), together.summary());
        prop_assert_eq!(merged.negative(), together.negative());
    }
}
