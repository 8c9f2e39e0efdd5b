//! Which topologies are read, and why others are refused.

use super::*;

const PLAIN: &str = r#"
    name = "plain"
    description = "for tests"
    hosts = ["A", "B"]
    switches = ["S"]
    links = [{ a = "A", b = "S", rate = "100 Mb/s" }, { a = "S", b = "B" }]
"#;

#[test]
fn texts_become_numbers_and_defaults() {
    let topology = Topology::parse(PLAIN).expect("a topology");
    assert_eq!(topology.line_rate_bps, Some(1e8));
    assert_eq!(topology.links[0].rate_bps, Some(1e8));
    assert_eq!(topology.links[1].mtu_bytes, 1500);
    assert!(
        !topology.links[1].gso,
        "one segment a packet wherever a limit may be met"
    );
    assert_eq!(topology.nodes().collect::<Vec<_>>(), ["A", "B", "S"]);
    let free = Topology::load("direct").expect("known");
    assert!(free.links[0].gso && free.line_rate_bps.is_none());
}

#[test]
fn what_comes_with_the_tool_is_right_and_named_as_its_file() {
    for name in Topology::known_names() {
        let topology = Topology::load(name).expect("known");
        assert_eq!(topology.name, name);
        assert!(!topology.description.is_empty());
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/topologies");
    let files = std::fs::read_dir(folder).expect("the folder").count();
    assert_eq!(
        files,
        Topology::known_names().len(),
        "every file is embedded"
    );
}

#[test]
fn a_copy_has_another_name_and_is_else_the_same() {
    for name in Topology::known_names() {
        let topology = Topology::load(name).expect("known");
        let mut copy = topology.renamed("copy").expect("renamed");
        assert_eq!(copy.name, "copy");
        copy.name.clone_from(&topology.name);
        copy.text.clone_from(&topology.text);
        assert_eq!(copy, topology);
    }
    assert!(
        Topology::load("direct")
            .expect("known")
            .renamed("No!")
            .is_err()
    );
}

/// The plain topology with a part replaced is refused with this reason.
fn refused(part: &str, by: &str, reason: &str) {
    assert!(PLAIN.contains(part), "{part}");
    let text = Topology::parse(&PLAIN.replacen(part, by, 1))
        .expect_err(by)
        .to_string();
    assert!(text.contains(reason), "{text} says nothing of {reason}");
}

#[test]
fn wrong_networks_are_refused() {
    refused("name =", "latency = \"1 ms\"\nname =", "unknown field");
    refused("\"plain\"", "\"Plain\"", "its name must be");
    refused("\"B\"]", "\"A\"]", "two nodes are named \"A\"");
    refused("[\"S\"]", "[\"A\"]", "two nodes are named \"A\"");
    refused("[\"A\", \"B\"]", "[\"A\", \"B\", \"C\"]", "C has no link");
    refused(
        "[\"A\", \"B\"]",
        "[\"A\", \"B\", \"a-b\"]",
        "must be 1 to 12",
    );
    refused(
        "[\"A\", \"B\"]",
        "[\"A\", \"B\", \"thirteenchars\"]",
        "must be 1 to 12",
    );
    refused("b = \"B\"", "b = \"X\"", "ends at no host or switch");
    refused("b = \"B\"", "b = \"S\"", "leads nowhere");
    refused("b = \"B\"", "b = \"A\"", "two links join S and A");
    refused("100 Mb/s", "100 Mb", "'/s' is missing");
    refused("b = \"B\"", "b = \"B\", fair = true", "cannot be fair");
    refused("100 Mb/s", "1 b/s", "must lie between");
    refused(
        "\"100 Mb/s\"",
        "\"100 Mb/s\", mtu = \"20 kB\"",
        "the MTU of 20000 B",
    );
    refused(
        "b = \"B\"",
        "b = \"B\", queue = \"64 KiB\"",
        "has a queue and no rate",
    );
    refused(
        "\"100 Mb/s\"",
        "\"100 Mb/s\", queue = \"1 kB\"",
        "must hold at least 12500 B",
    );
    refused(
        "\"100 Mb/s\"",
        "\"100 Mb/s\", queue = \"5 GB\"",
        "is too large",
    );
}

#[test]
fn rings_and_double_homes_are_refused() {
    let ring = PLAIN.replace("[\"S\"]", "[\"S\", \"T\", \"U\"]").replace(
        "links = [",
        "links = [{ a = \"S\", b = \"T\" }, { a = \"T\", b = \"U\" }, { a = \"U\", b = \"S\" }, ",
    );
    let text = Topology::parse(&ring).expect_err("a ring").to_string();
    assert!(text.contains("closes a ring of switches"), "{text}");
    let double = PLAIN.replace("[\"S\"]", "[\"S\", \"T\"]").replace(
        "links = [",
        "links = [{ a = \"S\", b = \"T\" }, { a = \"A\", b = \"T\" }, ",
    );
    let text = Topology::parse(&double).expect_err("two links").to_string();
    assert!(text.contains("A has two links into one segment"), "{text}");
}

fn with(tail: &str) -> Result<Topology> {
    Topology::parse(&format!("{PLAIN}\n{tail}"))
}

#[test]
fn losses_classes_and_clocks_are_checked() {
    let loss = |tail: &str| {
        with(&format!(
            "[[loss]]\nhost = \"B\"\nprotocol = \"udp\"\n{tail}"
        ))
    };
    let read = loss("every = 10\nfrom_size = \"64 B\"").expect("a loss");
    assert_eq!(
        (read.losses[0].from.as_str(), read.losses[0].from_bytes),
        ("S", 64)
    );
    assert!(loss("every = 1").is_err());
    assert!(loss("every = 10\nfrom = \"A\"").is_err());
    assert!(loss("every = 10\nfrom_size = \"64 KiB\"").is_err());
    assert!(with("[[clocks]]\nhost = \"S\"\nahead = \"1 s\"").is_err());
    assert_eq!(
        with("[[clocks]]\nhost = \"A\"\nahead = \"1.5 s\"")
            .expect("a clock")
            .clocks[0]
            .ahead_s,
        1.5
    );
}

#[test]
fn classes_share_what_the_link_has() {
    let class = |dscp: &str, rate: &str, more: &str| {
        format!(
            "[[classes]]\nfrom = \"S\"\nto = \"A\"\ndscp = {dscp}\nrate = \"{rate}\"\npriority = 1\n{more}\n"
        )
    };
    let rest = class("[]", "20 Mb/s", "ceil = \"100 Mb/s\"");
    let good = with(&(class("[46]", "80 Mb/s", "") + &rest)).expect("classes");
    assert_eq!(
        (good.classes[0].ceil_bps, good.classes[1].ceil_bps),
        (8e7, 1e8)
    );
    for (wrong, reason) in [
        (class("[46]", "80 Mb/s", ""), "0 of the classes"),
        (class("[46]", "90 Mb/s", "") + &rest, "guaranteed more"),
        (class("[64]", "80 Mb/s", "") + &rest, "each DSCP once"),
        (class("[46, 46]", "80 Mb/s", "") + &rest, "each DSCP once"),
        (
            class("[46]", "80 Mb/s", "ceil = \"200 Mb/s\"") + &rest,
            "rate <= ceil",
        ),
        (rest.replace("priority = 1", "priority = 8"), "give 0 to 7"),
        (
            rest.replace("to = \"A\"", "to = \"B\""),
            "on no link with a rate",
        ),
    ] {
        let text = with(&wrong).expect_err(reason).to_string();
        assert!(text.contains(reason), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*", number in "[0-9.]{0,5}", name in "[A-Za-z_-]{0,14}") {
        let _ = Topology::parse(&text);
        let _ = Topology::parse(&PLAIN.replace("100", &number));
        let _ = Topology::parse(&PLAIN.replace("\"S\"", &format!("\"{name}\"")));
    }
}
