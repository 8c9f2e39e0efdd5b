//! Standard output.

use crate::error::{Context, Result};
use serde::Serialize;
use std::io::{self, Write};

/// Prints one or several lines. A closed pipe is not an error.
pub fn print(text: &str) -> Result<()> {
    written(io::stdout().lock(), text).or_question("cannot write to standard output")
}

/// Prints a value as JSON that people can read.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text =
        serde_json::to_string_pretty(value).or_question("cannot write the result as JSON")?;
    print(&text)
}

fn written(mut to: impl Write, text: &str) -> io::Result<()> {
    let done = writeln!(to, "{text}").and_then(|()| to.flush());
    match done {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends() {
        let mut told = Vec::new();
        written(&mut told, "one").unwrap();
        assert_eq!(told, b"one\n");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        written(writer, "nobody reads this").unwrap();
    }

    #[test]
    fn a_full_disk_is() {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        written(full, "too much").unwrap_err();
    }
}
