//! Record file: a run is done if and only if it is in the file, even after a crash.
//!
//! A run is done once its whole line is written and synced to disk. A killed campaign can leave at
//! most one incomplete line, at the end; the next campaign removes this line first.

use super::reading::{self, Reading};
use crate::error::{Context, Error, Result};
use crate::plan::RunId;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for the lock.
const PATIENCE: Duration = Duration::from_secs(3);

/// Open record file, locked against other campaigns.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens or creates the file, locks it, removes an incomplete last line, and reads the runs of
    /// this campaign in the order of measurement.
    ///
    /// # Errors
    /// [`Error::Question`] if another campaign is writing to the file, or the file holds records of
    /// another plan. Also if a line other than the last is damaged, or the file cannot be written.
    pub fn open(path: &Path, digest: &str) -> Result<(Self, Vec<(RunId, Reading)>)> {
        let doing = format!("the records {}", path.display());
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .or_question(&doing)?;
        lock(&file, path)?;
        let mut journal = Self {
            file,
            path: path.to_owned(),
        };
        let runs = journal.read(digest)?;
        journal.sync_directory().or_question(&doing)?;
        Ok((journal, runs))
    }

    /// Appends one record and syncs it to disk.
    ///
    /// # Errors
    /// [`Error::Question`] if the disk refuses the write.
    pub fn append(&mut self, line: &str) -> Result<()> {
        let written = self
            .file
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.file.sync_data());
        written.or_question(format!(
            "the record could not be written to {}",
            self.path.display()
        ))
    }

    fn read(&mut self, digest: &str) -> Result<Vec<(RunId, Reading)>> {
        let mut runs: Vec<(RunId, Reading)> = Vec::new();
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        let mut good_bytes: u64 = 0;
        let mut known = std::collections::BTreeSet::new();
        for number in 1.. {
            line.clear();
            let bytes = reader
                .read_until(b'\n', &mut line)
                .or_question(self.path.display())?;
            if bytes == 0 {
                break;
            }
            let last = reader
                .fill_buf()
                .or_question(self.path.display())?
                .is_empty();
            let whole = line.ends_with(b"\n");
            match serde_json::from_slice(&line) {
                Ok(record) if whole => {
                    let run = read_line(&record, digest);
                    let run = run.map_err(|error| self.wrong(number, &error.to_string()))?;
                    if !known.insert(run.0.clone()) {
                        return Err(self.wrong(number, "this run was recorded before"));
                    }
                    runs.push(run);
                }
                _ if last => return self.cut(good_bytes, number).map(|()| runs),
                _ => return Err(self.wrong(number, "it is not a JSON record")),
            }
            good_bytes += bytes as u64;
        }
        Ok(runs)
    }

    fn wrong(&self, number: u64, why: &str) -> Error {
        let path = self.path.display();
        Error::question(format!(
            "{path}, line {number}: {why}: give another file with -o, or mend this one"
        ))
    }

    fn cut(&self, length: u64, number: u64) -> Result<()> {
        eprintln!(
            "icprobe: line {number} of {} is incomplete; its run is made again",
            self.path.display()
        );
        let mut file = &self.file;
        let cut = (file.set_len(length))
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .and_then(|_| file.sync_all());
        cut.or_question(format!("{} could not be mended", self.path.display()))
    }

    /// Syncs the directory: a new file's name is durable only after that.
    fn sync_directory(&self) -> std::io::Result<()> {
        let parent = self
            .path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }
}

fn read_line(record: &serde_json::Value, digest: &str) -> Result<(RunId, Reading)> {
    let mark = reading::mark(record)?;
    if mark.digest != digest {
        return Err(Error::question(format!(
            "it belongs to the plan {} with digest {}, not {digest}: plan, place or --short differ",
            mark.name, mark.digest
        )));
    }
    Ok((reading::run_id(&mark), Reading::of(record)?))
}

/// Locks the record file. If a campaign is killed while it starts a child, the child holds the lock
/// until it notices that its parent is gone. So locking is retried for [`PATIENCE`].
fn lock(file: &File, path: &Path) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let Err(error) = flock(file, FlockOperation::NonBlockingLockExclusive) else {
            return Ok(());
        };
        let error = std::io::Error::from(error);
        let held = error.kind() == std::io::ErrorKind::WouldBlock;
        if !held || Instant::now() > until {
            return Err(not_locked(&error, path));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn not_locked(error: &std::io::Error, path: &Path) -> Error {
    Error::question(match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            format!(
                "another campaign is writing to {}: wait for it or give another file",
                path.display()
            )
        }
        _ => format!("{} cannot be locked: {error}", path.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("icprobe-journal-{name}-{}", std::process::id()));
            let _ = fs::remove_file(&path);
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn line(digest: &str, repeat: u32) -> String {
        format!(
            r#"{{"schema_version":1,"point":{{}},"result":{{"goodput_bps":{repeat}}},"flags":[],"plan":{{"name":"p","digest":"{digest}","point":"aa","repeat":{repeat},"kind":"grid","held_out":false}}}}"#
        )
    }

    #[test]
    fn what_was_appended_is_read_again() {
        let scratch = Scratch::new("again");
        let (mut journal, runs) = Journal::open(&scratch.0, "d").unwrap();
        assert!(runs.is_empty());
        journal.append(&line("d", 0)).unwrap();
        journal.append(&line("d", 1)).unwrap();
        drop(journal);
        let (_, runs) = Journal::open(&scratch.0, "d").unwrap();
        assert_eq!(
            runs.iter().map(|(id, _)| id.repeat).collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(runs[1].1.values["goodput_bps"], 1.0);
    }

    #[test]
    fn a_torn_line_is_cut_wherever_it_tore() {
        let whole = format!("{}\n", line("d", 0));
        let torn = format!("{}\n", line("d", 1));
        for length in 0..torn.len() {
            let scratch = Scratch::new("torn");
            fs::write(&scratch.0, format!("{whole}{}", &torn[..length])).unwrap();
            let (mut journal, runs) = Journal::open(&scratch.0, "d").unwrap();
            assert_eq!(runs.len(), 1, "torn after {length} bytes");
            journal.append(&line("d", 1)).unwrap();
            drop(journal);
            assert_eq!(
                fs::read_to_string(&scratch.0).unwrap(),
                format!("{whole}{torn}")
            );
        }
    }

    #[test]
    fn zeros_after_a_power_failure_are_cut() {
        let scratch = Scratch::new("zeros");
        let mut bytes = format!("{}\n", line("d", 0)).into_bytes();
        bytes.extend([0; 100]);
        fs::write(&scratch.0, bytes).unwrap();
        assert_eq!(Journal::open(&scratch.0, "d").unwrap().1.len(), 1);
    }

    #[test]
    fn foreign_and_damaged_files_are_refused_untouched() {
        let other = format!("{}\n", line("other", 0));
        let damaged = format!("garbage\n{}\n", line("d", 0));
        let twice = format!("{0}\n{0}\n", line("d", 0));
        for (text, word) in [(other, "other"), (damaged, "line 1"), (twice, "before")] {
            let scratch = Scratch::new("foreign");
            fs::write(&scratch.0, &text).unwrap();
            let error = Journal::open(&scratch.0, "d").unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert_eq!(error.exit_code(), 2);
            assert_eq!(fs::read_to_string(&scratch.0).unwrap(), text);
        }
    }

    #[test]
    fn two_writers_are_kept_apart() {
        let scratch = Scratch::new("lock");
        let _first = Journal::open(&scratch.0, "d").unwrap();
        let error = Journal::open(&scratch.0, "d").unwrap_err();
        assert!(error.to_string().contains("another campaign"), "{error}");
    }
}
