use super::*;
use std::collections::BTreeMap;

fn context() -> Context {
    Context {
        place: "lab:direct".into(),
        line_rate_bps: Some(1e8),
        mtu_bytes: 1500,
        short: false,
    }
}

fn plan(body: &str) -> Plan {
    let head = "name = \"p\"\ndescription = \"d\"\nsource = \"s\"\n";
    Plan::parse(&format!("{head}{body}")).unwrap()
}

fn points(body: &str) -> Vec<Point> {
    plan(body).points(&context()).unwrap()
}

#[test]
fn lists_multiply() {
    let points = points(
        "[defaults]\nduration = \"1 s\"\n[[grid]]\nprotocol = [\"tcp\", \"udp\"]\npayload = [\"1 B\", \"64 B\"]\nload = [\"unlimited\", \"50 %\"]\ncores = [1, 2, 3]",
    );
    assert_eq!(points.len(), 2 * 2 * 2 * 3);
    let half = points
        .iter()
        .filter(|p| p.settings.get("load") == Some(&Setting::Number(5e7)));
    assert_eq!(half.count(), 12);
    assert!(points.iter().all(|p| p.settings.contains_key("duration")));
}

#[test]
fn zipped_lists_go_side_by_side() {
    let body = "[[grid]]\nprotocol = \"tcp\"\npayload = \"64 B\"\nload = [\"10 %\", \"20 %\"]\nother-goodput = [\"20 %\", \"10 %\"]\ncores = [1, 2]\nzip = [[\"load\", \"other-goodput\"]]";
    let pairs: BTreeMap<String, usize> = points(body).iter().fold(BTreeMap::new(), |mut all, p| {
        let key = format!("{:?}{:?}", p.settings["load"], p.settings["other-goodput"]);
        *all.entry(key).or_default() += 1;
        all
    });
    assert_eq!(pairs.len(), 2);
    assert!(pairs.values().all(|count| *count == 2));
    let unequal = body.replace("[\"20 %\", \"10 %\"]", "[\"20 %\", \"10 %\", \"5 %\"]");
    assert!(plan(&unequal).points(&context()).is_err());
    let unknown = body.replace("[[\"load\", \"other-goodput\"]]", "[[\"load\", \"rate\"]]");
    assert!(plan(&unknown).points(&context()).is_err());
}

#[test]
fn a_point_in_two_grids_is_measured_once() {
    let grid = "[[grid]]\nprotocol = \"tcp\"\npayload = \"1 kB\"\nload = \"10 Mb/s\"\n";
    let same = grid.replace("10 Mb/s", "10 %").replace("1 kB", "1000 B");
    assert_eq!(points(&format!("{grid}{same}")).len(), 1);
}

#[test]
fn breaks_follow_protocol_and_mtu() {
    let points = points(
        "[[grid]]\nprotocol = [\"udp\", \"ethernet\"]\nmtu = [\"1500 B\", \"9000 B\"]\npayload = \"breaks\"",
    );
    let has = |protocol: &str, mtu: u64, payload: u64| {
        points.iter().any(|p| {
            p.settings["protocol"] == Setting::Text(protocol.into())
                && p.settings["mtu"] == Setting::Count(mtu)
                && p.settings["payload"] == Setting::Count(payload)
        })
    };
    assert!(has("udp", 1500, 1473) && !has("udp", 9000, 1473) && has("udp", 9000, 8969));
    assert!(has("ethernet", 9000, 9000) && !has("ethernet", 1500, 9000));
}

#[test]
fn held_out_points_are_inner_stable_and_about_the_share() {
    let body = "[held_out]\nfraction = 0.25\n[[grid]]\nprotocol = \"tcp\"\npayload = \"breaks\"\nload = [\"1 %\", \"25 %\", \"50 %\", \"75 %\", \"94 %\"]";
    let all = points(body);
    let held: Vec<&Point> = all.iter().filter(|p| p.held_out).collect();
    let share = held.len() as f64 / all.len() as f64;
    assert!((0.15..0.35).contains(&share), "{share}");
    assert!(held.iter().all(|p| p.kind == RunKind::HeldOut));
    assert!(held.iter().all(|p| {
        ![1, 65_535]
            .map(Setting::Count)
            .contains(&p.settings["payload"])
    }));
    let fewer = points(&body.replace("\"1 %\", ", ""));
    assert!(
        fewer
            .iter()
            .all(|p| all.iter().any(|q| q.id == p.id && q.held_out == p.held_out))
    );
}

#[test]
fn held_out_by_match_and_by_grid() {
    let all = points(
        "[held_out]\nmatch = [{ payload = \"64 B\", cores = 2 }]\n[[grid]]\nprotocol = \"tcp\"\npayload = [\"1 B\", \"64 B\", \"1 kB\"]\ncores = [1, 2]\n[[grid]]\nprotocol = \"udp\"\npayload = \"5 B\"\nheld_out = true",
    );
    assert_eq!(all.iter().filter(|p| p.held_out).count(), 2);
}

#[test]
fn background_takes_the_same_or_its_own() {
    let body = "[[background]]\nname = \"half\"\nfrom = \"c\"\nto = \"d\"\nprotocol = \"tcp\"\npayload = \"same\"\nload = \"50 %\"\n[[grid]]\nprotocol = \"udp\"\npayload = [\"64 B\", \"1 kB\"]\nbackground = [\"none\", \"half\"]";
    let all = points(body);
    assert_eq!(all.len(), 4);
    let loaded: Vec<&Point> = all.iter().filter(|p| !p.background.is_empty()).collect();
    assert_eq!(loaded.len(), 2);
    for point in loaded {
        let beside = &point.background[0];
        assert_eq!(beside.settings["payload"], point.settings["payload"]);
        assert_eq!(beside.settings["load"], Setting::Number(5e7));
        assert_eq!((beside.from.as_str(), beside.to.as_str()), ("c", "d"));
    }
    let unnamed = body
        .replace("name = \"half\"\n", "")
        .replace("background = [\"none\", \"half\"]", "");
    assert!(points(&unnamed).iter().all(|p| p.background.len() == 1));
}

#[test]
fn ratios_need_a_line_rate() {
    let body = "[[grid]]\nprotocol = \"tcp\"\npayload = \"64 B\"\nload = \"50 %\"";
    let nowhere = Context {
        line_rate_bps: None,
        ..context()
    };
    let error = plan(body).points(&nowhere).unwrap_err();
    assert!(error.to_string().contains("line-rate"), "{error}");
    let own = plan(&format!("line_rate = \"10 Gb/s\"\n{body}"))
        .points(&nowhere)
        .unwrap();
    assert_eq!(own[0].settings["load"], Setting::Number(5e9));
}

#[test]
fn the_digest_sees_place_short_and_options_only() {
    let body = "[[grid]]\nprotocol = \"tcp\"\npayload = \"64 B\"";
    let digest = plan(body).digest(&context());
    assert_eq!(digest.len(), 64);
    assert_eq!(
        digest,
        plan(&format!("{body} # a remark")).digest(&context())
    );
    assert_ne!(digest, plan(&body.replace("64", "65")).digest(&context()));
    assert_ne!(
        digest,
        plan(body).digest(&Context {
            short: true,
            ..context()
        })
    );
    assert_ne!(
        digest,
        plan(body).digest(&Context {
            place: "to:10.0.0.1".into(),
            ..context()
        })
    );
}

#[test]
fn empty_lists_are_refused() {
    let empty = "[[grid]]\nprotocol = \"tcp\"\npayload = []";
    assert!(plan(empty).points(&context()).is_err());
}
