//! The pre-shared key: 32 random bytes in a file that only its owner can read.

use crate::error::{Context, Error, Result};
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Length of a key, in bytes.
pub const KEY_BYTES: usize = 32;
/// Digits of a key in its file, one line.
const DIGITS: usize = 2 * KEY_BYTES;

/// What both ends must have to talk to each other.
#[derive(Clone)]
pub struct Key([u8; KEY_BYTES]);

impl Key {
    /// A new key from the system's random numbers.
    ///
    /// # Errors
    /// [`Error::Question`] where the system has none to give.
    pub fn random() -> Result<Self> {
        let mut bytes = [0u8; KEY_BYTES];
        getrandom::fill(&mut bytes).or_question("the system gave no random numbers for a key")?;
        Ok(Self(bytes))
    }

    /// A key of given bytes.
    pub fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Makes a new key and the file that holds it, readable and writable by its owner alone.
    ///
    /// The file and its directory are on the disk when this returns.
    ///
    /// # Errors
    /// [`Error::Question`] if the file exists already or cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let key = Self::random()?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .or_question(format!(
                "the key file {} cannot be made, give a path that does not exist yet",
                path.display()
            ))?;
        let written = key.write_to(&mut file).and_then(|()| sync_directory(path));
        if let Err(error) = written {
            // A part of a key is of no use to anybody; the first failure is the one worth telling.
            let _ = std::fs::remove_file(path);
            return Err(Error::question(format!(
                "the key file {} cannot be written: {error}",
                path.display()
            )));
        }
        Ok(key)
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// [`Error::Question`] if the file is not a regular one, belongs to somebody else, is open to
    /// group or others, or does not hold one line of 64 hexadecimal digits.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        // Non-blocking, so that a pipe in place of the file cannot hold the program up; what was
        // opened is what is looked at, so that the file cannot be changed for another in between.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
            .open(path)
            .or_question(format!(
                "the key file {name} cannot be read, make one with `icprobe key {name}`"
            ))?;
        let metadata = file
            .metadata()
            .or_question(format!("the key file {name}"))?;
        check_access(&metadata, effective_user()).map_err(|reason| {
            Error::question(format!("the key file {name} is refused: {reason}"))
        })?;
        let mut text = Vec::with_capacity(DIGITS + 2);
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
        if digits.len() != DIGITS {
            return None;
        }
        let mut bytes = [0u8; KEY_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// The key as Noise mixes it in.
    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    fn write_to(&self, file: &mut File) -> std::io::Result<()> {
        let mut text = String::with_capacity(DIGITS + 1);
        for byte in self.0 {
            text.push_str(&format!("{byte:02x}"));
        }
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

/// A key is never printed.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(not shown)")
    }
}

/// Wipes the key from memory that is given back. Noise keeps a copy until its handshake ends.
impl Drop for Key {
    fn drop(&mut self) {
        self.0.fill(0);
        // Keeps the compiler from leaving out a write that nobody reads.
        std::hint::black_box(&self.0);
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|d| u8::try_from(d).ok())
}

/// Says what is wrong with the access to a key file, if anything is.
fn check_access(metadata: &Metadata, user: u32) -> std::result::Result<(), String> {
    if !metadata.is_file() {
        return Err("it is not a regular file, give one made with `icprobe key FILE`".into());
    }
    if metadata.uid() != user {
        return Err(format!(
            "it belongs to user {}, not to the user {user} of this process, change its owner or use an own key",
            metadata.uid()
        ));
    }
    let open = metadata.mode() & 0o077;
    if open != 0 {
        return Err(format!(
            "its permissions {:03o} let others in, allow only its owner with `chmod 600`",
            metadata.mode() & 0o777
        ));
    }
    Ok(())
}

fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes sure that a new file is still found after a crash.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::CString;
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    /// A directory of this test's own, gone with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("icprobe-key-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn file(&self, text: &[u8], mode: u32) -> PathBuf {
            let path = self.0.join("key");
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn question(result: Result<Key>, says: &str) {
        match result {
            Err(Error::Question(text)) => {
                assert!(text.contains(says), "{text:?} does not say {says:?}")
            }
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    #[test]
    fn what_is_made_can_be_loaded_and_only_by_its_owner() {
        let folder = Folder::new("made");
        let path = folder.0.join("key");
        let made = Key::create(&path).unwrap();
        assert_eq!(Key::load(&path).unwrap().0, made.0);
        let metadata = std::fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o777, 0o600);
        assert_eq!(metadata.len(), DIGITS as u64 + 1);
    }

    #[test]
    fn two_keys_differ_and_no_file_is_overwritten() {
        let folder = Folder::new("twice");
        let path = folder.0.join("key");
        let first = Key::create(&path).unwrap();
        question(Key::create(&path), "does not exist yet");
        assert_eq!(Key::load(&path).unwrap().0, first.0);
        assert_ne!(Key::random().unwrap().0, first.0);
    }

    #[test]
    fn a_key_does_not_follow_a_link_laid_in_its_way() {
        let folder = Folder::new("link");
        std::os::unix::fs::symlink(folder.0.join("elsewhere"), folder.0.join("key")).unwrap();
        question(Key::create(&folder.0.join("key")), "does not exist yet");
        assert!(!folder.0.join("elsewhere").exists());
    }

    #[test]
    fn open_permissions_are_refused_each_bit() {
        let folder = Folder::new("open");
        let text = [b'a'; DIGITS];
        for bit in 0..6 {
            let path = folder.file(&text, 0o600 | 1 << bit);
            question(Key::load(&path), "chmod 600");
        }
        assert!(Key::load(&folder.file(&text, 0o400)).is_ok());
    }

    #[test]
    fn an_owner_that_is_somebody_else_is_refused() {
        let folder = Folder::new("owner");
        let metadata = std::fs::metadata(folder.file(&[b'a'; DIGITS], 0o600)).unwrap();
        assert!(check_access(&metadata, metadata.uid()).is_ok());
        let refused = check_access(&metadata, metadata.uid() + 1).unwrap_err();
        assert!(refused.contains("belongs to user"), "{refused}");
    }

    #[test]
    fn a_pipe_or_a_directory_is_refused_without_waiting() {
        let folder = Folder::new("pipe");
        question(Key::load(&folder.0), "not a regular file");
        let pipe = folder.0.join("pipe");
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: name is a text ended by zero that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        question(Key::load(&pipe), "not a regular file");
        question(Key::load(Path::new("/nowhere/key")), "cannot be read");
    }

    #[test]
    fn other_shapes_are_refused() {
        let folder = Folder::new("shape");
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
            let path = folder.file(text.as_bytes(), 0o600);
            question(Key::load(&path), "64 hexadecimal digits");
        }
        assert!(Key::load(&folder.file(good.as_bytes(), 0o600)).is_ok());
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", Key::of([7; KEY_BYTES])), "Key(not shown)");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Some(key) = Key::read(&text) {
                prop_assert_eq!(text.len() - usize::from(text.ends_with(b"\n")), DIGITS);
                let back: String = key.0.iter().map(|b| format!("{b:02x}")).collect();
                prop_assert_eq!(back, String::from_utf8_lossy(&text[..DIGITS]).to_lowercase());
            }
        }

        #[test]
        fn a_key_reads_as_it_was_written(bytes in any::<[u8; KEY_BYTES]>(), line in any::<bool>()) {
            let mut text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            if line { text.push('\n'); }
            prop_assert_eq!(Key::read(text.as_bytes()).unwrap().0, bytes);
        }
    }
}
