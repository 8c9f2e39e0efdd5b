//! Inputs that nearly are right: a right one, damaged in up to eight places.

/// What parsers of numbers, texts, JSON and TOML stumble over.
const STUMBLES: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x7f",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\n",
    b"\r\n",
    b"\"",
    b"'",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":",
    b":",
    b",",
    b"=",
    b"#",
    b".",
    b"-",
    b"-0",
    b"1e999",
    b"-1e999",
    b"1e-999",
    b"5e-324",
    b"0.1",
    b"NaN",
    b"inf",
    b"null",
    b"true",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"65536",
    b"4294967296",
    b"\"\"",
    b"{}",
    b"[]",
];

/// Numbers that follow from a seed: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Chance(u64);

impl Chance {
    /// The numbers of a seed.
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, or 0; not quite evenly spread, which does not matter here.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    fn bytes(&mut self, below: usize) -> Vec<u8> {
        (0..self.below(below)).map(|_| self.byte()).collect()
    }

    /// Random bytes, one time in eight, else one of `right` with up to eight pieces of damage.
    pub fn damaged(&mut self, right: &[Vec<u8>]) -> Vec<u8> {
        if self.below(8) == 0 {
            return self.bytes(300);
        }
        let mut bytes = right[self.below(right.len())].clone();
        for _ in 0..self.below(9) {
            self.damage(&mut bytes);
        }
        bytes
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = bytes.len().min(at + self.below(256));
        match self.below(8) {
            0 | 1 if at == bytes.len() => {}
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.byte(),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                put(bytes, end, &copy);
            }
            5 => {
                let moved: Vec<u8> = bytes.drain(at..end).collect();
                let to = self.below(bytes.len() + 1);
                put(bytes, to, &moved);
            }
            6 => put(bytes, at, STUMBLES[self.below(STUMBLES.len())]),
            _ => {
                let flood = vec![self.byte(); self.below(2000)];
                put(bytes, at, &flood);
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    bytes.splice(at..at, new.iter().copied());
}
