//! Built-in topologies, embedded in the program so that they are available everywhere.

const KNOWN: &[(&str, &str)] = &[
    ("direct", include_str!("../../../topologies/direct.toml")),
    (
        "direct-1g",
        include_str!("../../../topologies/direct-1g.toml"),
    ),
    (
        "direct-100m",
        include_str!("../../../topologies/direct-100m.toml"),
    ),
    (
        "direct-50m",
        include_str!("../../../topologies/direct-50m.toml"),
    ),
    (
        "direct-20m",
        include_str!("../../../topologies/direct-20m.toml"),
    ),
    (
        "direct-jumbo",
        include_str!("../../../topologies/direct-jumbo.toml"),
    ),
    (
        "direct-clocks",
        include_str!("../../../topologies/direct-clocks.toml"),
    ),
    ("switch", include_str!("../../../topologies/switch.toml")),
    (
        "switch-100m",
        include_str!("../../../topologies/switch-100m.toml"),
    ),
    (
        "two-switches",
        include_str!("../../../topologies/two-switches.toml"),
    ),
    (
        "two-switches-100m",
        include_str!("../../../topologies/two-switches-100m.toml"),
    ),
    (
        "loaded-switch-100m",
        include_str!("../../../topologies/loaded-switch-100m.toml"),
    ),
    (
        "two-senders-100m",
        include_str!("../../../topologies/two-senders-100m.toml"),
    ),
    (
        "dscp-100m",
        include_str!("../../../topologies/dscp-100m.toml"),
    ),
    (
        "offloads-off",
        include_str!("../../../topologies/offloads-off.toml"),
    ),
    (
        "loss-udp-10",
        include_str!("../../../topologies/loss-udp-10.toml"),
    ),
    (
        "loss-udp-100",
        include_str!("../../../topologies/loss-udp-100.toml"),
    ),
    (
        "loss-udp-1000",
        include_str!("../../../topologies/loss-udp-1000.toml"),
    ),
    (
        "loss-ethernet-10",
        include_str!("../../../topologies/loss-ethernet-10.toml"),
    ),
    (
        "loss-ethernet-100",
        include_str!("../../../topologies/loss-ethernet-100.toml"),
    ),
    (
        "loss-ethernet-1000",
        include_str!("../../../topologies/loss-ethernet-1000.toml"),
    ),
    (
        "loss-tcp-100",
        include_str!("../../../topologies/loss-tcp-100.toml"),
    ),
];

pub(super) fn names() -> Vec<&'static str> {
    KNOWN.iter().map(|(name, _)| *name).collect()
}

pub(super) fn text_of(name: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
