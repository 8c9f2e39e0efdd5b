//! Properties of the host that can affect results.

use super::{is_live, network, number_of, steering, text_of};
use crate::device::Device;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Settings of the kernel that shape network performance, below /proc/sys/net.
const SYSCTLS: [&str; 10] = [
    "core/rmem_max",
    "core/wmem_max",
    "core/rmem_default",
    "core/wmem_default",
    "core/netdev_max_backlog",
    "core/busy_poll",
    "core/default_qdisc",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_rmem",
    "ipv4/tcp_wmem",
];

/// Hardware and settings of a host. Unavailable properties are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Name of the host.
    pub hostname: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Command line of the kernel.
    pub kernel_cmdline: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// Cores that are online.
    pub cpus: u32,
    /// CPU frequency governor of core 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether simultaneous multithreading (SMT) is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<bool>,
    /// Clock source of the kernel.
    pub clock_source: String,
    /// Whether the host is a virtual machine, as reported by the processor.
    pub hypervisor: bool,
    /// Memory of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Name of the interface described by the following keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Driver of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Firmware of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// MAC address of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// MTU of the interface, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Link speed reported by the driver; meaningless for virtual links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_speed_bps: Option<f64>,
    /// Offloads by the short names of `ethtool -K`, on or off.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<String, bool>,
    /// Queueing discipline at the root of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<String>,
    /// Mask of cores that process each receive queue (RPS); zero means the core of the interrupt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub receive_steering: BTreeMap<String, String>,
    /// The kernel's network settings, by their paths below /proc/sys/net.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    /// Version of libzmq; absent if not installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub libzmq: Option<String>,
    /// Version of this tool.
    pub icprobe: String,
}

impl Environment {
    /// Reads the files below `root` (`/` for the live system) and, if given, the properties of
    /// `interface`. Of the live system, properties that are in no file are read by system calls.
    pub fn read(root: &Path, interface: Option<&str>) -> Self {
        let text = |path: &str| text_of(root, path);
        let cpuinfo = text("proc/cpuinfo").unwrap_or_default();
        let mut environment = Self {
            hostname: text("proc/sys/kernel/hostname").unwrap_or_default(),
            kernel: text("proc/sys/kernel/osrelease").unwrap_or_default(),
            kernel_cmdline: text("proc/cmdline").unwrap_or_default(),
            cpu_model: cpu_model(&cpuinfo),
            cpus: cpus_online(&text("proc/stat").unwrap_or_default()),
            governor: text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            smt: text("sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            clock_source: text("sys/devices/system/clocksource/clocksource0/current_clocksource")
                .unwrap_or_default(),
            hypervisor: has_flag(&cpuinfo, "hypervisor"),
            memory_bytes: memory_bytes(&text("proc/meminfo").unwrap_or_default()),
            sysctls: sysctls(root),
            libzmq: if is_live(root) {
                libzmq_version()
            } else {
                None
            },
            icprobe: env!("CARGO_PKG_VERSION").to_owned(),
            ..Self::default()
        };
        if let Some(interface) = interface {
            environment.read_interface(root, interface);
        }
        environment
    }

    fn read_interface(&mut self, root: &Path, interface: &str) {
        let folder = Path::new("sys/class/net").join(interface);
        self.interface = Some(interface.to_owned());
        self.mac = text_of(root, folder.join("address"));
        self.mtu_bytes = number_of(root, folder.join("mtu"));
        self.link_speed_bps = number_of::<f64>(root, folder.join("speed"))
            .filter(|mbps| *mbps > 0.0)
            .map(|mbps| mbps * 1e6);
        self.driver = fs::read_link(root.join(&folder).join("device/driver"))
            .ok()
            .and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
        self.receive_steering = steering::receive_steering(root, interface)
            .into_iter()
            .collect();
        if is_live(root) {
            self.ask_interface(interface);
        }
    }

    /// Properties from system calls, which see the right interface even if /sys belongs to another namespace.
    fn ask_interface(&mut self, interface: &str) {
        let Ok(device) = Device::open(interface) else {
            return;
        };
        let said = |word: String| (!word.is_empty() && word != "N/A").then_some(word);
        if let Ok(driver) = device.driver() {
            self.driver = said(driver.name).or(self.driver.take());
            self.firmware = said(driver.firmware);
        }
        self.mac = device
            .mac()
            .ok()
            .map(network::format_mac)
            .or(self.mac.take());
        self.mtu_bytes = device.mtu_bytes().ok().or(self.mtu_bytes);
        self.offloads = device.offloads();
        self.qdisc = network::index_of(interface)
            .ok()
            .and_then(network::root_qdisc);
    }
}

/// Model of the first core: `model name` on x86, the implementer's numbers on ARM.
fn cpu_model(cpuinfo: &str) -> String {
    let value = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    let arm = || {
        let (implementer, part) = (value("CPU implementer")?, value("CPU part")?);
        Some(format!("implementer {implementer}, part {part}"))
    };
    value("model name").or_else(arm).unwrap_or_default()
}

fn cpus_online(stat: &str) -> u32 {
    let core = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(core).count() as u32
}

fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == flag))
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn sysctls(root: &Path) -> BTreeMap<String, String> {
    let folder = Path::new("proc/sys/net");
    let one = |name: &&str| {
        let words = text_of(root, folder.join(name))?;
        let value = words.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        Some(((*name).to_owned(), value))
    };
    SYSCTLS.iter().filter_map(one).collect()
}

/// Version of the ZeroMQ library installed on this host.
fn libzmq_version() -> Option<String> {
    type Version = unsafe extern "C" fn(*mut i32, *mut i32, *mut i32);
    // SAFETY: loading libzmq runs its initialisers, which touch nothing of this process.
    let library = unsafe { libloading::Library::new("libzmq.so.5") }.ok()?;
    // SAFETY: zmq_version has this signature in every version of the library.
    let version = unsafe { library.get::<Version>(b"zmq_version\0") }.ok()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three pointers are valid to write to.
    unsafe { version(&mut major, &mut minor, &mut patch) };
    Some(format!("{major}.{minor}.{patch}"))
}

#[cfg(test)]
mod tests;
