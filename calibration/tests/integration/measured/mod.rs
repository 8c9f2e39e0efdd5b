//! What wants the machine for itself: rates, classes, and runs whose frames nothing may hold up.

mod calm;
mod classes;
mod frames;
mod limited_runs;
mod limits;
mod loopback;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One at a time: the processors are shared, and rates want them.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
