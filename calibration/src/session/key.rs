//! The pre-shared key: 32 random bytes in a file that only its owner can read.

use crate::error::{Context, Error, Result, require};
use std::fs::{Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// Length of a key, in bytes.
const KEY_BYTES: usize = 32;
/// Number of hexadecimal digits of a key in its file.
const DIGITS: usize = 2 * KEY_BYTES;

/// Pre-shared key of both ends. It cannot be printed, and its memory is wiped when it is freed.
/// Noise keeps a copy until its handshake ends.
#[derive(Clone)]
pub struct Key(pub(super) Zeroizing<[u8; KEY_BYTES]>);

impl Key {
    /// A key of given bytes.
    pub fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Makes a file with a new key, readable and writable by its owner alone.
    ///
    /// # Errors
    /// [`Error::Question`] if the file exists already or cannot be written.
    pub fn create(path: &Path) -> Result<()> {
        let name = path.display();
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(&mut *bytes).or_question("the system gave no random numbers for a key")?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .or_question(format!(
                "the key file {name} cannot be made, give a path that does not exist yet"
            ))?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "{digits}")
            .and_then(|()| file.sync_all())
            // Remove an incomplete key file; report the first failure, not that of the removal.
            .inspect_err(|_| drop(std::fs::remove_file(path)))
            .or_question(format!("the key file {name} cannot be written"))
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// [`Error::Question`] if the file is not a regular one, belongs to somebody else, is open to
    /// group or others, or does not hold one line of 64 hexadecimal digits.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        // Open without blocking, so that a pipe in place of the file cannot hold the program up.
        // Check the opened file itself, so that the file cannot be exchanged in between.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
            .open(path)
            .or_question(format!(
                "the key file {name} cannot be read, make one with `icprobe key {name}`"
            ))?;
        let metadata = file
            .metadata()
            .or_question(format!("the key file {name} cannot be read"))?;
        check_access(&metadata, rustix::process::geteuid().as_raw())
            .or_question(format!("the key file {name} is refused"))?;
        let mut text = vec![];
        file.take(DIGITS as u64 + 2)
            .read_to_end(&mut text)
            .or_question(format!("the key file {name} cannot be read"))?;
        Self::read(&text).ok_or_else(|| {
            Error::question(format!(
                "the key file {name} does not hold one line of {DIGITS} hexadecimal digits: \
                 make one with `icprobe key FILE`"
            ))
        })
    }

    /// Reads a key from the text of its file: one line of 64 hexadecimal digits, nothing else.
    pub fn read(text: &[u8]) -> Option<Self> {
        let digits = text.strip_suffix(b"\n").unwrap_or(text);
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let mut key = Self::of([0; KEY_BYTES]);
        for (byte, pair) in key.0.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::try_from(digit(pair[0])? << 4 | digit(*pair.get(1)?)?).ok()?;
        }
        (digits.len() == DIGITS).then_some(key)
    }
}

/// Refuses a file that does not belong to `user`, or that group or others may read or change.
fn check_access(metadata: &Metadata, user: u32) -> Result<()> {
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    require(metadata.is_file(), || {
        "it is not a regular file, give one made with `icprobe key FILE`".into()
    })?;
    require(owner == user, || {
        format!(
            "it belongs to user {owner}, not to the user {user} of this process, change its owner or use an own key"
        )
    })?;
    require(mode & 0o077 == 0, || {
        format!("its permissions {mode:03o} let others in, allow only its owner with `chmod 600`")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;
    use crate::host::fake::FakeRoot;
    use proptest::prelude::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    fn file(folder: &FakeRoot, text: &str, mode: u32) -> PathBuf {
        let path = folder.write("key", text).path().join("key");
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn question<T>(result: Result<T>, what: &str) {
        assert!(matches!(&result, Err(Error::Question(_))), "no refusal");
        says(result, what);
    }

    #[test]
    fn what_is_made_can_be_loaded_and_is_its_owners_alone() {
        let folder = FakeRoot::new("key-made");
        let [path, other, link] = ["key", "other", "link"].map(|name| folder.path().join(name));
        Key::create(&path).unwrap();
        Key::create(&other).unwrap();
        let first = Key::load(&path).unwrap();
        assert_ne!(first.0, Key::load(&other).unwrap().0);
        let metadata = std::fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o600);
        assert_eq!(metadata.len(), DIGITS as u64 + 1);
        question(Key::create(&path), "does not exist yet");
        assert_eq!(first.0, Key::load(&path).unwrap().0);
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
        question(Key::create(&link), "does not exist yet");
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[test]
    fn a_file_that_others_may_open_or_own_is_refused() {
        let folder = FakeRoot::new("key-open");
        let text = "a".repeat(DIGITS);
        for bit in 0..6 {
            let path = file(&folder, &text, 0o600 | 1 << bit);
            question(Key::load(&path), "chmod 600");
        }
        let path = file(&folder, &text, 0o400);
        assert!(Key::load(&path).is_ok());
        let metadata = std::fs::metadata(path).unwrap();
        assert!(check_access(&metadata, metadata.uid()).is_ok());
        let other = metadata.uid() + 1;
        question(check_access(&metadata, other), "belongs to user");
    }

    #[test]
    fn a_pipe_or_a_directory_is_refused_without_waiting() {
        let folder = FakeRoot::new("key-pipe");
        question(Key::load(folder.path()), "not a regular file");
        let pipe = folder.path().join("pipe");
        let fifo = FileType::Fifo;
        mknodat(CWD, &pipe, fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        question(Key::load(&pipe), "not a regular file");
        question(Key::load(Path::new("/nowhere/key")), "cannot be read");
    }

    #[test]
    fn other_shapes_are_refused() {
        let folder = FakeRoot::new("key-shape");
        let good = "0123456789abcdefABCDEF".repeat(3)[..DIGITS].to_string();
        for text in [
            String::new(),
            "\n".into(),
            good[1..].into(),
            format!("{good}0"),
            format!("{good}\n\n"),
            format!("{good}\r\n"),
            format!(" {good}"),
            format!("g{}", &good[1..]),
            format!("+{}", &good[1..]),
            "é".repeat(32),
            good.repeat(1000),
        ] {
            let path = file(&folder, &text, 0o600);
            question(Key::load(&path), "64 hexadecimal digits");
        }
        assert!(Key::load(&file(&folder, &good, 0o600)).is_ok());
    }

    proptest! {
        #[test]
        fn a_key_reads_as_it_was_written(bytes in any::<[u8; KEY_BYTES]>(), line in any::<bool>()) {
            let mut text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            if line { text.push('\n'); }
            prop_assert_eq!(*Key::read(text.as_bytes()).unwrap().0, bytes);
        }
    }
}
