//! Whether the machine stood still: a thread on each core that sleeps a millisecond at a time.
//!
//! A stall of any core, not only of the one that measures, is none of the link: a sender that is
//! not let run leaves a link idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A core that lets a sleeper wait no longer than this is calm.
const CALM: Duration = Duration::from_millis(5);

/// How long calm windows are waited for: a neighbour may keep the machine busy for minutes.
const PATIENCE: Duration = Duration::from_secs(180);

/// The longest wait of one core's thread in ns, and when it last woke, in ns after the start.
#[derive(Default)]
struct Core {
    longest: AtomicU64,
    woke: AtomicU64,
}

/// Watches all cores until dropped.
struct Watch {
    begin: Instant,
    cores: Arc<Vec<Core>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Watch {
    fn new() -> Self {
        let allowed = allowed_cores();
        let mut watch = Self {
            begin: Instant::now(),
            cores: Arc::new(allowed.iter().map(|_| Core::default()).collect()),
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        for (place, core) in allowed.into_iter().enumerate() {
            let (begin, cores, stop) = (watch.begin, watch.cores.clone(), watch.stop.clone());
            watch.threads.push(thread::spawn(move || {
                pin(core);
                let own = &cores[place];
                while !stop.load(Ordering::Relaxed) {
                    let asleep = begin.elapsed();
                    thread::sleep(Duration::from_millis(1));
                    let awake = begin.elapsed();
                    own.longest
                        .fetch_max((awake - asleep).as_nanos() as u64, Ordering::Relaxed);
                    own.woke.store(awake.as_nanos() as u64, Ordering::Relaxed);
                }
            }));
        }
        watch
    }

    /// The longest wait on any core since this was last asked, one that still lasts among them.
    fn longest(&self) -> Duration {
        let now = self.begin.elapsed().as_nanos() as u64;
        let wait = |core: &Core| {
            let lasting = now.saturating_sub(core.woke.load(Ordering::Relaxed));
            core.longest.swap(0, Ordering::Relaxed).max(lasting)
        };
        Duration::from_nanos(self.cores.iter().map(wait).max().unwrap_or(0))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn allowed_cores() -> Vec<usize> {
    // SAFETY: all bits zero is the empty set of cores.
    let mut set = unsafe { std::mem::zeroed::<libc::cpu_set_t>() };
    // SAFETY: pointer and size describe the set, which lives through the call.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(status, 0);
    // SAFETY: the set is a valid one and each number lies inside it.
    let has = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(has).collect()
}

/// Keeps this thread on one core.
fn pin(core: usize) {
    // SAFETY: all bits zero is the empty set of cores.
    let mut set = unsafe { std::mem::zeroed::<libc::cpu_set_t>() };
    // SAFETY: the set is a valid one and the core's number lies inside it.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: pointer and size describe the set, which lives through the call.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    assert_eq!(status, 0);
}

/// What `measure` returned in windows during which no core stood still: at least `wanted`, and
/// more until `enough` of them says so or [`PATIENCE`] is over.
pub fn calm_windows<T>(
    wanted: usize,
    mut measure: impl FnMut() -> T,
    enough: impl Fn(&[T]) -> bool,
) -> Vec<T> {
    let (watch, begin, mut windows) = (Watch::new(), Instant::now(), Vec::new());
    while (windows.len() < wanted || !enough(&windows)) && begin.elapsed() < PATIENCE {
        watch.longest();
        let window = measure();
        if watch.longest() < CALM {
            windows.push(window);
        }
    }
    assert!(
        windows.len() >= wanted,
        "the machine stands still too often to measure: {} calm windows of {wanted} in {PATIENCE:?}",
        windows.len()
    );
    windows
}
