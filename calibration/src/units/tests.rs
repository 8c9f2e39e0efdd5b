//! The grammar against known truths: the same accept and refuse lists as icmodel's.

use super::*;
use proptest::prelude::*;

#[test]
fn sizes_are_whole_bytes() {
    let truths = [
        ("65535 B", 65_535),
        ("64 KiB", 65_536),
        ("64KiB", 65_536),
        ("1.5 kB", 1500),
        ("1 GiB", 1 << 30),
        ("  7   B ", 7),
        ("0 B", 0),
        (".5 kB", 500),
        ("5. B", 5),
        ("1e3 B", 1000),
        ("1500E-3 kB", 1500),
        ("9223372036854775807 B", 9_223_372_036_854_775_807),
    ];
    for (text, bytes) in truths {
        assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
    }
}

#[test]
fn rates_and_times_are_exact() {
    let truths: [(f64, Result<f64>); 14] = [
        (9.4e9, parse_bits_per_s("9.4 Gb/s")),
        (8e8, parse_bits_per_s("100 MB/s")),
        (1e8, parse_bits_per_s("100 Mbit/s")),
        (1e6, parse_bits_per_s("1 Mbps")),
        (8192.0, parse_bits_per_s("1 KiB/s")),
        (6700.0, parse_rate_fps("6700/s")),
        (1.5e6, parse_rate_fps("1.5 Mfps")),
        (30.0, parse_rate_fps("30 f/s")),
        (5e-5, parse_seconds("50 us")),
        (5e-5, parse_seconds("50 µs")),
        (5e-5, parse_seconds("50 \u{3bc}s")),
        (90.0, parse_seconds("1.5 min")),
        (3e-9, parse_seconds("3 ns")),
        (0.001, parse_ratio("0.1 %")),
    ];
    for (truth, read) in truths {
        assert_eq!(read, Ok(truth));
    }
    assert_eq!(parse_ratio("100 %"), Ok(1.0));
}

#[test]
fn what_is_unclear_is_refused_with_its_reason() {
    let refusals = [
        (parse_bytes("1472").err(), "has no unit"),
        (parse_bytes("").err(), "does not start with a plain number"),
        (
            parse_bytes("1 KB").err(),
            "kB (1000) or KiB (1024) is meant",
        ),
        (parse_bytes("1.5 B").err(), "is not a whole number of bytes"),
        (parse_bytes("9223372036854775808 B").err(), "is too large"),
        (parse_bytes("1e999 B").err(), "is too large"),
        (parse_bytes("1 b").err(), "unknown unit \"b\""),
        (parse_bytes("-1 B").err(), "is negative"),
        (parse_bytes("\u{2212}1 B").err(), "is negative"),
        (
            parse_bytes("+1 B").err(),
            "does not start with a plain number",
        ),
        (parse_bytes("1,500 B").err(), "has a comma"),
        (parse_bytes("1_500 B").err(), "has a broken number"),
        (parse_bytes("1.5.1 B").err(), "has a broken number"),
        (parse_bytes("1e1000 B").err(), "has a broken number"),
        (
            parse_bytes("5 B/s").err(),
            "a rate where it does not belong",
        ),
        (parse_bytes("1 TiB").err(), "unknown unit"),
        (parse_bits_per_s("9.4 Gb").err(), "'/s' is missing"),
        (parse_bits_per_s("inf b/s").err(), "is not a finite number"),
        (parse_bits_per_s("NaN b/s").err(), "is not a finite number"),
        (parse_bits_per_s("1e308 Gb/s").err(), "is too large"),
        (parse_rate_fps("1 K/s").err(), "and k/s is meant"),
        (
            parse_rate_fps("1 Ki/s").err(),
            "a rate where it does not belong",
        ),
        (parse_rate_fps("30 Hz").err(), "unknown unit"),
        (parse_seconds("5 ks").err(), "unknown unit"),
        (parse_seconds("5 S").err(), "unknown unit"),
        (
            parse_seconds("٣ s").err(),
            "does not start with a plain number",
        ),
        (parse_ratio("0.1").err(), "has no unit"),
        (parse_ratio("100.1 %").err(), "is more than 100 %"),
    ];
    for (error, reason) in refusals {
        let text = error.expect("refused").to_string();
        assert!(text.contains(reason), "{text} says nothing of {reason}");
        assert!(text.contains("write a number and one unit of"), "{text}");
    }
}

#[test]
fn people_see_four_digits() {
    let texts = [
        (format_bits_per_s(2_718_281_828.0), "2.718 Gb/s"),
        (format_bits_per_s(95_708_712.6), "95.71 Mb/s"),
        (format_bits_per_s(f64::INFINITY), "unlimited"),
        (format_bits_per_s(0.0), "0 b/s"),
        (format_rate_fps(6700.0), "6700/s"),
        (format_rate_fps(14_880_952.0), "14.88 M/s"),
        (format_rate_fps(0.25), "0.25/s"),
        (format_seconds(27.182_818e-6), "27.18 µs"),
        (format_seconds(2.0), "2 s"),
        (format_seconds(3e-10), "0.3 ns"),
        (format_seconds(-5e-5), "-50 µs"),
        (format_seconds(123_456.0), "123500 s"),
        (format_seconds(f64::NAN), "–"),
        (format_ratio(0.0272), "2.72 %"),
        (format_ratio(0.00001), "0.001 %"),
        (format_bytes(65_535), "65535 B"),
    ];
    for (text, truth) in texts {
        assert_eq!(text, truth);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*", number in "[0-9.eE+-]{0,12}", unit in "[kKMGTi]{0,2}(B|b|b/s|/s|s|%)?") {
        for text in [text, format!("{number} {unit}"), format!("{number}{unit}")] {
            let _ = parse_bytes(&text);
            let _ = parse_rate_fps(&text);
            let _ = parse_bits_per_s(&text);
            let _ = parse_seconds(&text);
            let _ = parse_ratio(&text);
        }
    }

    #[test]
    fn sizes_survive_the_round_trip(bytes in 0..=i64::MAX as u64) {
        prop_assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
    }

    #[test]
    fn doubles_survive_the_round_trip(value in 0.0..1e15f64) {
        prop_assert_eq!(parse_seconds(&format!("{value} s")), Ok(value));
    }

    #[test]
    fn nanoseconds_are_the_nearest_double(count in 0..u64::MAX) {
        let truth: f64 = format!("{count}e-9").parse().expect("a number");
        prop_assert_eq!(parse_seconds(&format!("{count} ns")), Ok(truth));
    }

    #[test]
    fn printed_numbers_are_near(value in 1e-9..1e13f64) {
        let text = format_bits_per_s(value);
        let read = parse_bits_per_s(&text).expect("reads what it prints");
        prop_assert!((read - value).abs() <= 0.0005 * value, "{text}");
    }
}
