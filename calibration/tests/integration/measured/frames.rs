//! How many frames a second the transports carry over loopback; asked for by name, in release.

use crate::transport::ends::pair;
use icprobe::settings::{Protocol, RunSettings};
use icprobe::transport::{FrameReceiver, FrameSender};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Keeps this thread on one core, where there is such a core.
fn pin(core: usize) {
    // SAFETY: all bits zero is the empty set of cores.
    let mut cores = unsafe { std::mem::zeroed::<libc::cpu_set_t>() };
    // SAFETY: the set is a valid one and the core's number lies inside it.
    unsafe { libc::CPU_SET(core, &mut cores) };
    // SAFETY: pointer and size describe the set, which lives through the call.
    unsafe { libc::sched_setaffinity(0, size_of_val(&cores), &cores) };
}

/// Frames per second sent and received at full speed for one second.
fn rate(settings: &RunSettings) -> (f64, f64) {
    let (caller, responder) = pair(settings);
    let mut sender = caller
        .into_iter()
        .next()
        .expect("one")
        .into_sender()
        .expect("sender");
    let mut receiver = responder
        .into_iter()
        .next()
        .expect("one")
        .into_receiver()
        .expect("receiver");
    let frame = vec![1; settings.payload_bytes as usize];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            pin(1);
            let mut count = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let each = |_, _: &[u8]| count += 1;
                if receiver.receive(Duration::from_millis(100), each).is_err() {
                    break;
                }
            }
            count
        });
        pin(0);
        let begun = Instant::now();
        let mut sent = 0_u64;
        while begun.elapsed() < Duration::from_secs(1) {
            for _ in 0..64 {
                sent += u64::from(sender.send(&frame).expect("send"));
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let received = receiving.join().expect("the receiver panicked");
        (sent as f64 / seconds, received as f64 / seconds)
    })
}

#[test]
#[ignore = "a measurement: make measure"]
fn frames_per_second_over_loopback() {
    for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Zeromq] {
        for size in [64, 1448, 65_507] {
            let mut settings = RunSettings::new(protocol, size);
            settings.nagle = false;
            let mut rates: Vec<_> = (0..5).map(|_| rate(&settings)).collect();
            rates.sort_by(|a, b| a.1.total_cmp(&b.1));
            let (sent, received) = rates[2];
            eprintln!(
                "{protocol:?} {size} B: {sent:.0} sent/s, {received:.0} received/s (median of 5)"
            );
        }
    }
}
