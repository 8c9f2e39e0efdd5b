//! Runs the system's network tools; errors name the package of a missing tool.

use crate::error::{Error, Result};
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

/// The package that brings a program, by its name on Debian and Fedora alike.
fn package_of(program: &str) -> &'static str {
    match program {
        "nft" => "nftables",
        "iptables" | "iptables-save" => "iptables",
        "ethtool" => "ethtool",
        "sh" | "sleep" => "coreutils",
        _ => "iproute2",
    }
}

/// Runs a tool until it ends, with `input` on its standard input; returns its output.
///
/// # Errors
/// [`Error::Question`] if the tool is missing, [`Error::Peer`] with the tool's own message if it
/// fails.
pub(super) fn run(mut command: Command, input: &str) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin"));
    command.env("LC_ALL", "C");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Error::question(format!(
            "the program {program} is missing, which labs need: install the package {}",
            package_of(&program)
        )),
        ErrorKind::PermissionDenied => Error::question(format!(
            "{program} may not enter the lab's namespaces: run as root or allow unprivileged user namespaces"
        )),
        _ => Error::peer(format!("{program} cannot be started: {error}")),
    };
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        // If the tool stops reading, its standard error states the reason.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr)
        .trim()
        .replace('\n', ", ");
    let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    Err(Error::peer(format!(
        "{program} {} failed: {words}",
        arguments.join(" ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_names_its_package() {
        let missing = run(Command::new("tc-that-is-not-there"), "").expect_err("missing");
        assert_eq!(missing.exit_code(), 2);
        assert!(
            missing.to_string().contains("install the package iproute2"),
            "{missing}"
        );
    }

    #[test]
    fn a_failing_tool_speaks_for_itself() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo why >&2; exit 4"]);
        let failed = run(command, "").expect_err("fails");
        assert!(failed.to_string().ends_with("failed: why"), "{failed}");
    }

    #[test]
    fn input_goes_in_and_output_comes_out() {
        let mut command = Command::new("sh");
        command.args(["-c", "cat"]);
        assert_eq!(run(command, "lines\n"), Ok("lines\n".into()));
    }
}
