//! Privileges that measuring needs; both ends of a run drop all others.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// Capabilities of measuring: packet sockets, interface settings, real-time priority, low port numbers.
const NEEDED: CapabilitySet = CapabilitySet::NET_RAW
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops all capabilities that measuring does not need, and prevents started programs from gaining
/// any.
///
/// This applies to this thread and the threads it starts, so call it before any other thread
/// exists. If the system refuses, the process keeps its privileges and works with more than it
/// needs.
pub fn drop_unneeded() {
    let _ = set_no_new_privs(true);
    if let Ok(held) = capabilities(None) {
        let kept = CapabilitySets {
            effective: held.effective & NEEDED,
            permitted: held.permitted & NEEDED,
            inheritable: held.inheritable & NEEDED,
        };
        let _ = set_capabilities(None, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::no_new_privs;

    #[test]
    fn a_thread_keeps_only_what_it_needs_and_other_threads_keep_theirs() {
        let before = capabilities(None).unwrap();
        let dropped = std::thread::spawn(|| {
            drop_unneeded();
            let started = std::thread::spawn(|| capabilities(None).unwrap());
            assert!(no_new_privs().unwrap());
            (capabilities(None).unwrap(), started.join().unwrap())
        });
        let (dropped, inherited) = dropped.join().unwrap();
        assert_eq!(dropped.effective, before.effective & NEEDED);
        assert_eq!(dropped.permitted, before.permitted & NEEDED);
        assert_eq!(inherited.permitted, dropped.permitted);
        assert_eq!(capabilities(None).unwrap().permitted, before.permitted);
    }
}
