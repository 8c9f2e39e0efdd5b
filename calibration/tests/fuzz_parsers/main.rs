//! Throws hostile input at everything that reads what a peer or a stranger wrote.
//!
//! Each target runs `ICPROBE_FUZZ_CASES` cases (default 20 000) from the seed `ICPROBE_FUZZ_SEED`
//! (default: another one each time, told with a failure). Inputs are random bytes and, more telling,
//! right ones damaged: bits turned, pieces cut out, doubled, moved and put in from a list of what
//! parsers stumble over. Every case must end soon, without a panic, and must not take more memory
//! than its input explains; what else must hold each target says itself.

mod damage;
mod documents;
mod frame;
mod memory;
mod session;
mod stranger;

use damage::Chance;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Memory that a case may take besides what its input's length explains, in bytes.
const MEMORY_BYTES: usize = 256 << 10;
/// Memory that each byte of input may make a parser take: a value of JSON may stand in two bytes of text.
const MEMORY_PER_BYTE: usize = 128;
/// Time that a case may take, on a machine that may be busy with others.
const TIME: Duration = Duration::from_secs(5);

/// How often each target is tried.
fn cases() -> u64 {
    number("ICPROBE_FUZZ_CASES").unwrap_or(20_000)
}

/// Where the inputs come from.
fn seed() -> u64 {
    number("ICPROBE_FUZZ_SEED")
        .unwrap_or_else(|| getrandom::u64().expect("the system has random numbers"))
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is {text:?}: give a whole number")),
    )
}

/// Runs `parse` over `times` inputs that nearly are one of `right`, bounded in time and memory.
fn fuzz_times(times: u64, name: &str, right: &[Vec<u8>], parse: impl Fn(&[u8])) {
    fuzz_within(MEMORY_BYTES, MEMORY_PER_BYTE, times, name, right, parse);
}

/// As [`fuzz_times`], with so much memory allowed, and so much more for each byte of input.
fn fuzz_within(
    memory_bytes: usize,
    memory_per_byte: usize,
    times: u64,
    name: &str,
    right: &[Vec<u8>],
    parse: impl Fn(&[u8]),
) {
    let (seed, started) = (seed(), Instant::now());
    let mut chance = Chance::of(seed);
    for case in 0..times {
        let input = chance.damaged(right);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
            bounded(&input, memory_bytes + memory_per_byte * input.len(), &parse)
        })) {
            eprintln!(
                "{name}: case {case} of ICPROBE_FUZZ_SEED={seed}: {}",
                input.escape_ascii()
            );
            resume_unwind(panic);
        }
    }
    eprintln!(
        "{name}: {times} inputs in {:.1} s",
        started.elapsed().as_secs_f64()
    );
}

/// As [`fuzz_times`], as often as asked for.
fn fuzz(name: &str, right: &[Vec<u8>], parse: impl Fn(&[u8])) {
    fuzz_times(cases(), name, right, parse);
}

fn bounded(input: &[u8], allowed_bytes: usize, parse: impl Fn(&[u8])) {
    let started = Instant::now();
    let ((), peak_bytes) = memory::peak_of(|| parse(input));
    assert!(
        peak_bytes <= allowed_bytes,
        "{} B of input took {peak_bytes} B",
        input.len()
    );
    assert!(started.elapsed() < TIME, "it took {:?}", started.elapsed());
}
