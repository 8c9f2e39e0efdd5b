//! Orderly shutdown on signals: Ctrl-C, a closed terminal, a stopped service.

use crate::error::{Error, Result};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Time limit for an orderly shutdown.
const GRACE: Duration = Duration::from_secs(3);

/// Stop flag of an early end.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Requests the early end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the early end was requested.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if an early end was requested, so that changed settings are restored on the way out.
    ///
    /// # Errors
    /// [`Error::Peer`] if an early end was requested.
    pub fn check(&self) -> Result<()> {
        if self.asked() {
            return Err(Error::peer("the run was ended early by a signal"));
        }
        Ok(())
    }
}

/// Returns a [`Stop`] set by the signals. Three seconds later the process is terminated.
///
/// # Errors
/// As [`tidy_at_end`]; call it before any other thread exists.
pub fn stop_at_end() -> Result<Stop> {
    let stop = Stop::default();
    let raised = stop.clone();
    tidy_at_end(move || {
        raised.ask();
        thread::sleep(GRACE);
    })?;
    Ok(stop)
}

/// Calls `tidy` and ends the process with 128 + the signal's number when one of the signals arrives.
///
/// The signals are blocked in this thread and in the threads it starts later, but not in child
/// processes started by the standard library. Call this before any other thread exists.
///
/// # Errors
/// [`Error::Peer`] if the signals cannot be blocked.
pub fn tidy_at_end(tidy: impl FnOnce() + Send + 'static) -> Result<()> {
    let set = signal_set();
    // SAFETY: `set` is initialised; no old set is asked for.
    let blocked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
    if blocked != 0 {
        return Err(Error::peer("cannot block the termination signals"));
    }
    thread::spawn(move || {
        let set = signal_set();
        let mut signal = 0;
        // SAFETY: both pointers are to initialised values of this thread.
        if unsafe { libc::sigwait(&set, &mut signal) } == 0 {
            tidy();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

fn signal_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset takes it and valid signal numbers.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in SIGNALS {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
