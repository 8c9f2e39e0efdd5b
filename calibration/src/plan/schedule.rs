//! Order of the runs: pseudo-random but reproducible, with the reference point in between.

use super::mark::RunKind;
use super::point::Point;
use std::sync::Arc;

/// Key of a run in a campaign.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// The point's identity.
    pub point: String,
    /// Purpose of the run in the plan.
    pub kind: RunKind,
    /// Number of the repeat, from 0.
    pub repeat: u32,
}

/// One run to make.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSpec {
    /// Point to measure.
    pub point: Arc<Point>,
    /// Number of the repeat, from 0; for the reference point, its number in the order.
    pub repeat: u32,
    /// Load of this trial, in b/s; searches only.
    pub load_bps: Option<f64>,
}

impl RunSpec {
    /// Key of the run in the campaign.
    pub fn id(&self) -> RunId {
        RunId {
            point: self.point.id.clone(),
            kind: self.point.kind,
            repeat: self.repeat,
        }
    }
}

/// Orders the runs of all points that are not searched. Each of `rounds` rounds has every point
/// once, in a new random order. The reference point comes first, and again after every `every`
/// runs.
///
/// The order depends on `digest` alone (SplitMix64, Steele et al. 2014, seeded with its first 64
/// bits; Fisher–Yates). Complete rounds keep slow drift of the hosts out of the differences between
/// points.
pub fn schedule(
    points: &[Arc<Point>],
    rounds: u32,
    every: Option<u32>,
    digest: &str,
) -> Vec<RunSpec> {
    let measured = |point: &&Arc<Point>| matches!(point.kind, RunKind::Grid | RunKind::HeldOut);
    let reference = points.iter().find(|point| point.kind == RunKind::Reference);
    let mut order: Vec<&Arc<Point>> = points.iter().filter(measured).collect();
    let mut random = SplitMix::of(digest);
    let mut plain = Vec::new();
    for repeat in 0..rounds {
        random.shuffle(&mut order);
        plain.extend(order.iter().map(|point| RunSpec {
            point: Arc::clone(point),
            repeat,
            load_bps: None,
        }));
    }
    let (Some(reference), Some(every)) = (reference, every) else {
        return plain;
    };
    let mut runs = Vec::new();
    for (block, block_runs) in plain.chunks(every.max(1) as usize).enumerate() {
        runs.push(RunSpec {
            point: Arc::clone(reference),
            repeat: block as u32,
            load_bps: None,
        });
        runs.extend_from_slice(block_runs);
    }
    runs
}

/// The searched points in the random order in which they are searched.
pub fn searches(points: &[Arc<Point>], digest: &str) -> Vec<Arc<Point>> {
    let mut searched: Vec<Arc<Point>> = points
        .iter()
        .filter(|point| point.kind == RunKind::Search)
        .cloned()
        .collect();
    SplitMix::of(digest).shuffle(&mut searched);
    searched
}

/// Random number generator SplitMix64, with a period of 2^64 for every seed and the same output on
/// every host.
struct SplitMix(u64);

impl SplitMix {
    fn of(digest: &str) -> Self {
        Self(
            digest
                .get(..16)
                .and_then(|hex| u64::from_str_radix(hex, 16).ok())
                .unwrap_or(0),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            // The product's upper half is uniform on 0…last but for a bias of 2^-64 · last.
            let chosen = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            values.swap(last, chosen as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::options::Options;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn points(count: u64, reference: bool) -> Vec<Arc<Point>> {
        let point = |kind, payload: u64| {
            let options = Options::from([
                ("protocol".into(), "tcp".into()),
                ("payload".into(), format!("{payload} B").into()),
            ]);
            Arc::new(Point::new(kind, options, Vec::new()).unwrap())
        };
        let mut points: Vec<_> = (1..=count).map(|n| point(RunKind::Grid, n)).collect();
        points.extend(reference.then(|| point(RunKind::Reference, 5000)));
        points
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix(1_234_567);
        // The first outputs of the published generator for this seed.
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_digest_decides_the_order() {
        let points = points(20, false);
        let a = schedule(&points, 2, None, "00000000000000aa");
        assert_eq!(a, schedule(&points, 2, None, "00000000000000aa"));
        assert_ne!(a, schedule(&points, 2, None, "00000000000000ab"));
        let first: Vec<_> = a[..20].iter().map(|run| &run.point.id).collect();
        let second: Vec<_> = a[20..].iter().map(|run| &run.point.id).collect();
        assert_ne!(first, second);
    }

    #[test]
    fn the_reference_point_comes_first_and_every_k() {
        let runs = schedule(&points(10, true), 1, Some(4), "0f");
        let places: Vec<usize> = (runs.iter().enumerate())
            .filter(|(_, run)| run.point.kind == RunKind::Reference)
            .map(|(place, _)| place)
            .collect();
        assert_eq!(places, [0, 5, 10]);
        assert_eq!(runs.len(), 13);
    }

    proptest! {
        #[test]
        fn every_run_once(count in 1u64..40, rounds in 1u32..6, every in proptest::option::of(1u32..9), digest in "[0-9a-f]{64}") {
            let runs = schedule(&points(count, every.is_some()), rounds, every, &digest);
            let ids: BTreeSet<RunId> = runs.iter().map(RunSpec::id).collect();
            prop_assert_eq!(ids.len(), runs.len());
            let plain = runs.iter().filter(|run| run.point.kind == RunKind::Grid).count();
            prop_assert_eq!(plain as u64, count * u64::from(rounds));
        }
    }
}
