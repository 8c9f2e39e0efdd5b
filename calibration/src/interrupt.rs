//! Ending in order when a person or the system asks: Ctrl-C, a closed terminal, a stopped service.

use crate::error::{Error, Result};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Time for a run to end in order once it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// Whether somebody asked for an early end.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error where somebody asked, so that what was changed is put back on the way out.
    ///
    /// # Errors
    /// [`Error::Peer`] that says so.
    pub fn check(&self) -> Result<()> {
        if self.asked() {
            return Err(Error::peer("the run was ended early by a signal"));
        }
        Ok(())
    }
}

/// A [`Stop`] that the signals raise; who does not heed it within three seconds is ended.
///
/// # Errors
/// As [`tidy_at_end`], and it must be called where that one must.
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
/// The signals are blocked in this thread and all it starts later; children that the standard library
/// starts have them open again. Call it before any other thread exists.
///
/// # Errors
/// [`Error::Peer`] where the system does not allow it.
pub fn tidy_at_end(tidy: impl FnOnce() + Send + 'static) -> Result<()> {
    let set = signal_set();
    // SAFETY: `set` is initialised; no old set is asked for.
    let blocked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
    if blocked != 0 {
        return Err(Error::peer(
            "the signals of an early end could not be blocked",
        ));
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
