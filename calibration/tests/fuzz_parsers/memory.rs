//! Counts the memory a thread takes, so that a parser that takes without bound is caught.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static NOW_BYTES: Cell<usize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// The greatest memory that `work` held at once beyond what was held before, in bytes.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW_BYTES.get();
    PEAK_BYTES.set(before);
    let result = work();
    (result, PEAK_BYTES.get().saturating_sub(before))
}

struct Counting;

fn taken(bytes: usize) {
    let now = NOW_BYTES.get().saturating_add(bytes);
    NOW_BYTES.set(now);
    PEAK_BYTES.set(PEAK_BYTES.get().max(now));
}

fn given_back(bytes: usize) {
    // What another thread took may be given back here.
    NOW_BYTES.set(NOW_BYTES.get().saturating_sub(bytes));
}

// SAFETY: every request goes to the system's allocator as it is; the counters are plain numbers of
// the thread, which need no memory and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps to alloc's contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: the caller keeps to dealloc's contract, which is the system's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may exist for a moment.
        taken(size);
        given_back(layout.size());
        // SAFETY: the caller keeps to realloc's contract, which is the system's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[test]
fn what_is_taken_and_given_back_counts_at_its_height() {
    let (kept, peak) = peak_of(|| {
        drop(vec![0u8; 3 << 20]);
        vec![0u8; 1 << 20]
    });
    assert!((3 << 20..4 << 20).contains(&peak), "{peak} B");
    assert_eq!(kept.len(), 1 << 20);
}
