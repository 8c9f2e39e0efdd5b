use super::*;
use proptest::prelude::*;

/// Printed values of the t distribution (NIST/SEMATECH e-Handbook 1.3.6.7.2), with more digits.
const TABLE: [(f64, f64, f64); 14] = [
    (0.90, 1.0, 6.313_751_515),
    (0.90, 5.0, 2.015_048_373),
    (0.95, 1.0, 12.706_204_736),
    (0.95, 2.0, 4.302_652_730),
    (0.95, 3.0, 3.182_446_305),
    (0.95, 5.0, 2.570_581_836),
    (0.95, 10.0, 2.228_138_852),
    (0.95, 30.0, 2.042_272_456),
    (0.95, 120.0, 1.979_930_405),
    (0.99, 1.0, 63.656_741_163),
    (0.99, 2.0, 9.924_843_201),
    (0.99, 10.0, 3.169_272_673),
    (0.99, 30.0, 2.749_995_654),
    (0.999, 5.0, 6.868_826_626),
];

#[test]
fn equals_the_printed_tables() {
    for (confidence, degrees, printed) in TABLE {
        let t = student_t(confidence, degrees);
        assert!(
            (t - printed).abs() < 1e-8 * printed.max(1.0) + 1e-9,
            "{confidence} {degrees}: {t}"
        );
    }
}

#[test]
fn many_degrees_are_the_normal_distribution() {
    assert!((student_t(0.95, 1e7) - 1.959_963_985).abs() < 1e-6);
    assert!((student_t(0.90, 1e6) - 1.644_853_627).abs() < 2e-6);
}

#[test]
fn impossible_questions_are_not_numbers() {
    for (confidence, degrees) in [
        (0.0, 5.0),
        (1.0, 5.0),
        (0.95, 0.0),
        (f64::NAN, 1.0),
        (0.5, f64::NAN),
    ] {
        assert!(student_t(confidence, degrees).is_nan());
    }
}

#[test]
fn interval_of_known_values() {
    // Mean 10, standard deviation 1, n = 3: 4.302652730 / √3.
    let (mean, half) = mean_interval(&[9.0, 10.0, 11.0], 0.95);
    assert_eq!(mean, 10.0);
    assert!((half - 4.302_652_730 / 3.0_f64.sqrt()).abs() < 1e-8);
    assert_eq!(mean_interval(&[5.0], 0.95), (5.0, f64::INFINITY));
    assert!(mean_interval(&[], 0.95).0.is_nan());
}

const RULE: StoppingRule = StoppingRule {
    min: 3,
    max: 12,
    confidence: 0.95,
    relative_width: 0.05,
};

#[test]
fn every_look_pays_its_share() {
    let j = RULE.judge(&[100.0, 100.1, 99.9]);
    assert!((j.adjusted_confidence - 0.995).abs() < 1e-12);
    assert!(j.met);
    let expected = student_t(0.995, 2.0) * 0.1 / 3.0_f64.sqrt() / 100.0;
    assert!((j.relative_half_width.unwrap() - expected).abs() < 1e-12);
}

#[test]
fn too_few_or_too_scattered_runs_are_not_enough() {
    assert!(!RULE.judge(&[100.0, 100.0]).met);
    assert!(!RULE.judge(&[]).met);
    assert_eq!(RULE.judge(&[1.0]).relative_half_width, None);
    assert!(!RULE.judge(&[80.0, 100.0, 120.0]).met);
}

#[test]
fn runs_that_all_lost_nothing_are_sure() {
    let j = RULE.judge(&[0.0, 0.0, 0.0]);
    assert!(j.met);
    assert_eq!(j.relative_half_width, Some(0.0));
    assert_eq!(RULE.judge(&[-1.0, 0.0, 1.0]).relative_half_width, None);
}

/// The intervals at which the rule stops must contain the mean as often as their confidence states.
#[test]
fn stopping_early_keeps_the_promise() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut uniform = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let rule = StoppingRule {
        min: 4,
        max: 20,
        confidence: 0.9,
        relative_width: 0.02,
    };
    let campaigns = 600;
    let mut missed = 0;
    for _ in 0..campaigns {
        // The sum of twelve uniform numbers is nearly normal: mean 100, deviation 3.
        let mut value = || 100.0 + 3.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
        let mut values = Vec::new();
        loop {
            values.push(value());
            let j = rule.judge(&values);
            if j.met || values.len() == rule.max as usize {
                let (mean, half) = mean_interval(&values, j.adjusted_confidence);
                missed += usize::from((mean - 100.0).abs() > half);
                break;
            }
        }
    }
    assert!(missed as f64 / f64::from(campaigns) <= 0.1, "{missed}");
}

proptest! {
    #[test]
    fn one_and_two_degrees_have_closed_forms(confidence in 0.01_f64..0.9999) {
        let one = (std::f64::consts::FRAC_PI_2 * confidence).tan();
        prop_assert!((student_t(confidence, 1.0) / one - 1.0).abs() < 1e-9);
        let two = confidence * (2.0 / (1.0 - confidence * confidence)).sqrt();
        prop_assert!((student_t(confidence, 2.0) / two - 1.0).abs() < 1e-9);
    }

    #[test]
    fn more_confidence_is_wider_and_more_runs_narrower(confidence in 0.01_f64..0.99, degrees in 1.0_f64..200.0) {
        prop_assert!(student_t(confidence + 0.005, degrees) > student_t(confidence, degrees));
        prop_assert!(student_t(confidence, degrees + 1.0) < student_t(confidence, degrees));
    }
}
