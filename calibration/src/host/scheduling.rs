//! Core affinity and real-time priority of threads.

use crate::error::{Error, Result};
use crate::settings::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;

/// Maximum number of cores in a mask of this module.
const CPUS_MAX: usize = 8192;
const WORD_BITS: usize = u64::BITS as usize;

/// The cores the calling thread may run on, lowest first.
pub fn available_cpus() -> Vec<usize> {
    let mut mask = [0_u64; CPUS_MAX / WORD_BITS];
    // SAFETY: the mask has the stated length and is writable; 0 is the calling thread.
    let status = unsafe {
        libc::sched_getaffinity(
            0,
            size_of_val(&mask),
            mask.as_mut_ptr().cast::<libc::cpu_set_t>(),
        )
    };
    if status < 0 {
        return vec![0];
    }
    let set = |cpu: &usize| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    (0..CPUS_MAX).filter(set).collect()
}

/// Ids of this process's threads whose name has the given prefix.
pub fn threads_named(beginning: &str) -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let named = tasks.filter(|task| {
        let name = std::fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.starts_with(beginning))
    });
    named
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

/// Pins the calling thread, and threads it starts later, to `cpus`.
pub fn pin_thread(cpus: &[usize]) -> Result<()> {
    pin_task(0, cpus)
}

/// Pins a thread of this process, given by its id, to `cpus`; 0 is the calling thread.
pub fn pin_task(task: i32, cpus: &[usize]) -> Result<()> {
    let mut mask = [0_u64; CPUS_MAX / WORD_BITS];
    for &cpu in cpus {
        let Some(word) = mask.get_mut(cpu / WORD_BITS) else {
            return Err(Error::question(format!(
                "there is no core {cpu}: give one below {CPUS_MAX}"
            )));
        };
        *word |= 1 << (cpu % WORD_BITS);
    }
    // SAFETY: the mask has the stated length.
    let status = unsafe {
        libc::sched_setaffinity(
            task,
            size_of_val(&mask),
            mask.as_ptr().cast::<libc::cpu_set_t>(),
        )
    };
    if status < 0 {
        let why = io::Error::last_os_error();
        return Err(Error::question(format!(
            "the cores {cpus:?} cannot be used ({why}): give some of {:?}",
            available_cpus()
        )));
    }
    Ok(())
}

/// Gives the calling thread real-time priority: SCHED_FIFO with a priority of 1 to 99.
///
/// Fails without the privilege (CAP_SYS_NICE or RLIMIT_RTPRIO). Threads it starts have ordinary priority.
pub fn set_realtime(priority: u8) -> Result<()> {
    if !(1..=99).contains(&priority) {
        return Err(Error::question(format!(
            "a real-time priority of {priority} is not possible: give 1 to 99"
        )));
    }
    let parameter = libc::sched_param {
        sched_priority: priority.into(),
    };
    // SAFETY: the parameter is valid to read; 0 is the calling thread.
    let status = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter)
    };
    if status < 0 {
        let why = io::Error::last_os_error();
        return Err(Error::question(format!(
            "real-time priority {priority} is refused ({why}): run with CAP_SYS_NICE or without the option"
        )));
    }
    Ok(())
}

/// Cores of one end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreLayout {
    /// Their numbers, lowest first.
    pub cores: Vec<usize>,
    /// Both ends, or several threads of this end, share cores: their utilisation cannot be separated.
    pub shared: bool,
}

/// Chooses `cores` of `cpus` (lowest first) for one end.
///
/// If both ends are on one host, the caller takes the lowest cores and the responder the highest.
/// If `cpus` has fewer than twice as many, their cores overlap and the layout is marked as shared.
/// Both ends must be given the same `cpus`.
pub fn split_host(cores: u16, role: Role, cpus: &[usize], same_host: bool) -> CoreLayout {
    let wanted = usize::from(cores);
    let taken = wanted.min(cpus.len());
    let from = match role {
        Role::Responder if same_host => cpus.len() - taken,
        _ => 0,
    };
    let needed = if same_host { 2 * wanted } else { wanted };
    CoreLayout {
        cores: cpus[from..from + taken].to_vec(),
        shared: needed > cpus.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thread_is_pinned_and_no_other() {
        let all = available_cpus();
        let last = all[all.len() - 1];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pin_thread(&[last]).unwrap();
                assert_eq!(available_cpus(), [last]);
                // SAFETY: sched_getcpu takes nothing and only answers.
                assert_eq!(unsafe { libc::sched_getcpu() }, last as i32);
            });
        });
        assert_eq!(available_cpus(), all);
    }

    #[test]
    fn cores_that_are_not_there_are_refused() {
        assert!(pin_thread(&[CPUS_MAX]).is_err());
        assert!(pin_thread(&[CPUS_MAX - 1]).is_err());
        assert!(pin_thread(&[]).is_err());
    }

    #[test]
    fn real_time_is_granted_or_refused_in_a_sentence() {
        assert!(set_realtime(0).is_err() && set_realtime(100).is_err());
        let granted = std::thread::spawn(|| {
            let granted = set_realtime(1);
            // SAFETY: asks for the calling thread's policy.
            let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
            (granted, policy)
        });
        match granted.join().unwrap() {
            (Ok(()), policy) => assert_eq!(policy, libc::SCHED_FIFO),
            (Err(why), policy) => {
                assert!(why.to_string().contains("CAP_SYS_NICE"));
                assert_eq!(policy, libc::SCHED_OTHER);
            }
        }
    }

    #[test]
    fn two_ends_take_the_two_halves() {
        let cpus = [0, 1, 2, 3];
        let caller = split_host(2, Role::Caller, &cpus, true);
        let responder = split_host(2, Role::Responder, &cpus, true);
        assert_eq!((caller.cores, caller.shared), (vec![0, 1], false));
        assert_eq!((responder.cores, responder.shared), (vec![2, 3], false));
        let three = split_host(3, Role::Responder, &cpus, true);
        assert_eq!((three.cores, three.shared), (vec![1, 2, 3], true));
        let alone = split_host(4, Role::Responder, &cpus, false);
        assert_eq!((alone.cores, alone.shared), (vec![0, 1, 2, 3], false));
        let one = split_host(1, Role::Caller, &[5], true);
        assert_eq!((one.cores, one.shared), (vec![5], true));
    }

    proptest! {
        #[test]
        fn what_is_not_shared_is_disjoint(cores in 1_u16..20, n in 1_usize..20) {
            let cpus: Vec<usize> = (0..n).map(|i| 2 * i).collect();
            let a = split_host(cores, Role::Caller, &cpus, true);
            let b = split_host(cores, Role::Responder, &cpus, true);
            prop_assert_eq!(a.shared, b.shared);
            let overlap = a.cores.iter().any(|c| b.cores.contains(c));
            let short = a.cores.len() < usize::from(cores);
            prop_assert_eq!(a.shared, overlap || short);
        }
    }
}
