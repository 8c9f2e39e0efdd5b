use super::*;
use crate::host::fake::FakeRoot;

fn fake() -> FakeRoot {
    let root = FakeRoot::new("environment");
    root.write("proc/sys/kernel/hostname", "node7\n")
        .write("proc/sys/kernel/osrelease", "6.1.2\n")
        .write("proc/cmdline", "quiet isolcpus=2,3\n")
        .write(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Example 9000 @ 3.00GHz\nflags\t\t: fpu sse hypervisor\n",
        )
        .write("proc/stat", "cpu  1 2\ncpu0 1 2\ncpu1 1 2\nctxt 1\n")
        .write("proc/meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\n")
        .write("proc/sys/net/core/rmem_max", "212992\n")
        .write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")
        .write(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "performance\n",
        )
        .write("sys/devices/system/cpu/smt/active", "0\n")
        .write(
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        )
        .write("sys/class/net/eth9/address", "02:00:00:00:00:09\n")
        .write("sys/class/net/eth9/mtu", "9000\n")
        .write("sys/class/net/eth9/speed", "10000\n")
        .write("sys/class/net/eth9/queues/rx-0/rps_cpus", "3\n");
    let driver = root.path().join("sys/class/net/eth9/device");
    fs::create_dir_all(&driver).unwrap();
    std::os::unix::fs::symlink("../../../bus/pci/drivers/ixgbe", driver.join("driver")).unwrap();
    root
}

#[test]
fn a_replayed_host_is_read() {
    let root = fake();
    let e = Environment::read(root.path(), Some("eth9"));
    assert_eq!((e.hostname.as_str(), e.kernel.as_str()), ("node7", "6.1.2"));
    assert_eq!(e.kernel_cmdline, "quiet isolcpus=2,3");
    assert_eq!(
        (e.cpu_model.as_str(), e.cpus),
        ("Example 9000 @ 3.00GHz", 2)
    );
    assert_eq!(
        (e.governor.as_deref(), e.smt),
        (Some("performance"), Some(false))
    );
    assert!(e.hypervisor);
    assert_eq!(e.memory_bytes, Some(2048 * 1024));
    assert_eq!(e.sysctls["ipv4/tcp_rmem"], "4096 131072 6291456");
    assert_eq!((e.mtu_bytes, e.link_speed_bps), (Some(9000), Some(10e9)));
    assert_eq!(e.driver.as_deref(), Some("ixgbe"));
    assert_eq!(e.mac.as_deref(), Some("02:00:00:00:00:09"));
    assert_eq!(e.receive_steering["rx-0"], "3");
    assert_eq!((e.qdisc.as_ref(), e.libzmq.as_ref()), (None, None));
}

#[test]
fn what_a_host_does_not_tell_is_absent() {
    let root = FakeRoot::new("environment-empty");
    let e = Environment::read(root.path(), Some("eth9"));
    let json = serde_json::to_value(&e).unwrap();
    for key in [
        "governor",
        "smt",
        "driver",
        "mac",
        "mtu_bytes",
        "link_speed_bps",
        "offloads",
        "sysctls",
    ] {
        assert!(json.get(key).is_none(), "{key}");
    }
    assert_eq!(serde_json::from_value::<Environment>(json).unwrap(), e);
}

#[test]
fn an_unknown_link_speed_is_absent() {
    let root = FakeRoot::new("environment-speed");
    root.write("sys/class/net/x/speed", "-1\n");
    assert_eq!(
        Environment::read(root.path(), Some("x")).link_speed_bps,
        None
    );
}

#[test]
fn arm_processors_are_named_by_number() {
    assert_eq!(
        cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"),
        "implementer 0x41, part 0xd0c"
    );
    assert_eq!(cpu_model(""), "");
}

#[test]
fn the_live_host_is_read() {
    let e = Environment::read(Path::new("/"), Some("lo"));
    assert!(!e.kernel.is_empty() && e.cpus > 0 && !e.clock_source.is_empty());
    assert!(e.mtu_bytes.is_some_and(|mtu| mtu >= 1280));
    assert_eq!(e.mac.as_deref(), Some("00:00:00:00:00:00"));
    assert_eq!(e.qdisc.as_deref(), Some("noqueue"));
    assert!(
        e.offloads.contains_key("tso") && e.offloads.contains_key("gro"),
        "{:?}",
        e.offloads
    );
}
