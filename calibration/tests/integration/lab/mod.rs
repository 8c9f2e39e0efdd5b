//! Test networks against what they say they are: silent, apart, lossy, and that nothing is left.

mod leftovers;
mod losses;
pub mod standing;

use icprobe::lab::{self, Lab};
use losses::exchange;
use standing::{Standing, skipped};
use std::thread;
use std::time::Duration;

#[test]
fn a_new_lab_is_silent() {
    if skipped() {
        return;
    }
    let lab = Standing::of("two-senders-100m");
    thread::sleep(Duration::from_millis(2500));
    for interface in lab.0.counters().expect("counted").interfaces {
        assert_eq!(
            (interface.rx_packets, interface.tx_packets),
            (0, 0),
            "{interface:?}"
        );
    }
}

#[test]
fn two_labs_stand_side_by_side() {
    if skipped() {
        return;
    }
    let (one, two) = (Standing::of("loss-udp-10"), Standing::of("loss-udp-100"));
    assert_eq!(one.address("B"), two.address("B"), "addresses stay inside");
    assert_eq!(exchange(&one, 200, 1000), 180);
    assert_eq!(exchange(&two, 200, 1000), 198);
    let name = &one.1;
    assert_eq!(Lab::open(name).expect("found"), one.0);
    assert!(
        lab::list()
            .expect("listed")
            .iter()
            .any(|lab| &lab.name == name && lab.stands)
    );
    lab::down(name).expect("gone");
    assert!(Lab::open(name).is_err());
    assert_eq!(exchange(&two, 200, 1000), 198);
}

#[test]
fn a_host_has_its_own_clock_interfaces_and_settings() {
    if skipped() {
        return;
    }
    let lab = Standing::of("direct-clocks");
    let uptime = |host: &str| {
        let output = lab
            .0
            .command(host, "cat")
            .expect("a host")
            .arg("/proc/uptime")
            .output()
            .expect("ran");
        let text = String::from_utf8(output.stdout).expect("text");
        text.split('.')
            .next()
            .and_then(|s| s.parse::<i64>().ok())
            .expect("seconds")
    };
    let ahead = uptime("B") - uptime("A");
    assert!((999..=1001).contains(&ahead), "{ahead}");
    assert!(lab.0.command("X", "true").is_err());
    let seen = lab
        .0
        .command("A", "ls")
        .expect("a host")
        .arg("/sys/class/net")
        .output()
        .expect("ran");
    assert_eq!(String::from_utf8_lossy(&seen.stdout), "lo\nto-B\n");
    let lab = Standing::of("direct-jumbo");
    let mtu = lab
        .0
        .command("A", "cat")
        .expect("a host")
        .arg("/sys/class/net/to-B/mtu")
        .output()
        .expect("ran");
    assert_eq!(String::from_utf8_lossy(&mtu.stdout), "9000\n");
}
