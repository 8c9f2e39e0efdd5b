//! Child processes that are killed with this process, and their output.

use crate::error::{Context, Error, Result};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum size of a record in bytes; limits the memory a child's output can use.
const OUTPUT_MOST_BYTES: u64 = 1 << 30;
/// Greatest length, in characters, of the end of a child's standard error in an error message.
const COMPLAINT_MOST_BYTES: usize = 400;

/// Child that is killed when this value is dropped or when this process dies.
#[derive(Debug)]
pub struct Ward(Child);

impl Ward {
    /// Starts a command.
    ///
    /// The child is killed when the calling thread ends.
    ///
    /// # Errors
    /// [`Error::Peer`] if the command cannot be started.
    pub fn start(mut command: Command) -> Result<Self> {
        let parent = std::process::id();
        // SAFETY: between fork and exec, the closure makes two system calls and allocates no
        // memory.
        unsafe { command.pre_exec(move || die_with(parent)) };
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .spawn()
            .or_peer(format!("{program} could not be started"))?;
        Ok(Self(child))
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns whether the child is still running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Ward {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the kernel to kill this process when the thread that started it ends. Runs between fork and exec.
fn die_with(parent: u32) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before prctl took effect; then the child has another parent. In its
    // own PID namespace a child sees no parent, and this check is skipped.
    let now = getppid().map(|now| now.as_raw_nonzero().get());
    if now.is_some_and(|now| now as u32 != parent) {
        return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    }
    Ok(())
}

/// A child whose output is collected.
#[derive(Debug)]
pub struct Listened {
    ward: Ward,
    output: Receiver<Vec<u8>>,
    complaint: Receiver<Vec<u8>>,
    began: Instant,
}

/// Exit status and output of a child.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// The last lines of its standard error.
    pub complaint: String,
}

impl Listened {
    /// Starts a command and collects its output.
    ///
    /// # Errors
    /// [`Error::Peer`] if the command cannot be started.
    pub fn start(mut command: Command) -> Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut ward = Ward::start(command)?;
        let output = listen(ward.0.stdout.take());
        let complaint = listen(ward.0.stderr.take());
        Ok(Self {
            ward,
            output,
            complaint,
            began: Instant::now(),
        })
    }

    /// Returns whether the child is still running.
    pub fn is_running(&mut self) -> bool {
        self.ward.is_running()
    }

    /// Waits for the child to end. Kills it if it still runs `patience` after its start.
    ///
    /// # Errors
    /// [`Error::Peer`] if the child did not end in time.
    pub fn wait(mut self, patience: Duration) -> Result<Ended> {
        let left = patience.saturating_sub(self.began.elapsed());
        let output = match self.output.recv_timeout(left) {
            Ok(output) => output,
            Err(RecvTimeoutError::Disconnected) => Vec::new(),
            Err(RecvTimeoutError::Timeout) => {
                return Err(Error::peer(format!(
                    "no end after {} s",
                    patience.as_secs()
                )));
            }
        };
        let status = self.ward.0.wait().or_peer("waiting for a child")?;
        let complaint = self
            .complaint
            .recv_timeout(Duration::from_secs(1))
            .unwrap_or_default();
        Ok(Ended {
            status,
            output: String::from_utf8_lossy(&output).into_owned(),
            complaint: last_words(&String::from_utf8_lossy(&complaint)),
        })
    }
}

fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(OUTPUT_MOST_BYTES).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// Last lines of an error message, without the tool's name.
fn last_words(text: &str) -> String {
    let text = text.trim();
    let start = text
        .char_indices()
        .rev()
        .nth(COMPLAINT_MOST_BYTES)
        .map_or(0, |(place, _)| place);
    let tail = &text[start..];
    let tail = if start == 0 {
        tail
    } else {
        tail.split_once('\n').map_or(tail, |(_, rest)| rest)
    };
    let lines = tail
        .lines()
        .map(|line| line.trim().trim_start_matches("icprobe: "));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_child_prints_is_collected() {
        let child = Listened::start(shell("echo out; echo 'icprobe: why' >&2; exit 3")).unwrap();
        let ended = child.wait(Duration::from_secs(10)).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(
            (ended.output.as_str(), ended.complaint.as_str()),
            ("out\n", "why")
        );
    }

    #[test]
    fn a_child_that_hangs_is_ended() {
        let began = Instant::now();
        let child = Listened::start(shell("exec sleep 30")).unwrap();
        let id = child.ward.id();
        assert_eq!(
            child
                .wait(Duration::from_millis(100))
                .unwrap_err()
                .exit_code(),
            3
        );
        assert!(began.elapsed() < Duration::from_secs(10));
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }

    #[test]
    fn long_complaints_are_cut_at_a_line() {
        let text = (0..100).map(|n| format!("line {n}\n")).collect::<String>();
        let words = last_words(&text);
        assert!(words.ends_with("line 99") && words.starts_with("line ") && words.len() < 500);
        assert!(last_words(&"ä".repeat(1000)).len() <= 2 * COMPLAINT_MOST_BYTES + 2);
    }

    #[test]
    fn a_missing_program_is_said() {
        let error = Ward::start(Command::new("/nowhere/icprobe")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/icprobe"), "{error}");
    }
}
