use super::*;
use proptest::prelude::*;

/// A peer whose clock is off by `offset_ns` at own time 0 and drifts.
struct Peer {
    offset_ns: i128,
    drift: f64,
}

impl Peer {
    fn theta(&self, own_ns: u64) -> f64 {
        self.drift * own_ns as f64
    }

    fn stamp(&self, own_ns: u64) -> u64 {
        let time = i128::from(own_ns) + self.offset_ns + self.theta(own_ns).floor() as i128;
        u64::try_from(time).unwrap()
    }

    /// Returns an exchange that starts at own time `at_ns`, with the given times to the peer,
    /// inside it and back, in ns.
    fn exchange(&self, at_ns: u64, [there, inside, back]: [u64; 3]) -> Exchange {
        Exchange {
            sent_ns: at_ns,
            peer_received_ns: self.stamp(at_ns + there),
            peer_sent_ns: self.stamp(at_ns + there + inside),
            received_ns: at_ns + there + inside + back,
        }
    }

    /// Error of a fit at an own time, in ns, computed without losing digits to the offset.
    fn error(&self, fit: &Fit, own_ns: u64) -> f64 {
        let whole = fit.offset_ns.round();
        let beyond = fit.offset_at(own_ns) - whole - self.theta(own_ns);
        (whole as i128 - self.offset_ns) as f64 + beyond
    }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn symmetric_paths_give_offset_and_drift_back() {
    let peer = Peer {
        offset_ns: 123_456_789_012,
        drift: 37e-6,
    };
    let exchanges: Vec<_> = (0..100)
        .map(|i| peer.exchange(SECOND + i * SECOND / 20, [20_000, 3_000, 20_000]))
        .collect();
    let fit = Fit::of(&exchanges, SECOND, 6 * SECOND).unwrap();
    assert!((fit.drift - 37e-6).abs() < 1e-8, "{}", fit.drift);
    assert!(peer.error(&fit, 3 * SECOND).abs() < 10.0);
    // Half of the round trip, plus the uncertainty of the slope.
    assert!(fit.bound_epoch_ns > 19_990.0 && fit.bound_epoch_ns < 20_500.0);
    assert_eq!(fit.exchanges, 100);
    assert_eq!(fit.rtt_min_ns, 40_000);
}

#[test]
fn a_one_sided_path_errs_by_half_the_round_trip_and_says_so() {
    let peer = Peer {
        offset_ns: 5_000_000,
        drift: 0.0,
    };
    let exchanges: Vec<_> = (0..50)
        .map(|i| peer.exchange(SECOND + i * SECOND / 10, [100_000, 0, 0]))
        .collect();
    let fit = Fit::of(&exchanges, SECOND, 6 * SECOND).unwrap();
    let error = peer.error(&fit, 3 * SECOND).abs();
    assert!((error - 50_000.0).abs() < 5.0, "{error}");
    assert!(error <= fit.bound_ns);
}

#[test]
fn before_and_after_bound_what_is_between_better_than_before_alone() {
    let peer = Peer {
        offset_ns: 0,
        drift: 50e-6,
    };
    let burst = |at: u64| (0..20).map(move |i| at + i * 1_000_000);
    let delays = [30_000, 1_000, 30_000];
    let before: Vec<_> = burst(SECOND).map(|t| peer.exchange(t, delays)).collect();
    let after = burst(11 * SECOND).map(|t| peer.exchange(t, delays));
    let both: Vec<_> = before.iter().copied().chain(after).collect();
    let early = Fit::of(&before, SECOND, 11 * SECOND).unwrap();
    let late = Fit::of(&both, SECOND, 11 * SECOND).unwrap();
    assert!(late.bound_ns < 40_000.0, "{}", late.bound_ns);
    // Without the later exchanges, only the greatest drift limits the far end: 500 ppm of 10 s.
    assert!(early.bound_ns > 4.9e6 && early.bound_ns < 5.2e6);
    assert!(early.drift.abs() < 30e-6, "{}", early.drift);
    assert!(peer.error(&early, 11 * SECOND).abs() <= early.bound_ns);
}

#[test]
fn a_single_exchange_is_bounded_too() {
    let peer = Peer {
        offset_ns: 77,
        drift: 0.0,
    };
    let one = [peer.exchange(1_000_000, [10_000, 5_000, 30_000])];
    let fit = Fit::of(&one, 1_000_000, 1_045_000).unwrap();
    assert!(peer.error(&fit, 1_020_000).abs() <= fit.bound_ns);
    assert!(fit.bound_ns < 20_100.0);
    // One exchange does not determine the slope, so the fit assumes nearly none.
    let far = Fit::of(&one, 1_000_000, 1_000_000 + SECOND).unwrap();
    assert!(far.drift.abs() < 25e-6, "{}", far.drift);
    assert!(far.bound_ns > 500_000.0 && far.bound_ns < 530_000.0);
}

#[test]
fn a_stepped_clock_has_no_line() {
    let before = Peer {
        offset_ns: 0,
        drift: 0.0,
    };
    let after = Peer {
        offset_ns: 50_000_000,
        drift: 0.0,
    };
    let delays = [10_000, 0, 10_000];
    let mut exchanges: Vec<_> = (1..10)
        .map(|i| before.exchange(i * 1_000_000, delays))
        .collect();
    exchanges.extend((10..20).map(|i| after.exchange(i * 1_000_000, delays)));
    assert_eq!(Fit::of(&exchanges, 0, SECOND), None);
}

#[test]
fn a_clock_beyond_500_ppm_has_no_line() {
    let peer = Peer {
        offset_ns: 0,
        drift: 700e-6,
    };
    let exchanges: Vec<_> = (0..100)
        .map(|i| peer.exchange(i * SECOND / 10, [10_000, 0, 10_000]))
        .collect();
    assert_eq!(Fit::of(&exchanges, 0, 10 * SECOND), None);
}

#[test]
fn no_exchange_and_stamps_that_go_back_have_no_line() {
    assert_eq!(Fit::of(&[], 0, 1), None);
    let back = Exchange {
        sent_ns: 10,
        peer_received_ns: 20,
        peer_sent_ns: 19,
        received_ns: 30,
    };
    assert_eq!(Fit::of(&[back], 0, 1), None);
    let back = Exchange {
        received_ns: 9,
        peer_sent_ns: 21,
        ..back
    };
    assert_eq!(Fit::of(&[back], 0, 1), None);
}

#[test]
fn one_clock_is_told_by_order() {
    let ordered = Exchange {
        sent_ns: 1,
        peer_received_ns: 2,
        peer_sent_ns: 2,
        received_ns: 3,
    };
    assert!(one_clock(&[ordered]));
    let other = Exchange {
        peer_sent_ns: 4,
        ..ordered
    };
    assert!(!one_clock(&[ordered, other]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// For any offset, drift and delays, the true offset is inside the bound over the whole span.
    #[test]
    fn the_truth_lies_inside_the_bound(
        offset_ns in prop_oneof![-(1_i128 << 40)..(1_i128 << 40), 0..(1_i128 << 56)],
        drift in -490e-6..490e-6,
        starts in prop::collection::vec(0..20 * SECOND, 1..40),
        delays in prop::collection::vec([0_u64..2_000_000, 0..100_000, 0..2_000_000], 40),
        span in (0..20 * SECOND, 0..20 * SECOND),
    ) {
        let peer = Peer { offset_ns, drift };
        let later = 2_000 * SECOND;
        let exchanges: Vec<_> = starts.iter().zip(&delays)
            .map(|(at, d)| peer.exchange(later + at, *d))
            .collect();
        let (from, to) = (later + span.0.min(span.1), later + span.0.max(span.1));
        let fit = Fit::of(&exchanges, from, to).unwrap();
        for step in 0..=10 {
            let at = from + (to - from) / 10 * step;
            let error = peer.error(&fit, at).abs();
            prop_assert!(error <= fit.bound_ns, "{error} > {} at {at}", fit.bound_ns);
        }
        prop_assert!(peer.error(&fit, fit.epoch_ns).abs() <= fit.bound_epoch_ns);
        prop_assert!(fit.bound_epoch_ns <= fit.bound_ns);
        // Converting a time to the peer's clock and back changes it by at most the same bound.
        let back = fit.own_time_ns(peer.stamp(to)) - i128::from(to);
        prop_assert!((back as f64).abs() <= fit.bound_ns * 1.001 + 2.0);
    }

    #[test]
    fn arbitrary_stamps_never_panic(
        stamps in prop::collection::vec(any::<[u64; 4]>(), 0..10),
        span in any::<(u64, u64)>(),
    ) {
        let exchanges: Vec<_> = stamps.iter()
            .map(|&[sent_ns, peer_received_ns, peer_sent_ns, received_ns]| Exchange { sent_ns, peer_received_ns, peer_sent_ns, received_ns })
            .collect();
        if let Some(fit) = Fit::of(&exchanges, span.0, span.1) {
            prop_assert!(fit.bound_ns.is_finite() && fit.bound_ns >= 0.0);
            fit.own_time_ns(span.0);
            fit.own_time_ns(span.1);
        }
        one_clock(&exchanges);
    }
}
