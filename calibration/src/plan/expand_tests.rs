use super::*;
use std::collections::BTreeMap;
use toml::Value;

fn context() -> Context {
    Context {
        place: "lab:direct".into(),
        line_rate_bps: Some(1e8),
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
        .filter(|p| p.options.get("load") == Some(&Value::from("50000000 b/s")));
    assert_eq!(half.count(), 12);
    assert!(points.iter().all(|p| p.options.contains_key("duration")));
}

#[test]
fn zipped_lists_go_side_by_side() {
    let body = "[[grid]]\nprotocol = \"tcp\"\npayload = \"64 B\"\nload = [\"10 %\", \"20 %\"]\nother-goodput = [\"20 %\", \"10 %\"]\ncores = [1, 2]\nzip = [[\"load\", \"other-goodput\"]]";
    let pairs: BTreeMap<String, usize> = points(body).iter().fold(BTreeMap::new(), |mut all, p| {
        let key = format!("{:?}{:?}", p.options["load"], p.options["other-goodput"]);
        *all.entry(key).or_default() += 1;
        all
    });
    assert_eq!(pairs.len(), 2);
    assert!(pairs.values().all(|count| *count == 2));
    let unequal = body.replace("[\"20 %\", \"10 %\"]", "[\"20 %\", \"10 %\", \"5 %\"]");
    assert!(plan(&unequal).points(&context()).is_err());
    let unknown = body.replace("[[\"load\", \"other-goodput\"]]", "[[\"load\", \"rate\"]]");
    assert!(plan(&unknown).points(&context()).is_err());
    let twice = body.replace("\"other-goodput\"]]", "\"other-goodput\"], [\"load\"]]");
    assert!(plan(&twice).points(&context()).is_err());
}

#[test]
fn a_point_in_two_grids_is_measured_once() {
    let grid = "[[grid]]\nprotocol = \"tcp\"\npayload = \"1 kB\"\nload = \"10 %\"\n";
    let again = format!("{grid}nagle = true\nheld_out = true\n");
    let points = points(&format!("{grid}{again}"));
    assert_eq!((points.len(), points[0].held_out), (1, false));
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
        assert_eq!(beside.options["payload"], point.options["payload"]);
        assert_eq!(beside.options["load"].as_str(), Some("50000000 b/s"));
        assert_eq!((beside.from.as_str(), beside.to.as_str()), ("c", "d"));
    }
    let unnamed = body
        .replace("name = \"half\"\n", "")
        .replace("background = [\"none\", \"half\"]", "");
    assert!(points(&unnamed).iter().all(|p| p.background.len() == 1));
}

#[test]
fn shares_need_a_line_rate() {
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
    assert_eq!(own[0].options["load"].as_str(), Some("5000000000 b/s"));
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

#[test]
fn a_grid_is_held_out_as_a_whole() {
    let all = points(
        "[[grid]]\nprotocol = \"tcp\"\npayload = [\"1 B\", \"64 B\"]\n[[grid]]\nprotocol = \"udp\"\npayload = [\"5 B\", \"6 B\"]\nheld_out = true",
    );
    let held: Vec<&Point> = all.iter().filter(|p| p.held_out).collect();
    assert_eq!((all.len(), held.len()), (4, 2));
    assert!(held.iter().all(|p| p.kind == RunKind::HeldOut));
}
