use super::*;
use crate::host::fake::FakeRoot;
use crate::host::settings::InterfaceSettings;
use crate::host::steering::{InterruptGuard, SteeringGuard};
use proptest::prelude::*;

fn counters(root: &FakeRoot, times: u64) -> InterfaceCounters {
    let names = [
        "rx_packets",
        "rx_bytes",
        "rx_dropped",
        "rx_missed_errors",
        "rx_errors",
        "tx_packets",
        "tx_bytes",
        "tx_dropped",
        "tx_errors",
    ];
    for (name, number) in names.iter().zip(1..) {
        root.write(
            &format!("sys/class/net/v0/statistics/{name}"),
            &format!("{}\n", times * number),
        );
    }
    InterfaceCounters::read(root.path(), "v0").unwrap()
}

#[test]
fn counters_are_read_and_subtracted() {
    let root = FakeRoot::new("network-counters");
    let before = counters(&root, 100);
    let after = counters(&root, 1000);
    let window = after - before;
    assert_eq!(
        window,
        InterfaceCounters {
            rx_packets: 900,
            rx_bytes: 1800,
            rx_dropped: 2700,
            rx_missed: 3600,
            rx_errors: 4500,
            tx_packets: 5400,
            tx_bytes: 6300,
            tx_dropped: 7200,
            tx_errors: 8100,
        }
    );
    assert_eq!(before + window, after);
    assert_eq!(before - after, InterfaceCounters::default());
    let why = InterfaceCounters::read(root.path(), "none")
        .unwrap_err()
        .to_string();
    assert!(why.contains("\"none\"") && why.contains("ip link"), "{why}");
}

#[test]
fn the_own_host_is_reached_through_loopback() {
    for address in ["127.0.0.1", "127.1.2.3"] {
        assert_eq!(interface_towards(address.parse().unwrap()).unwrap(), "lo");
    }
}

#[test]
fn loopback_can_be_asked() {
    assert_eq!(index_of("lo").unwrap(), 1);
    assert!(mtu_of("lo").unwrap() >= 1280);
    let settings = InterfaceSettings::read("lo").unwrap();
    assert!(settings.offloads.contains_key("gso"));
    // Requesting the current settings changes nothing and needs no privilege.
    drop(settings.apply("lo").unwrap());
    assert_eq!(InterfaceSettings::read("lo").unwrap(), settings);
}

#[test]
fn names_that_are_none_are_refused() {
    for name in ["", "a-name-that-is-too-long", "nul\0", "no-such-if"] {
        assert!(mtu_of(name).is_err(), "{name}");
        assert!(index_of(name).is_err(), "{name}");
    }
}

#[test]
fn offloads_are_parsed_strictly() {
    let parsed = InterfaceSettings::parse_offloads("tso=off, gso=on,").unwrap();
    assert_eq!(
        parsed.into_iter().collect::<Vec<_>>(),
        [("gso".to_owned(), true), ("tso".to_owned(), false)]
    );
    assert!(InterfaceSettings::parse_offloads("").unwrap().is_empty());
    for wrong in ["tso", "tso=maybe", "turbo=on", "tso=on,tso=off", "=on"] {
        let why = InterfaceSettings::parse_offloads(wrong).unwrap_err();
        assert_eq!(why.exit_code(), 2, "{wrong}");
    }
}

#[test]
fn macs_are_written_as_usual() {
    assert_eq!(format_mac([2, 0, 0xab, 0, 0x0c, 0xff]), "02:00:ab:00:0c:ff");
}

#[test]
fn steering_is_set_and_put_back() {
    let root = FakeRoot::new("network-steering");
    root.write("sys/class/net/v0/queues/rx-0/rps_cpus", "0\n")
        .write("sys/class/net/v0/queues/rx-1/rps_cpus", "5\n")
        .write("sys/class/net/v0/queues/tx-0/xps_cpus", "7\n");
    let guard = SteeringGuard::steer_below(root.path(), "v0", &[1, 33]).unwrap();
    assert!(guard.is_some());
    assert_eq!(
        root.text("sys/class/net/v0/queues/rx-0/rps_cpus"),
        "2,00000002"
    );
    assert_eq!(
        root.text("sys/class/net/v0/queues/rx-1/rps_cpus"),
        "2,00000002"
    );
    drop(guard);
    assert_eq!(root.text("sys/class/net/v0/queues/rx-0/rps_cpus"), "0");
    assert_eq!(root.text("sys/class/net/v0/queues/rx-1/rps_cpus"), "5");
    assert_eq!(root.text("sys/class/net/v0/queues/tx-0/xps_cpus"), "7\n");
    assert!(
        SteeringGuard::steer_below(root.path(), "none", &[1])
            .unwrap()
            .is_none()
    );
    assert!(SteeringGuard::steer_below(root.path(), "v0", &[]).is_err());
}

#[test]
fn interrupts_are_steered_and_put_back() {
    let root = FakeRoot::new("network-interrupts");
    root.write("sys/class/net/v0/device/msi_irqs/41", "")
        .write("proc/irq/41/smp_affinity", "f\n");
    let guard = InterruptGuard::steer_below(root.path(), "v0", &[0]).unwrap();
    assert!(guard.is_some());
    assert_eq!(root.text("proc/irq/41/smp_affinity"), "1");
    drop(guard);
    assert_eq!(root.text("proc/irq/41/smp_affinity"), "f");
    assert!(
        InterruptGuard::steer_below(root.path(), "lo", &[0])
            .unwrap()
            .is_none()
    );
}

#[test]
fn loopback_has_no_queue() {
    assert_eq!(root_qdisc(1).as_deref(), Some("noqueue"));
    assert_eq!(root_qdisc(u32::MAX), None);
}

proptest! {
    #[test]
    fn damaged_answers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), index in any::<u32>()) {
        qdisc_at_root(&bytes, index);
    }
}
