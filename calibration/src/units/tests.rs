//! Checks the grammar by the table of cases that icmodel's tests also read.

use super::*;
use proptest::prelude::*;

/// Kind, text in quotes, and its value in SI or why it is refused: icmodel's tests read the same table.
const TABLE: &str = include_str!("../../../tests/cases/units.tsv");

#[test]
fn every_spelling_is_read_as_icmodel_reads_it() {
    for row in TABLE.lines() {
        let mut cells = row.split('\t');
        let (kind, quoted, truth) = (cells.next(), cells.next(), cells.next());
        let text = quoted.expect(row).trim_matches('"');
        let read = match kind.expect(row) {
            "bytes" => parse_bytes(text).map(|bytes| bytes as f64),
            "bps" => parse_bits_per_s(text),
            "fps" => parse_rate_fps(text),
            "s" => parse_seconds(text),
            "ratio" => parse_ratio(text),
            kind => panic!("no kind is called {kind}"),
        };
        let truth = truth.expect(row);
        if let Some(reason) = truth.strip_prefix("refused: ") {
            let sentence = read.expect_err(row).to_string();
            assert!(sentence.contains(reason), "{row}: {sentence}");
            assert!(
                sentence.contains("write a number and one unit of"),
                "{row}: {sentence}"
            );
        } else {
            assert_eq!(read, Ok(truth.parse().expect(row)), "{row}");
        }
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
