//! Detection of duplicates and reordering by sequence numbers.

/// Class of a frame by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// New, and later than all before.
    InOrder,
    /// New, but later ones arrived before it (reordered).
    Late,
    /// Duplicate, or too old to be known.
    Copy,
}

/// Number of remembered sequence numbers: 2^17. Older frames count as duplicates.
const REMEMBERED: u64 = 1 << 17;
const WORDS: usize = (REMEMBERED / 64) as usize;

/// Arrived frames among the last 2^17 sequence numbers of a stream.
#[derive(Debug)]
pub struct Sequence {
    next: u64,
    seen: Box<[u64; WORDS]>,
}

impl Default for Sequence {
    fn default() -> Self {
        Self {
            next: 0,
            seen: Box::new([0; WORDS]),
        }
    }
}

impl Sequence {
    /// Notes the arrival of number `seq`.
    #[inline]
    pub fn arrive(&mut self, seq: u64) -> Arrival {
        if seq == self.next {
            self.next += 1;
            self.mark(seq, true);
            return Arrival::InOrder;
        }
        self.arrive_out_of_turn(seq)
    }

    fn arrive_out_of_turn(&mut self, seq: u64) -> Arrival {
        if seq > self.next {
            self.forget(self.next, seq);
            self.next = seq + 1;
            self.mark(seq, true);
            return Arrival::InOrder;
        }
        if self.next - seq > REMEMBERED || self.marked(seq) {
            return Arrival::Copy;
        }
        self.mark(seq, true);
        Arrival::Late
    }

    /// Marks skipped sequence numbers as not arrived.
    fn forget(&mut self, from: u64, to: u64) {
        if to - from >= REMEMBERED {
            self.seen.fill(0);
        } else {
            (from..to).for_each(|seq| self.mark(seq, false));
        }
    }

    #[inline]
    fn mark(&mut self, seq: u64, arrived: bool) {
        let place = seq % REMEMBERED;
        let bit = 1 << (place % 64);
        let word = &mut self.seen[(place / 64) as usize];
        *word = if arrived { *word | bit } else { *word & !bit };
    }

    fn marked(&self, seq: u64) -> bool {
        let place = seq % REMEMBERED;
        self.seen[(place / 64) as usize] >> (place % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Slow reference implementation: a set of all numbers.
    fn twin(numbers: &[u64]) -> Vec<Arrival> {
        let (mut seen, mut next) = (HashSet::new(), 0);
        numbers
            .iter()
            .map(|&seq| {
                let new = seen.insert(seq);
                let late = seq < next;
                next = next.max(seq + 1);
                match (new, late) {
                    (false, _) => Arrival::Copy,
                    (true, true) => Arrival::Late,
                    (true, false) => Arrival::InOrder,
                }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(numbers in proptest::collection::vec(0u64..100_000, 0..400)) {
            let mut sequence = Sequence::default();
            let got: Vec<_> = numbers.iter().map(|&seq| sequence.arrive(seq)).collect();
            prop_assert_eq!(got, twin(&numbers));
        }
    }

    #[test]
    fn a_place_is_used_again_after_a_round() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.arrive(5), Arrival::InOrder);
        assert_eq!(sequence.arrive(REMEMBERED + 7), Arrival::InOrder);
        assert_eq!(sequence.arrive(REMEMBERED + 5), Arrival::Late);
        assert_eq!(sequence.arrive(REMEMBERED + 5), Arrival::Copy);
        assert_eq!(sequence.arrive(5), Arrival::Copy);
    }

    #[test]
    fn a_jump_over_everything_forgets_everything() {
        let mut sequence = Sequence::default();
        sequence.arrive(1);
        sequence.arrive(1 + 3 * REMEMBERED);
        assert_eq!(sequence.arrive(1 + 2 * REMEMBERED + 1), Arrival::Late);
    }
}
