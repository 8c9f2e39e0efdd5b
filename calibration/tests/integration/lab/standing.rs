//! Labs that stand for one test.

use crate::own_name;
use icprobe::lab::{self, Lab, Topology};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread::{self, JoinHandle};

/// True, said aloud and not allowed in CI, where this test cannot run.
pub fn skipped() -> bool {
    // SAFETY: geteuid only returns a number.
    if unsafe { libc::geteuid() } == 0 {
        return false;
    }
    assert!(std::env::var_os("CI").is_none(), "skipped in CI: not root");
    eprintln!("skipped: needs root for network namespaces");
    true
}

/// A lab of a known topology under a name of its own, taken down in the end.
pub struct Standing(pub Lab, pub String);

impl Standing {
    pub fn of(topology: &str) -> Self {
        let name = own_name(topology);
        let topology = Topology::load(topology)
            .and_then(|t| t.renamed(&name))
            .expect("known");
        Self(lab::up(&topology).expect("built"), name)
    }

    pub fn address(&self, host: &str) -> IpAddr {
        self.0.host(host).expect("a host").addresses[0]
    }

    /// Runs in a thread of its own inside a host.
    pub fn inside<T: Send + 'static>(
        &self,
        host: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = self.0.host(host).expect("a host").namespace.clone();
        thread::spawn(move || {
            let file = File::open(Path::new("/run/netns").join(namespace)).expect("a namespace");
            // SAFETY: setns takes an open descriptor.
            let joined = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(joined, 0);
            work()
        })
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = lab::down(&self.1);
    }
}
