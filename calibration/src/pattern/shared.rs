//! State shared by the data threads and the control thread of an end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An edge of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The first frame of the window was sent or received.
    Opened,
    /// The sender announced its end; frames in transit may still arrive.
    Announced,
    /// The last stream has left the window.
    Closed,
}

/// Frames sent on one stream, which its sender announces at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent inside the window.
    pub window: u64,
    /// Sent in the whole run.
    pub run: u64,
}

#[derive(Debug, Default)]
struct State {
    begin_ns: Option<u64>,
    opened: bool,
    announced: bool,
    left: usize,
    closed: bool,
    finished: usize,
}

/// State of one end: passed edges of the window, announced counts, stop flag.
#[derive(Debug)]
pub struct Shared {
    streams: usize,
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    announced: Vec<AtomicU64>,
}

const UNKNOWN: u64 = u64::MAX;

impl Shared {
    /// The state before a run of `streams` data threads.
    pub fn new(streams: usize) -> Self {
        Self {
            streams,
            state: Mutex::default(),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            announced: (0..streams).map(|_| AtomicU64::new(UNKNOWN)).collect(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Ignoring a panic in another thread is safe: each change is a single assignment, so none
        // is half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a stream has its first frame of the window.
    pub fn enter_window(&self) {
        self.state().opened = true;
        self.changed.notify_all();
    }

    /// Notes that a stream has left the window.
    pub fn leave_window(&self) {
        let mut state = self.state();
        state.left += 1;
        state.closed |= state.left >= self.streams;
        drop(state);
        self.changed.notify_all();
    }

    /// Notes that all senders have announced their end.
    pub fn end_announced(&self) {
        self.state().announced = true;
        self.changed.notify_all();
    }

    /// Lets the data threads begin; the first frame leaves at `start_ns`.
    pub fn begin(&self, start_ns: u64) {
        self.state().begin_ns = Some(start_ns);
        self.changed.notify_all();
    }

    /// Waits until the data threads may begin; returns the time of the first frame, in ns.
    pub fn wait_to_begin(&self) -> u64 {
        let mut state = self.state();
        loop {
            match state.begin_ns {
                Some(start_ns) => return start_ns,
                None => {
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }

    /// Whether all streams have left the window.
    pub fn is_closed(&self) -> bool {
        passed(&self.state(), Edge::Closed)
    }

    /// Waits until `edge` has passed, or until all data threads have finished.
    pub fn wait_for(&self, edge: Edge) {
        let mut state = self.state();
        while !passed(&state, edge) && state.finished < self.streams {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that a data thread has finished.
    pub fn finish(&self) {
        self.state().finished += 1;
        self.changed.notify_all();
    }

    /// Waits at most `timeout` for all data threads to finish; returns whether they finished.
    pub fn wait_finished(&self, timeout: Duration) -> bool {
        let state = self.state();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |s| s.finished < self.streams)
            .unwrap_or_else(PoisonError::into_inner);
        state.finished >= self.streams
    }

    /// Asks the data threads to stop at once.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether to stop at once.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Announces the total number of frames sent on `stream`.
    pub fn announce(&self, stream: usize, run_frames: u64) {
        if let Some(announced) = self.announced.get(stream) {
            announced.store(run_frames, Ordering::Release);
        }
    }

    /// Total number of frames sent on `stream`, once announced.
    #[inline]
    pub fn announced(&self, stream: usize) -> Option<u64> {
        let frames = self.announced[stream].load(Ordering::Acquire);
        (frames != UNKNOWN).then_some(frames)
    }
}

fn passed(state: &State, edge: Edge) -> bool {
    match edge {
        Edge::Opened => state.opened || state.closed,
        Edge::Announced => state.announced || state.closed,
        Edge::Closed => state.closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn the_window_opens_with_the_first_stream_and_closes_with_the_last() {
        let shared = Shared::new(2);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                shared.wait_for(Edge::Opened);
                shared.wait_for(Edge::Closed);
            });
            shared.enter_window();
            shared.enter_window();
            shared.leave_window();
            assert!(!waiting.is_finished());
            shared.leave_window();
            waiting.join().unwrap();
        });
    }

    #[test]
    fn a_stream_that_ends_early_leaves_nobody_waiting() {
        let shared = Shared::new(1);
        shared.finish();
        shared.wait_for(Edge::Closed);
        assert!(shared.wait_finished(Duration::ZERO));
    }

    #[test]
    fn what_is_announced_is_known() {
        let shared = Shared::new(2);
        shared.announce(1, 7);
        shared.announce(9, 7);
        assert_eq!((shared.announced(0), shared.announced(1)), (None, Some(7)));
    }
}
