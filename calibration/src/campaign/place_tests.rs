use super::*;
use crate::plan::RunKind;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// Shell script that takes the place of icprobe.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, body: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("icprobe-script-{name}-{}", std::process::id()));
        // A child writes the script, so that no fork of another test holds the file open for
        // writing when it is run.
        let mut shell = Command::new("sh");
        shell
            .args([
                "-c",
                "printf '%s' \"$1\" > \"$2\"",
                "sh",
                &format!("#!/bin/sh\n{body}\n"),
            ])
            .arg(&path);
        assert!(shell.status().unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Self(path)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn spec() -> RunSpec {
    let options = Options::from([
        ("protocol".into(), "udp".into()),
        ("payload".into(), "1472 B".into()),
    ]);
    let point = Arc::new(Point::new(RunKind::Grid, options, Vec::new()).unwrap());
    RunSpec {
        point,
        repeat: 0,
        load_bps: Some(5e6),
    }
}

fn run(name: &str, body: &str) -> Result<Measured> {
    let script = Script::new(name, body);
    let remote = Remote {
        reach: vec!["--to=127.0.0.1".into(), "--key=k".into()],
    };
    ProcessRunner::remote(&script.0, remote).run(&spec())
}

#[test]
fn the_command_line_is_complete_and_the_line_kept() {
    let measured = run("args", "echo \"{\\\"args\\\": \\\"$*\\\"}\"").unwrap();
    assert_eq!(
        measured.line,
        "{\"args\": \"run --to=127.0.0.1 --key=k --load=5000000 b/s --payload=1472 B --protocol=udp\"}"
    );
}

#[test]
fn exit_codes_become_classes_of_errors() {
    assert!(run("flagged", "echo '{}'; exit 1").is_ok());
    let refused = run("refused", "echo 'icprobe: no such option' >&2; exit 2").unwrap_err();
    assert_eq!(
        (refused.exit_code(), refused.to_string().as_str()),
        (2, "no such option")
    );
    assert_eq!(
        run("peer", "echo gone >&2; exit 3")
            .unwrap_err()
            .exit_code(),
        3
    );
    assert_eq!(run("killed", "kill -9 $$").unwrap_err().exit_code(), 3);
    assert_eq!(run("silent", "exit 0").unwrap_err().exit_code(), 3);
    assert_eq!(
        run("twice", "echo '{}'; echo '{}'")
            .unwrap_err()
            .exit_code(),
        3
    );
}

#[test]
fn background_needs_a_lab() {
    let stream = Background {
        from: "C".into(),
        to: "D".into(),
        options: spec().point.options.clone(),
    };
    let point = Point::new(RunKind::Grid, spec().point.options.clone(), vec![stream]).unwrap();
    let runner = ProcessRunner::remote(Path::new("icprobe"), Remote { reach: Vec::new() });
    let error = runner.check(&[Arc::new(point)]).unwrap_err();
    assert!(error.to_string().contains("--lab"), "{error}");
}

#[test]
fn background_streams_outlast_the_run() {
    let options = Options::from([
        ("frames".into(), 5.into()),
        ("duration".into(), "1 s".into()),
    ]);
    let lasting = lasting(&options, 7.5);
    assert_eq!(lasting["duration"].as_str(), Some("7.5 s"));
    assert_eq!(lasting["baseline"].as_str(), Some("0 s"));
    assert!(!lasting.contains_key("frames"));
}

#[test]
fn the_workshop_leaves_nothing() {
    let records =
        std::env::temp_dir().join(format!("icprobe-workshop-{}.jsonl", std::process::id()));
    let workshop = Workshop::beside(&records).unwrap();
    let script = Script::new("key", "echo secret > \"$2\"");
    let key = workshop.key(&script.0).unwrap();
    assert!(key.is_absolute() && key.exists());
    Workshop::beside(&records).unwrap().close();
    assert!(!key.parent().unwrap().exists());
}
