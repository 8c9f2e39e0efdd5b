use super::*;

const PLAN: &str = r#"
    name = "small"
    description = "d"
    source = "s"
    [defaults]
    duration = "2 s"
    cores = 1
    [[grid]]
    protocol = ["tcp", "udp"]
    payload = ["64 B", "128 B"]
    [short.defaults]
    duration = "0.2 s"
    [[short.grid]]
    protocol = "tcp"
    payload = "64 B"
"#;

#[test]
fn short_merges_tables_and_replaces_lists() {
    let plan = Plan::parse(PLAN).unwrap();
    let short = plan.shortened().unwrap();
    assert_eq!(short.defaults["duration"].as_str(), Some("0.2 s"));
    assert_eq!(short.defaults["cores"].as_integer(), Some(1));
    assert_eq!(short.grids.len(), 1);
    assert!(short.shortened().is_err());
}

#[test]
fn prose_is_not_canonical() {
    let plan = Plan::parse(PLAN).unwrap();
    let reworded = Plan::parse(&PLAN.replace("\"d\"", "\"other\"")).unwrap();
    assert_eq!(plan.canonical(), reworded.canonical());
    let changed = Plan::parse(&PLAN.replace("2 s", "3 s")).unwrap();
    assert_ne!(plan.canonical(), changed.canonical());
}

#[test]
fn wrong_plans_are_refused_with_the_reason() {
    for (from, to, word) in [
        ("name = \"small\"", "", "name"),
        ("[defaults]", "[default]", "default"),
        (
            "payload = [\"64 B\", \"128 B\"]",
            "background = [\"x\"]",
            "background",
        ),
        (
            "payload = [\"64 B\", \"128 B\"]",
            "search = true",
            "[search]",
        ),
        (
            "[defaults]",
            "[repeats]\nmin = 3\nmax = 2\n[defaults]",
            "min ≤ max",
        ),
        (
            "[defaults]",
            "[held_out]\nfraction = 0.2\n[defaults]",
            "held_out",
        ),
        ("[defaults]", "[reference]\nevery = 0\n[defaults]", "every"),
        (
            "[defaults]",
            "[search]\nlowest = \"9 %\"\nhighest = \"5 %\"\n[defaults]",
            "lowest",
        ),
    ] {
        let error = Plan::parse(&PLAN.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
    assert!(Plan::parse("not = [toml").is_err());
}
