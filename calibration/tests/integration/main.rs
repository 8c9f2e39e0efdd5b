//! The library and the program against real networks: namespaces, labs, loopback.
//!
//! What is in [`measured`] wants the machine for itself; everything else may run side by side. Most
//! need root; they say so and pass elsewhere, and fail in CI (`CI` in the environment).

mod campaign_kill;
mod campaign_lab;
mod golden;
mod instruments;
mod lab;
mod measured;
mod runs;
mod transport;

use std::sync::atomic::{AtomicU32, Ordering};

/// A name that no other test has: labs and folders of tests stand side by side.
fn own_name(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{number}-{what}", std::process::id())
}
