use super::*;
use serde_json::json;

fn record(payload: u64, goodput: f64, kernel: &str) -> Value {
    json!({
        "schema_version": 1,
        "point": {"protocol": "tcp", "payload_bytes": payload},
        "result": {"goodput_bps": goodput, "frames_lost": 0},
        "environment": {"send": {"kernel": kernel, "cpus": 2}, "recv": {"kernel": "6.1"}},
        "flags": [],
    })
}

fn side(records: &[Value]) -> Side {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    Side::parse(&text).unwrap()
}

#[test]
fn environments_come_first_and_mixtures_are_told() {
    let a = side(&[record(1, 1.0, "6.1"), record(1, 1.0, "6.2")]);
    let b = side(&[record(1, 1.0, "6.1")]);
    let comparison = compare(&a, &b, &[], &[]);
    assert_eq!(comparison.environment.len(), 1);
    assert_eq!(comparison.environment[0].key, "send.kernel");
    assert_eq!(comparison.environment[0].a, ["6.1", "6.2"]);
    let text = comparison.text(&[]);
    assert!(text.find("send.kernel").unwrap() < text.find("goodput_bps").unwrap());
    assert!(compare(&b, &b, &[], &[]).environment.is_empty());
}

#[test]
fn points_are_matched_by_their_settings() {
    let a = side(&[
        record(1, 100.0, "k"),
        record(1, 102.0, "k"),
        record(2, 7.0, "k"),
    ]);
    let b = side(&[record(1, 202.0, "k"), record(3, 7.0, "k")]);
    let comparison = compare(&a, &b, &[], &[]);
    assert_eq!(comparison.points.len(), 1);
    let goodput = &comparison.points[0].metrics["goodput_bps"];
    assert_eq!((goodput.n, goodput.ratio), ([2, 1], Some(2.0)));
    assert_eq!(goodput.ratio_interval, None);
    assert_eq!(comparison.points[0].metrics["frames_lost"].ratio, None);
    assert_eq!(comparison.only_a, ["payload_bytes=2 protocol=tcp"]);
    assert_eq!(comparison.only_b, ["payload_bytes=3 protocol=tcp"]);
    let ignoring = compare(&a, &b, &["payload_bytes".into()], &["goodput_bps".into()]);
    assert_eq!(ignoring.points[0].metrics.len(), 1);
    assert!(ignoring.only_a.is_empty());
}

#[test]
fn two_single_points_are_compared_whatever_they_are() {
    let comparison = compare(
        &side(&[record(1, 1.0, "k")]),
        &side(&[record(2, 3.0, "k")]),
        &[],
        &[],
    );
    assert_eq!(comparison.points[0].differing[0].key, "payload_bytes");
    assert_eq!(comparison.points[0].metrics["goodput_bps"].ratio, Some(3.0));
}

#[test]
fn files_are_read_as_lines_or_one_object_and_torn_ends_left_out() {
    let pretty = serde_json::to_string_pretty(&record(1, 1.0, "k")).unwrap();
    assert_eq!(Side::parse(&pretty).unwrap().records.len(), 1);
    let line = record(1, 1.0, "k").to_string();
    let torn = format!("{line}\n{}", &line[..40]);
    assert_eq!(Side::parse(&torn).unwrap().records.len(), 1);
    for wrong in ["", "3", "{}", "nonsense", &line[..40]] {
        assert_eq!(Side::parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
    }
}

#[test]
fn the_mann_whitney_distribution_is_exact() {
    assert_eq!(mann_whitney_counts(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
    assert_eq!(
        mann_whitney_counts(3, 2),
        [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]
    );
    // Tables of the two-sided 5 % points: the greatest U that is significant, plus one.
    for (a, b, critical) in [
        (4, 4, 0),
        (5, 5, 2),
        (10, 10, 23),
        (20, 20, 127),
        (8, 12, 22),
    ] {
        assert_eq!(
            mann_whitney_rank(a, b, 0.025),
            Some(critical + 1),
            "{a} and {b}"
        );
    }
    assert_eq!(mann_whitney_rank(3, 3, 0.025), None);
    assert_eq!(mann_whitney_rank(0, 3, 0.025), None);
}

#[test]
fn the_normal_distribution_takes_over_smoothly() {
    let exact = mann_whitney_rank(30, 30, 0.025).unwrap() as f64;
    let (n, m): (f64, f64) = (30.0, 30.0);
    let normal = n * m / 2.0 - 1.96 * (n * m * (n + m + 1.0) / 12.0).sqrt();
    assert!((exact - normal).abs() < 2.0, "{exact} {normal}");
    assert!(mann_whitney_rank(100, 100, 0.025).is_some());
}

#[test]
fn the_interval_holds_the_ratio_of_scaled_values() {
    let a: Vec<f64> = (0..20).map(|n| 100.0 + f64::from(n)).collect();
    let b: Vec<f64> = a.iter().map(|value| value * 1.5).collect();
    let [low, high] = ratio_interval(&a, &b, 0.95).unwrap();
    assert!(low < 1.5 && 1.5 < high && high - low < 0.2);
    assert_eq!(ratio_interval(&[0.0; 9], &b, 0.95), None);
}
