//! State of labs between commands: one small file per lab, and one lock for all.

use super::door::{Door, LAB_VARIABLE};
use super::holder::Holder;
use super::processes::{self, Wanted};
use super::tool;
use crate::error::{Context, Error, Result};
use rustix::fs::{Access, FlockOperation, access, flock, fstatfs};
use rustix::io::{FdFlags, fcntl_setfd, retry_on_intr};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Timeout for killed processes to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Identifier of the file system of namespaces (`NSFS_MAGIC` of linux/magic.h).
const NAMESPACE_FILE_SYSTEM: i64 = 0x6e73_6673;

/// One lab, as written to its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// Marks the lab's processes; new each time it is built.
    pub mark: String,
    /// The text of its topology.
    pub topology: String,
    /// True once everything is built.
    pub built: bool,
}

/// Folder with the state files of this user's labs.
#[derive(Debug)]
pub(super) struct Runtime {
    folder: PathBuf,
    root: bool,
}

/// Lock that a command holds while it changes labs; dropping it removes the folder if it is empty.
#[derive(Debug)]
pub(super) struct Lock {
    folder: PathBuf,
    file: File,
}

impl Lock {
    /// Makes a started command hold the lock as well, until the command ends.
    pub fn lend(&self, command: &mut Command) -> Result<()> {
        let file = self.file.try_clone().or_peer("the lock of labs")?;
        let keep = move || Ok(fcntl_setfd(&file, FdFlags::empty())?);
        // SAFETY: between fork and exec, the closure makes one system call on a file opened before.
        unsafe { command.pre_exec(keep) };
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Fails while another lab has a state file, as intended.
        let _ = fs::remove_dir(&self.folder);
    }
}

impl Runtime {
    /// Finds or creates the folder: `/run/icprobe` for root, otherwise `$XDG_RUNTIME_DIR/icprobe`,
    /// or a private folder among the temporary files.
    pub fn here() -> Result<Self> {
        let user = geteuid().as_raw();
        let root = user == 0 && access(c"/run", Access::WRITE_OK).is_ok();
        let folder = match std::env::var_os("XDG_RUNTIME_DIR") {
            _ if root => PathBuf::from("/run/icprobe"),
            Some(folder) if Path::new(&folder).is_dir() => Path::new(&folder).join("icprobe"),
            _ => std::env::temp_dir().join(format!("icprobe-{user}")),
        };
        let runtime = Self { folder, root };
        runtime.make_folder(user)?;
        Ok(runtime)
    }

    fn make_folder(&self, user: u32) -> Result<()> {
        let shown = self.folder.display();
        let mut builder = fs::DirBuilder::new();
        if let Err(error) = builder.mode(0o700).create(&self.folder)
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            return Err(Error::question(format!(
                "the folder {shown} cannot be made: {error}"
            )));
        }
        let found =
            fs::symlink_metadata(&self.folder).or_question(format_args!("the folder {shown}"))?;
        if found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 {
            return Ok(());
        }
        Err(Error::question(format!(
            "{shown} is not a folder of yours alone: remove it"
        )))
    }

    /// Waits until no other command changes labs.
    pub fn lock(&self) -> Result<Lock> {
        let doing = "the folder of labs cannot be locked";
        loop {
            self.make_folder(geteuid().as_raw())?;
            let file = File::open(&self.folder).or_peer(doing)?;
            retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
                .map_err(std::io::Error::from)
                .or_peer(doing)?;
            // The previous owner of the lock may have removed the folder.
            let locked = file.metadata().map(|found| found.ino()).ok();
            if locked.is_some()
                && locked == fs::metadata(&self.folder).map(|found| found.ino()).ok()
            {
                return Ok(Lock {
                    folder: self.folder.clone(),
                    file,
                });
            }
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Names of all labs with a state file, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let name = |entry: fs::DirEntry| {
            Some(
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".json")?
                    .to_owned(),
            )
        };
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort();
        names
    }

    /// Reads the state file of a lab.
    pub fn read(&self, name: &str) -> Option<State> {
        serde_json::from_slice(&fs::read(self.file(name)).ok()?).ok()
    }

    /// Writes the state file of a lab. After a crash, the file has either its old or its new
    /// content.
    pub fn write(&self, name: &str, state: &State) -> Result<()> {
        let doing = "cannot write the state file of the lab";
        let text = serde_json::to_string(state).or_peer(doing)?;
        let fresh = self.folder.join(format!("{name}.new"));
        fs::write(&fresh, text).or_peer(doing)?;
        fs::rename(&fresh, self.file(name)).or_peer(doing)
    }

    /// Creates the entry to a lab that is to be built; without root, starts its holder.
    pub fn new_door(&self, name: &str, mark: &str) -> Result<Door> {
        let holder = (!self.root)
            .then(|| Holder::start(&self.file(name)))
            .transpose()?;
        Ok(self.door(name, mark, holder))
    }

    /// Finds the entry to a lab that was built; `None` if its holder or a namespace is gone.
    pub fn old_door<'a>(
        &self,
        name: &str,
        mark: &str,
        mut nodes: impl Iterator<Item = &'a str>,
    ) -> Option<Door> {
        let holder = if self.root {
            None
        } else {
            Some(Holder::find(&self.file(name))?)
        };
        let door = self.door(name, mark, holder);
        nodes
            .all(|node| namespace_inode(&door.pin_from_here(node)).is_some())
            .then_some(door)
    }

    fn door(&self, name: &str, mark: &str, holder: Option<Holder>) -> Door {
        let pins = if self.root {
            PathBuf::from("/run/netns")
        } else {
            self.folder.clone()
        };
        Door {
            pins,
            prefix: format!("icp-{name}-"),
            holder,
            mark: mark.to_owned(),
        }
    }

    /// Removes everything of a lab, even of an incomplete one; returns false if there was nothing.
    ///
    /// Node names have no hyphen, so the names of pins tell labs apart.
    pub fn clear(&self, name: &str, lock: &Lock) -> Result<bool> {
        let mark = self.read(name).map(|state| state.mark);
        let holder = if self.root {
            None
        } else {
            Holder::find(&self.file(name))
        };
        let door = self.door(name, "", holder);
        let pins = pinned(&door);
        let seen = pins.iter().map(|node| door.pin_from_here(node));
        let wanted = Wanted {
            namespaces: seen.filter_map(|pin| namespace_inode(&pin)).collect(),
            variable: mark.clone().map(|mark| (LAB_VARIABLE, mark)),
        };
        if !processes::end(&wanted, PATIENCE) {
            return Err(Error::peer(format!(
                "processes in the lab {name} do not end: try again"
            )));
        }
        if let Some(holder) = &door.holder
            && !holder.end(&self.file(name), PATIENCE)
        {
            return Err(Error::peer(format!(
                "the process that holds the lab {name} does not end: try again"
            )));
        }
        self.remove_pins(&door, &pins, lock)?;
        let remembered = fs::remove_file(self.file(name)).is_ok();
        let _ = fs::remove_file(self.folder.join(format!("{name}.new")));
        Ok(remembered || mark.is_some() || !pins.is_empty() || door.holder.is_some())
    }

    fn remove_pins(&self, door: &Door, nodes: &[String], lock: &Lock) -> Result<()> {
        for node in nodes {
            if self.root {
                let mut command = Command::new("ip");
                command.args(["netns", "delete", &door.namespace(node)]);
                lock.lend(&mut command)?;
                tool::run(command, "")?;
            } else {
                fs::remove_file(door.pin(node)).or_peer("a pin cannot be removed")?;
            }
        }
        Ok(())
    }
}

/// Nodes that have a pin.
fn pinned(door: &Door) -> Vec<String> {
    let entries = fs::read_dir(&door.pins).into_iter().flatten().flatten();
    let node = |entry: fs::DirEntry| {
        Some(
            entry
                .file_name()
                .to_str()?
                .strip_prefix(&door.prefix)?
                .to_owned(),
        )
    };
    let plain = |node: &String| node.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    entries.filter_map(node).filter(plain).collect()
}

/// The inode number of the namespace at a path, if one is mounted there.
fn namespace_inode(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    let kind = fstatfs(&file).ok()?.f_type;
    (kind == NAMESPACE_FILE_SYSTEM).then(|| file.metadata().ok().map(|found| found.ino()))?
}
