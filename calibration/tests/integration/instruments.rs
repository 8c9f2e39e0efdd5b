//! The readers against a real network that belongs to the test: a namespace of its own with a
//! veth pair, gone when the test's thread ends.

use crate::own_name;
use icprobe::host::environment::Environment;
use icprobe::host::network::{InterfaceCounters, interface_towards, mtu_of};
use icprobe::host::settings::InterfaceSettings;
use icprobe::host::steering::SteeringGuard;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs `test` in namespaces of its own, with a sysfs of its own below the root it is given.
fn in_namespace(name: &str, test: impl FnOnce(&Path) + Send + 'static) {
    // SAFETY: geteuid takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        assert!(
            std::env::var_os("CI").is_none(),
            "{name}: needs root, and CI must not skip"
        );
        eprintln!("{name} skipped: network namespaces need root");
        return;
    }
    let root = std::env::temp_dir().join(own_name(name));
    let inside = root.clone();
    let thread = std::thread::spawn(move || {
        enter(&inside);
        test(&inside);
    });
    let outcome = thread.join();
    let _ = fs::remove_dir(root.join("sys"));
    let _ = fs::remove_dir(&root);
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn enter(root: &Path) {
    // SAFETY: both namespaces are the calling thread's own from here on.
    let status = unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
    fs::create_dir_all(root.join("sys")).unwrap();
    run("mount", "--make-rprivate /");
    run("mount", &format!("-t sysfs sysfs {}/sys", root.display()));
    run("ip", "link set lo up");
    run("ip", "link add left type veth peer name right");
    run("ip", "address add 10.99.0.1/24 dev left");
    run("ip", "link set left up");
    run("ip", "link set right up");
    run(
        "ip",
        "neighbour add 10.99.0.2 lladdr 02:00:00:00:00:02 dev left",
    );
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program)
        .args(arguments.split(' '))
        .status()
        .unwrap();
    assert!(status.success(), "{program} {arguments}");
}

#[test]
fn counters_see_exactly_what_was_sent() {
    in_namespace("counters", |root| {
        let read = |name| InterfaceCounters::read(root, name).unwrap();
        let (left, right) = (read("left"), read("right"));
        let socket = UdpSocket::bind("10.99.0.1:0").unwrap();
        socket.connect("10.99.0.2:9").unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut sent = 0;
        // A veth pair drops frames if others fill the backlog of the CPU, those of other namespaces
        // too.
        while (read("right") - right).rx_packets < 1000 {
            assert!(Instant::now() < deadline, "{:?}", read("left") - left);
            socket.send(&[0; 1000]).unwrap();
            sent += 1;
        }
        let (left, right) = (read("left") - left, read("right") - right);
        // 14 B of Ethernet, 20 B of IPv4 and 8 B of UDP stand before every payload. IPv6 may say
        // a few short words of its own meanwhile.
        let tried = left.tx_packets + left.tx_dropped;
        assert!((sent..sent + 20).contains(&tried), "{sent} {left:?}");
        assert!(
            left.tx_bytes >= 1042 * (sent - left.tx_dropped)
                && left.tx_bytes <= 1042 * left.tx_packets,
            "{sent} {left:?}"
        );
        assert_eq!(left.tx_errors, 0);
        assert!(right.rx_packets >= left.tx_packets);
    });
}

#[test]
fn the_way_to_a_peer_is_found() {
    in_namespace("towards", |_| {
        let towards = |address: &str| interface_towards(address.parse().unwrap());
        assert_eq!(towards("10.99.0.2").unwrap(), "left");
        // The own address never leaves the host, whichever interface carries it.
        assert_eq!(towards("10.99.0.1").unwrap(), "lo");
        let why = towards("192.0.2.1").unwrap_err();
        assert_eq!(why.exit_code(), 3);
        assert!(why.to_string().contains("no route"), "{why}");
    });
}

#[test]
fn settings_are_put_back() {
    in_namespace("settings", |_| {
        let before = InterfaceSettings::read("left").unwrap();
        let wanted = InterfaceSettings {
            mtu_bytes: Some(9000),
            offloads: InterfaceSettings::parse_offloads("tx=off,tso=off,gso=off,gro=on").unwrap(),
        };
        let guard = wanted.apply("left").unwrap();
        let now = InterfaceSettings::read("left").unwrap();
        assert_eq!(now.mtu_bytes, Some(9000));
        for (name, on) in &wanted.offloads {
            assert_eq!(now.offloads[name], *on, "{name}");
        }
        drop(guard);
        assert_eq!(InterfaceSettings::read("left").unwrap(), before);
    });
}

#[test]
fn refused_settings_leave_everything_as_it_was() {
    in_namespace("refused", |_| {
        let before = InterfaceSettings::read("left").unwrap();
        let wanted = InterfaceSettings {
            mtu_bytes: Some(3000),
            // A veth has no large receive offload.
            offloads: InterfaceSettings::parse_offloads("gso=off,lro=on").unwrap(),
        };
        let why = wanted.apply("left").unwrap_err();
        assert_eq!(why.exit_code(), 2);
        assert!(why.to_string().contains("lro"), "{why}");
        assert_eq!(InterfaceSettings::read("left").unwrap(), before);
        let too_long = InterfaceSettings {
            mtu_bytes: Some(100_000_000),
            ..InterfaceSettings::default()
        };
        assert!(too_long.apply("left").is_err());
        assert_eq!(mtu_of("left").unwrap(), 1500);
    });
}

#[test]
fn steering_takes_real_queues_and_lets_them_go() {
    in_namespace("steering", |root| {
        let queue = root.join("sys/class/net/left/queues/rx-0/rps_cpus");
        let mask = || {
            u64::from_str_radix(
                &fs::read_to_string(&queue).unwrap().trim().replace(',', ""),
                16,
            )
            .unwrap()
        };
        let before = mask();
        let guard = SteeringGuard::steer_below(root, "left", &[0]).unwrap();
        assert!(guard.is_some());
        assert_eq!(mask(), 1);
        drop(guard);
        assert_eq!(mask(), before);
    });
}

#[test]
fn the_environment_tells_of_the_interface() {
    in_namespace("environment", |_| {
        run(
            "tc",
            "qdisc add dev left root tbf rate 100mbit burst 10kb latency 50ms",
        );
        let environment = Environment::read(Path::new("/"), Some("left"));
        assert_eq!(environment.qdisc.as_deref(), Some("tbf"));
        assert_eq!(environment.driver.as_deref(), Some("veth"));
        assert_eq!(environment.mtu_bytes, Some(1500));
        assert!(environment.offloads.contains_key("tso"));
        let right = Environment::read(Path::new("/"), Some("right"));
        assert_ne!(environment.mac, right.mac);
        assert_ne!(right.qdisc.as_deref(), Some("tbf"));
    });
}
