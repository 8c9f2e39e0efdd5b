//! Offset and drift between two hosts' clocks, with an error bound valid for any path delay.
//!
//! No message arrives before it was sent. Let θ = peer's clock − own clock. A request leaves at t1
//! and its reply returns at t4 (own clock); the peer receives the request at t2 and replies at t3
//! (peer's clock). So θ(t1) ≤ t2 − t1 and θ(t4) ≥ t3 − t4. This is the interval of RFC 5905 §8,
//! without the assumption that both directions take equally long. If θ is linear in time with a
//! slope of at most [`DRIFT_MAX`], the lines that satisfy all exchanges form a convex set, which
//! contains the true line. The error bound of an estimate at a time is its distance to the farthest
//! line of the set at that time.
//!
//! The estimate starts from the line with the greatest margin to all limits, which is the true line
//! if both directions are equally fast. At both ends of the requested span, the bound is least in
//! the middle of the set. So the estimate moves towards the line through these two middles, as long
//! as half of the margin remains. Exchanges within a short time do not determine the slope; the
//! estimated slope is then near zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest relative drift of two disciplined clocks: 500 ppm, the limit of RFC 5905's clock discipline.
pub const DRIFT_MAX: f64 = 500e-6;
/// Stamps are whole nanoseconds, so every limit may be off by less than one.
const ROUNDING_NS: f64 = 1.0;
/// Steps of a golden-section search: each leaves 0.618 of the interval, 80 leave 2·10⁻¹⁷ of it.
const SEARCH_STEPS: u32 = 80;

/// One request and reply between the two clocks, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Request sent, own clock.
    pub sent_ns: u64,
    /// Request received, peer's clock.
    pub peer_received_ns: u64,
    /// Reply sent, peer's clock.
    pub peer_sent_ns: u64,
    /// Reply received, own clock.
    pub received_ns: u64,
}

impl Exchange {
    /// Round-trip time less the peer's processing time, in nanoseconds; `None` if a clock went backwards.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let whole = self.received_ns.checked_sub(self.sent_ns)?;
        let inside = self.peer_sent_ns.checked_sub(self.peer_received_ns)?;
        Some(whole.saturating_sub(inside))
    }
}

/// Whether all exchanges are consistent with a single clock: stamps of each exchange in order.
pub fn one_clock(exchanges: &[Exchange]) -> bool {
    exchanges.iter().all(|e| {
        e.sent_ns <= e.peer_received_ns
            && e.peer_received_ns <= e.peer_sent_ns
            && e.peer_sent_ns <= e.received_ns
    })
}

/// Linear clock model: θ(t) = peer's clock − own clock = offset + drift · (t − epoch).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Time at which the offset holds, own clock: the middle of the requested span.
    pub epoch_ns: u64,
    /// Peer's clock − own clock at the epoch, in nanoseconds.
    pub offset_ns: f64,
    /// Rate of change of the offset per own time, dimensionless.
    pub drift: f64,
    /// Error bound of the line over the whole span, in nanoseconds.
    pub bound_ns: f64,
    /// Error bound at the epoch, in nanoseconds.
    pub bound_epoch_ns: f64,
    /// Start of the span in which the bound holds, own clock.
    pub from_ns: u64,
    /// End of that span, own clock.
    pub to_ns: u64,
    /// Number of exchanges used by the fit; 0 if both ends read the same clock.
    pub exchanges: u32,
    /// Shortest round trip of these exchanges, in nanoseconds.
    pub rtt_min_ns: u64,
}

impl Fit {
    /// Fits `exchanges`, with the error bound over `from_ns … to_ns` (own clock).
    ///
    /// Returns `None` without exchanges, if a stamp goes backwards, or if no line satisfies all limits
    /// (a clock was stepped or slewed beyond [`DRIFT_MAX`]).
    pub fn of(exchanges: &[Exchange], from_ns: u64, to_ns: u64) -> Option<Self> {
        let to_ns = to_ns.max(from_ns);
        let epoch_ns = from_ns + (to_ns - from_ns) / 2;
        let tunnel = Tunnel::of(exchanges, epoch_ns)?;
        let safest = tunnel.safest()?;
        let slopes = tunnel.slopes(safest.slope);
        let ends = [from_ns, to_ns].map(|time_ns| difference(time_ns, epoch_ns));
        let line = tunnel.between(safest, tunnel.central(ends, slopes, safest));
        let bound_at = |x: f64| {
            let (low, high) = tunnel.range_at(x, slopes);
            (high - line.at(x)).max(line.at(x) - low)
        };
        let offset_ns = tunnel.base as f64 + line.offset;
        // Rounding error of the sum above if the clocks are months apart.
        let lost = 2.0 * offset_ns.abs() * f64::EPSILON;
        let bound_epoch_ns = bound_at(0.0) + lost;
        Some(Self {
            epoch_ns,
            offset_ns,
            drift: line.slope,
            // The distance to a line is linear in time, so its maximum is at an end of the span.
            bound_ns: ends
                .map(bound_at)
                .into_iter()
                .fold(bound_epoch_ns, |most, b| most.max(b + lost)),
            bound_epoch_ns,
            from_ns,
            to_ns,
            exchanges: u32::try_from(exchanges.len()).unwrap_or(u32::MAX),
            rtt_min_ns: tunnel.rtt_min_ns,
        })
    }

    /// Peer's clock − own clock at `own_ns`, in nanoseconds.
    pub fn offset_at(&self, own_ns: u64) -> f64 {
        self.offset_ns + self.drift * difference(own_ns, self.epoch_ns)
    }

    /// Converts a time of the peer's clock to the own clock, in whole nanoseconds; may be negative.
    pub fn own_time_ns(&self, peer_ns: u64) -> i128 {
        let offset = self.offset_ns.round();
        let near = i128::from(peer_ns) - offset as i128;
        let since_epoch = (near - i128::from(self.epoch_ns)) as f64;
        // θ(t) = peer − t solved for t.
        let correction =
            ((self.offset_ns - offset) + self.drift * since_epoch) / (1.0 + self.drift);
        near - correction.round() as i128
    }
}

/// Returns `time − epoch`; both must be of the same clock.
fn difference(time_ns: u64, epoch_ns: u64) -> f64 {
    (i128::from(time_ns) - i128::from(epoch_ns)) as f64
}

/// θ − base = offset + slope · x, with x the time since the epoch.
#[derive(Clone, Copy)]
struct Line {
    slope: f64,
    offset: f64,
}

impl Line {
    fn at(self, x: f64) -> f64 {
        self.offset + self.slope * x
    }
}

/// The limits that exchanges set to θ, relative to `base` so that no digits are lost.
struct Tunnel {
    /// Upper limits: pairs (time since the epoch, greatest θ − base), in ns.
    ceilings: Vec<(f64, f64)>,
    /// Lower limits: pairs (time since the epoch, least θ − base), in ns.
    floors: Vec<(f64, f64)>,
    base: i128,
    rtt_min_ns: u64,
}

impl Tunnel {
    fn of(exchanges: &[Exchange], epoch_ns: u64) -> Option<Self> {
        let theta = |peer: u64, own: u64| i128::from(peer) - i128::from(own);
        let first = exchanges.first()?;
        let base = theta(first.peer_received_ns, first.sent_ns);
        let mut tunnel = Self {
            ceilings: Vec::with_capacity(exchanges.len()),
            floors: Vec::with_capacity(exchanges.len()),
            base,
            rtt_min_ns: u64::MAX,
        };
        for e in exchanges {
            tunnel.rtt_min_ns = tunnel.rtt_min_ns.min(e.round_trip_ns()?);
            let ceiling = (theta(e.peer_received_ns, e.sent_ns) - base) as f64 + ROUNDING_NS;
            let floor = (theta(e.peer_sent_ns, e.received_ns) - base) as f64 - ROUNDING_NS;
            tunnel
                .ceilings
                .push((difference(e.sent_ns, epoch_ns), ceiling));
            tunnel
                .floors
                .push((difference(e.received_ns, epoch_ns), floor));
        }
        Some(tunnel)
    }

    /// Highest offset at the epoch a line of this slope may have; concave in the slope.
    fn ceiling(&self, slope: f64) -> f64 {
        let at_epoch = self.ceilings.iter().map(|(x, limit)| limit - slope * x);
        at_epoch.fold(f64::INFINITY, f64::min)
    }

    /// Lowest offset at the epoch a line of this slope may have; convex in the slope.
    fn floor(&self, slope: f64) -> f64 {
        let at_epoch = self.floors.iter().map(|(x, limit)| limit - slope * x);
        at_epoch.fold(f64::NEG_INFINITY, f64::max)
    }

    fn gap(&self, slope: f64) -> f64 {
        self.ceiling(slope) - self.floor(slope)
    }

    /// Line with the greatest margin; `None` if no line satisfies all limits.
    fn safest(&self) -> Option<Line> {
        let slope = argmax(-DRIFT_MAX, DRIFT_MAX, |slope| self.gap(slope));
        (self.gap(slope) >= 0.0).then(|| Line {
            slope,
            offset: (self.ceiling(slope) + self.floor(slope)) / 2.0,
        })
    }

    /// Line through the middle of the feasible set at both ends of the span, given one feasible line.
    fn central(&self, [from, to]: [f64; 2], slopes: (f64, f64), safest: Line) -> Line {
        let middle = |x: f64| {
            let (low, high) = self.range_at(x, slopes);
            (low + high) / 2.0
        };
        if to <= from {
            return Line {
                offset: middle(0.0),
                ..safest
            };
        }
        let (at_from, at_to) = (middle(from), middle(to));
        let slope = (at_to - at_from) / (to - from);
        Line {
            slope,
            offset: at_from - slope * from,
        }
    }

    /// Moves from the line of greatest margin towards another, keeping half of the margin.
    fn between(&self, safest: Line, other: Line) -> Line {
        let margin = |line: Line| {
            (self.ceiling(line.slope) - line.offset).min(line.offset - self.floor(line.slope))
        };
        let enough = margin(safest) / 2.0;
        let mix = |share: f64| Line {
            slope: safest.slope + share * (other.slope - safest.slope),
            offset: safest.offset + share * (other.offset - safest.offset),
        };
        mix(edge(0.0, 1.0, |share| margin(mix(share)) >= enough))
    }

    /// Range of slopes of the feasible lines, given one feasible line.
    fn slopes(&self, inside: f64) -> (f64, f64) {
        let feasible = |slope| self.gap(slope) >= 0.0;
        (
            edge(inside, -DRIFT_MAX, feasible),
            edge(inside, DRIFT_MAX, feasible),
        )
    }

    /// Lowest and highest θ − base of the feasible lines at `x` after the epoch.
    fn range_at(&self, x: f64, (least, most): (f64, f64)) -> (f64, f64) {
        let high = |slope: f64| self.ceiling(slope) + slope * x;
        let low = |slope: f64| self.floor(slope) + slope * x;
        let highest = argmax(least, most, high);
        let lowest = argmax(least, most, |slope| -low(slope));
        (low(lowest), high(highest))
    }
}

/// Maximum point of a concave function between `low` and `high`: golden-section search
/// (Kiefer, Sequential minimax search for a maximum, Proc. AMS 4, 1953).
fn argmax(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let ends = [low, high];
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut f_left, mut f_right) = (f(left), f(right));
    for _ in 0..SEARCH_STEPS {
        if f_left < f_right {
            (low, left, f_left) = (left, right, f_right);
            right = low + GOLDEN * (high - low);
            f_right = f(right);
        } else {
            (high, right, f_right) = (right, left, f_left);
            left = high - GOLDEN * (high - low);
            f_left = f(left);
        }
    }
    let candidates = [ends[0], ends[1], left, right, (low + high) / 2.0];
    let better = |best: f64, x: f64| if f(x) > f(best) { x } else { best };
    candidates.into_iter().fold(candidates[4], better)
}

/// Finds by bisection the last number from `inside` towards `outside` for which `holds` is true.
fn edge(inside: f64, outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(outside) {
        return outside;
    }
    let (mut inside, mut outside) = (inside, outside);
    for _ in 0..SEARCH_STEPS {
        let middle = inside + (outside - inside) / 2.0;
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests;
