//! Nothing is left of a lab, whatever was killed when, as root and without.

use super::standing::skipped;
use crate::own_name;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// What is left of a lab: namespaces, remembered files and processes.
fn leftovers(name: &str, folder: &Path) -> Vec<String> {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    let mut left = names(Path::new("/run/netns"));
    left.extend(names(folder));
    left.retain(|file| file.contains(name));
    let marked = |process: &String| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let text = String::from_utf8_lossy(&environment);
        text.split('\0')
            .any(|entry| entry.starts_with("ICPROBE_LAB") && entry.contains(name))
    };
    left.extend(
        names(Path::new("/proc"))
            .into_iter()
            .filter(|n| n.parse::<u32>().is_ok())
            .filter(marked),
    );
    left
}

/// The command `icprobe lab` with these arguments, in silence.
fn command(program: &Path, user: Option<u32>, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .arg("lab")
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(user) = user {
        command
            .uid(user)
            .gid(user)
            .env("XDG_RUNTIME_DIR", folder)
            .current_dir("/");
    }
    command
}

/// Builds a lab, starts processes in it, kills what can be killed at any moment, takes it down.
fn survives_kills(program: &Path, user: Option<u32>, folder: &Path) {
    let name = own_name("killed");
    for round in 0..12 {
        let up = ["up", "switch-100m", "--as", &name];
        let mut child = command(program, user, folder, &up)
            .spawn()
            .expect("started");
        thread::sleep(Duration::from_millis(4 * round));
        child.kill().expect("killed");
        child.wait().expect("ended");
        // Killed before it began there is nothing, else there is something to take away.
        let _ = command(program, user, folder, &["down", &name])
            .status()
            .expect("ran");
        assert_eq!(
            leftovers(&name, folder),
            Vec::<String>::new(),
            "round {round}"
        );
    }
    let run = |arguments: &[&str]| {
        command(program, user, folder, arguments)
            .status()
            .expect("ran")
            .code()
    };
    assert_eq!(run(&["up", "switch-100m", "--as", &name]), Some(0));
    let inside = [
        "exec",
        "--lab",
        &name,
        "A",
        "--",
        "sh",
        "-c",
        "setsid sleep 1000 & exec sleep 1000",
    ];
    let mut child = command(program, user, folder, &inside)
        .spawn()
        .expect("started");
    thread::sleep(Duration::from_millis(300));
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_ne!(leftovers(&name, folder), Vec::<String>::new());
    assert_eq!(
        run(&["up", "switch-100m", "--as", &name]),
        Some(0),
        "in place of the first"
    );
    assert_eq!(
        run(&[
            "exec",
            "--lab",
            &name,
            "B",
            "--",
            "test",
            "-d",
            "/sys/class/net/to-S"
        ]),
        Some(0)
    );
    assert_eq!(
        run(&["exec", "--lab", &name, "B", "--", "sh", "-c", "exit 7"]),
        Some(7)
    );
    assert_eq!(run(&["down", &name]), Some(0));
    assert_eq!(leftovers(&name, folder), Vec::<String>::new());
    assert_eq!(run(&["down", &name]), Some(2));
}

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_icprobe").into()
}

#[test]
fn down_leaves_nothing_even_after_a_kill() {
    if skipped() {
        return;
    }
    survives_kills(&program(), None, Path::new("/run/icprobe"));
}

#[test]
fn down_waits_for_the_tool_of_a_killed_command() {
    if skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(own_name("slow"));
    fs::create_dir(&folder).expect("a folder");
    let slow = folder.join("ip");
    let own = std::env::var("PATH").expect("a path");
    fs::write(
        &slow,
        format!("#!/bin/sh\nsleep 0.5\nPATH={own}:/usr/sbin:/sbin exec ip \"$@\"\n"),
    )
    .expect("written");
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).expect("may run");
    let (name, labs) = (own_name("slow"), Path::new("/run/icprobe"));
    let up = ["up", "switch-100m", "--as", &name];
    let mut child = command(&program(), None, labs, &up)
        .env("PATH", format!("{}:{own}", folder.display()))
        .spawn()
        .expect("started");
    while leftovers(&name, labs).is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let down = command(&program(), None, labs, &["down", &name]).status();
    assert_eq!(down.expect("ran").code(), Some(0));
    thread::sleep(Duration::from_millis(700));
    assert_eq!(leftovers(&name, labs), Vec::<String>::new());
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn without_root_everything_is_the_same() {
    if skipped() {
        return;
    }
    // Some number that is nobody's; the program must be where that user can run it.
    let user = 54_321;
    let folder = std::env::temp_dir().join(own_name("user"));
    fs::create_dir(&folder).expect("a folder");
    let copy = folder.join("program");
    fs::copy(program(), &copy).expect("a copy");
    std::os::unix::fs::chown(&folder, Some(user), Some(user)).expect("given away");
    let separate = Command::new("unshare")
        .args(["--user", "--map-root-user", "true"])
        .uid(user)
        .gid(user)
        .status();
    if separate.is_ok_and(|status| status.success()) {
        survives_kills(&copy, Some(user), &folder.join("icprobe"));
        assert!(
            !folder.join("icprobe").exists(),
            "the folder of labs goes with the last"
        );
    } else {
        assert!(
            std::env::var_os("CI").is_none(),
            "skipped in CI: no user namespaces"
        );
        eprintln!("skipped: this kernel gives no user namespaces to users");
    }
    fs::remove_dir_all(&folder).expect("removed");
}
