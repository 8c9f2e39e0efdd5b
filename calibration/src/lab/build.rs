//! Builds a topology: namespaces, links, bridges, addresses, rate limits and losses.

use super::address::{Port, interface_name, ports};
use super::holder::unshare;
use super::state::Lock;
use super::topology::{Link, Topology};
use super::{Lab, loss, shaping, tool};
use crate::error::{Context, Error, Result};
use rustix::mount::mount_bind;
use rustix::thread::UnshareFlags;
use serde_json::Value;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Ageing time of a switch's address table, in centiseconds: longer than any run.
const AGEING_CENTISECONDS: u32 = 100 * 86_400;

/// Timeout for new links to come up.
const READY: Duration = Duration::from_secs(10);

/// Network under construction. The tools that build it also hold the lock. If this command is
/// killed, the next command waits for the running tool, and then finds everything that was built.
struct Site<'a> {
    lab: &'a Lab,
    lock: &'a Lock,
}

impl Lab {
    /// Builds the whole network; fails if parts of it already exist.
    pub(super) fn build(&self, lock: &Lock) -> Result<()> {
        Site { lab: self, lock }.build()
    }
}

impl Site<'_> {
    fn build(&self) -> Result<()> {
        let topology = &self.lab.topology;
        for node in topology.nodes() {
            self.build_node(node)?;
        }
        let ports = ports(topology);
        for link in &topology.links {
            self.build_link(link, &ports)?;
        }
        for node in topology.nodes() {
            let lines = node_script(topology, node, &ports);
            self.tool(node, "ip", &["-batch", "-"], &lines)?;
            if topology.is_switch(node) {
                self.start_bridge(node)?;
            }
            let limits = shaping::script(topology, node);
            if !limits.is_empty() {
                self.tool(node, "tc", &["-batch", "-"], &limits)?;
            }
        }
        topology
            .links
            .iter()
            .try_for_each(|link| self.set_offloads(link))?;
        topology
            .hosts
            .iter()
            .try_for_each(|host| self.build_losses(host))?;
        self.wait_until_ready()
    }

    /// Waits until every interface carries packets and every switch forwards them. The kernel may
    /// report a new link up to a second late, and until then a switch drops packets.
    fn wait_until_ready(&self) -> Result<()> {
        let deadline = Instant::now() + READY;
        for node in self.lab.topology.nodes() {
            while !self.is_ready(node)? {
                if Instant::now() > deadline {
                    return Err(Error::peer(format!(
                        "the links of {node} do not come up: try again"
                    )));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    fn is_ready(&self, node: &str) -> Result<bool> {
        let text = self.tool(node, "ip", &["-j", "-d", "link", "show"], "")?;
        let interfaces: Vec<Value> = serde_json::from_str(&text).or_peer("ip printed no JSON")?;
        let own = |interface: &&Value| {
            let name = interface["ifname"].as_str();
            name.is_some_and(|name| name.starts_with("to-"))
        };
        let switch = self.lab.topology.is_switch(node);
        let carries = |interface: &Value| {
            let port = &interface["linkinfo"]["info_slave_data"]["state"];
            interface["operstate"] == "UP" && (!switch || port == "forwarding")
        };
        Ok(interfaces.iter().filter(own).all(carries))
    }

    fn tool(&self, node: &str, program: &str, arguments: &[&str], input: &str) -> Result<String> {
        let mut command = self.lab.door.inside(node, program)?;
        command.args(arguments);
        self.run(command, input)
    }

    fn run(&self, mut command: Command, input: &str) -> Result<String> {
        self.lock.lend(&mut command)?;
        tool::run(command, input)
    }

    /// Creates a node's namespace with IPv6 disabled, so that its own packets are not counted.
    fn build_node(&self, node: &str) -> Result<()> {
        if self.lab.door.holder.is_none() {
            let mut command = Command::new("ip");
            command.args(["netns", "add", &self.lab.door.namespace(node)]);
            self.run(command, "")?;
        } else {
            self.pin_namespace(node)?;
        }
        let quiet = "for kind in all default; do echo 1 > /proc/sys/net/ipv6/conf/$kind/disable_ipv6; done 2>/dev/null || true";
        self.tool(node, "sh", &["-c", quiet], "").map(drop)
    }

    /// Creates a network namespace and pins it (by a bind mount) in the holder's mount namespace.
    fn pin_namespace(&self, node: &str) -> Result<()> {
        let pin = self.lab.door.pin(node);
        std::fs::write(&pin, "").or_peer(format_args!("{} cannot be written", pin.display()))?;
        let target =
            CString::new(pin.as_os_str().as_bytes()).or_question("the path of a namespace")?;
        let mut command = self.lab.door.beside("true")?;
        let pin_own = move || {
            unshare(UnshareFlags::NEWNET)?;
            Ok(mount_bind(c"/proc/self/ns/net", &*target)?)
        };
        // SAFETY: between fork and exec, the closure only makes system calls on values prepared
        // before.
        unsafe { command.pre_exec(pin_own) };
        self.run(command, "").map(drop)
    }

    fn build_link(&self, link: &Link, ports: &[Port]) -> Result<()> {
        let end = |node: &str, neighbour: &str| {
            let port = ports
                .iter()
                .find(|p| p.host == node && p.neighbour == neighbour);
            let mac = port.map_or(String::new(), |p| format!(" address {}", p.mac()));
            format!("{} mtu {}{mac}", interface_name(neighbour), link.mtu_bytes)
        };
        let line = format!(
            "link add name {} type veth peer name {} netns {}\n",
            end(&link.a, &link.b),
            end(&link.b, &link.a),
            self.lab.door.pin(&link.b).display()
        );
        self.tool(&link.a, "ip", &["-batch", "-"], &line).map(drop)
    }

    /// Enables forwarding in a switch, and disables multicast snooping, which sends packets of its own.
    fn start_bridge(&self, node: &str) -> Result<()> {
        let quiet = [
            "link",
            "set",
            "bridge",
            "type",
            "bridge",
            "mcast_snooping",
            "0",
        ];
        // Fails on kernels without multicast snooping, where it is not needed.
        let _ = self.tool(node, "ip", &quiet, "");
        self.tool(node, "ip", &["link", "set", "bridge", "up"], "")
            .map(drop)
    }

    fn set_offloads(&self, link: &Link) -> Result<()> {
        if link.offloads.is_empty() {
            return Ok(());
        }
        for node in [&link.a, &link.b] {
            let interface = interface_name(link.peer_of(node));
            let mut arguments = vec!["-K", &interface];
            for (feature, on) in &link.offloads {
                arguments.extend([feature.as_str(), if *on { "on" } else { "off" }]);
            }
            self.tool(node, "ethtool", &arguments, "")?;
        }
        Ok(())
    }

    fn build_losses(&self, host: &str) -> Result<()> {
        for loss in loss::of_host(&self.lab.topology, host, true) {
            let arguments = loss::iptables_arguments(loss);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            self.tool(host, "iptables", &arguments, "")?;
        }
        let losses = loss::of_host(&self.lab.topology, host, false);
        if !losses.is_empty() {
            self.tool(host, "nft", &["-f", "-"], &loss::nft_script(&losses))?;
        }
        Ok(())
    }
}

/// Lines for ip that configure a node after its links exist.
fn node_script(topology: &Topology, node: &str, ports: &[Port]) -> String {
    let mut lines = String::from("link set lo up\n");
    let switch = topology.is_switch(node);
    if switch {
        lines += &format!(
            "link add name bridge type bridge stp_state 0 forward_delay 0 ageing_time {AGEING_CENTISECONDS}\n"
        );
    }
    for link in topology.links_of(node) {
        let interface = interface_name(link.peer_of(node));
        if !link.gso {
            // One segment per packet, so that the rate limit counts packets as they are on the
            // wire.
            lines += &format!("link set dev {interface} gso_max_segs 1\n");
        }
        if switch {
            lines += &format!("link set dev {interface} master bridge\n");
        }
        lines += &format!("link set dev {interface} up\n");
    }
    for own in ports.iter().filter(|port| port.host == node) {
        lines += &addresses(own, ports);
    }
    lines
}

/// Own address of an end, and static neighbour entries for its segment, so that no ARP is sent.
fn addresses(own: &Port, ports: &[Port]) -> String {
    let interface = own.interface();
    let mut lines = format!("address add {}/24 dev {interface}\n", own.address());
    for other in ports
        .iter()
        .filter(|p| p.segment == own.segment && p.host != own.host)
    {
        lines += &format!(
            "neighbour replace {} lladdr {} dev {interface} nud permanent\n",
            other.address(),
            other.mac()
        );
    }
    lines
}
