//! A directory handle: the only door to files below it.
//!
//! Every step below a trusted root is taken by name from an open handle with `O_NOFOLLOW`, so a link that somebody
//! put in the way is an error, never a detour. Directories are 0700 and ours, files 0600. What a crash leaves: a
//! file is either the old or the new one (`replace`), a line is there or not (`append`), a temp file is swept.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstat, fstatat, mkdirat};
use nix::unistd::{Uid, UnlinkatFlags, linkat, unlinkat};

const DIR_MODE: Mode = Mode::S_IRWXU;
const FILE_MODE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// Ends the name of a file that is not whole yet.
const TEMP_SUFFIX: &str = ".tmp";
/// Between two tries for a lock.
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// Why something below a directory could not be done.
#[derive(Debug, thiserror::Error)]
pub enum DirError {
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} is a link, and harn follows none there", path = .0.display())]
    Link(PathBuf),
    #[error("{path} belongs to another user", path = .0.display())]
    Foreign(PathBuf),
    #[error("{path} is not a regular file", path = .0.display())]
    NotAFile(PathBuf),
    #[error("{path} is larger than {limit} bytes", path = path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{path} stayed locked by another process", path = .0.display())]
    Locked(PathBuf),
}

impl DirError {
    /// The entry (or a directory above it) does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }

    fn from_errno(what: &'static str, path: PathBuf, errno: Errno) -> Self {
        if errno == Errno::ELOOP {
            return Self::Link(path);
        }
        Self::Io {
            what,
            path,
            source: errno.into(),
        }
    }
}

/// Whether a write has to survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// fsync of the file before the rename and of the directory after it.
    Synced,
    /// Atomic against other processes and crashes of harn only.
    Atomic,
}

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens a directory that the user chose (links in its path are the user's own business).
    pub fn open_trusted(path: &Path) -> Result<Self, DirError> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_RDONLY;
        let fd = nix::fcntl::open(path, flags, Mode::empty())
            .map_err(|errno| DirError::from_errno("open", path.to_owned(), errno))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    /// `open_trusted`, making the missing tail of the path 0700 first.
    pub fn ensure_trusted(path: &Path) -> Result<Self, DirError> {
        match Self::open_trusted(path) {
            Err(error) if error.is_missing() => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(error);
                };
                let parent = Self::ensure_trusted(parent)?;
                let made = mkdirat(&parent.fd, name, DIR_MODE);
                if let Err(errno) = made
                    && errno != Errno::EEXIST
                {
                    return Err(DirError::from_errno("create", path.to_owned(), errno));
                }
                Self::open_trusted(path)
            }
            other => other,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory below this one; a link or somebody else's directory is refused.
    pub fn child(&self, name: &str) -> Result<Self, DirError> {
        let path = self.path.join(name);
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_RDONLY;
        let fd = openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| {
            // Linux reports a link opened with O_DIRECTORY|O_NOFOLLOW as ENOTDIR.
            if errno == Errno::ENOTDIR && self.is_link(name) {
                return DirError::Link(path.clone());
            }
            DirError::from_errno("open", path.clone(), errno)
        })?;
        let stat = fstat(&fd).map_err(|errno| DirError::from_errno("stat", path.clone(), errno))?;
        if stat.st_uid != Uid::effective().as_raw() {
            return Err(DirError::Foreign(path));
        }
        Ok(Self { fd, path })
    }

    /// `child`, created 0700 where it is missing.
    pub fn ensure(&self, name: &str) -> Result<Self, DirError> {
        match self.child(name) {
            Err(error) if error.is_missing() => match mkdirat(&self.fd, name, DIR_MODE) {
                Ok(()) | Err(Errno::EEXIST) => self.child(name),
                Err(errno) => Err(DirError::from_errno("create", self.path.join(name), errno)),
            },
            other => other,
        }
    }

    /// Takes group and world rights from this directory, where it has any.
    pub fn tighten(&self) -> Result<(), DirError> {
        let stat =
            fstat(&self.fd).map_err(|e| DirError::from_errno("stat", self.path.clone(), e))?;
        if stat.st_mode.trailing_zeros() >= 6 {
            return Ok(());
        }
        fchmodat(&self.fd, ".", DIR_MODE, FchmodatFlags::FollowSymlink)
            .map_err(|e| DirError::from_errno("change the mode of", self.path.clone(), e))
    }

    fn is_link(&self, name: &str) -> bool {
        matches!(self.kind(name), Ok(Some(kind)) if kind == SFlag::S_IFLNK)
    }

    fn open_file(&self, name: &str, flags: OFlag) -> Result<File, DirError> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let path = self.path.join(name);
        let fd = openat(&self.fd, name, flags, FILE_MODE)
            .map_err(|errno| DirError::from_errno("open", path.clone(), errno))?;
        let stat = fstat(&fd).map_err(|errno| DirError::from_errno("stat", path.clone(), errno))?;
        if SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) != SFlag::S_IFREG {
            return Err(DirError::NotAFile(path));
        }
        Ok(File::from(fd))
    }

    fn io(&self, what: &'static str, name: &str) -> impl FnOnce(std::io::Error) -> DirError {
        let path = self.path.join(name);
        move |source| DirError::Io { what, path, source }
    }

    /// The whole file, or `None` where there is none; more than `limit` bytes is an error.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, DirError> {
        let file = match self.open_file(name, OFlag::O_RDONLY) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        // Most files are smaller than this, and then read at once.
        let mut bytes = Vec::with_capacity(4096);
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(self.io("read", name))?;
        if bytes.len() as u64 > limit {
            return Err(DirError::TooLarge {
                path: self.path.join(name),
                limit,
            });
        }
        Ok(Some(bytes))
    }

    /// A file open for reading, for those who read only a part of it.
    pub fn open_read(&self, name: &str) -> Result<File, DirError> {
        self.open_file(name, OFlag::O_RDONLY)
    }

    /// Puts `bytes` in the place of `name`: readers see the old or the new file, never a part.
    pub fn replace(&self, name: &str, bytes: &[u8], how: Durability) -> Result<(), DirError> {
        let temp = temp_name(name);
        let result = self.write_new(&temp, bytes, how).and_then(|()| match how {
            Durability::Synced => self.rename(&temp, name),
            Durability::Atomic => self.take_place(&temp, name),
        });
        if result.is_err() {
            self.remove_quietly(&temp);
        } else if how == Durability::Synced {
            self.sync()?;
        }
        result
    }

    /// Puts `bytes` where no file may be yet; `Ok(false)` when there is one. Readers see the whole file or none.
    pub fn create(&self, name: &str, bytes: &[u8], how: Durability) -> Result<bool, DirError> {
        let temp = temp_name(name);
        let result = self
            .write_new(&temp, bytes, how)
            .and_then(|()| self.link_new(&temp, name));
        self.remove_quietly(&temp);
        if matches!(result, Ok(true)) && how == Durability::Synced {
            self.sync()?;
        }
        result
    }

    /// Gives a whole file its name, unless that is taken.
    fn link_new(&self, temp: &str, name: &str) -> Result<bool, DirError> {
        match linkat(&self.fd, temp, &self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::EEXIST) => Ok(false),
            // A file system without links: the caller's lock is what keeps others away.
            Err(Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS) => match self.kind(name)? {
                Some(_) => Ok(false),
                None => self.rename(temp, name).map(|()| true),
            },
            Err(errno) => Err(DirError::from_errno("create", self.path.join(name), errno)),
        }
    }

    /// Removes what a killed writer left half done. Only for who holds the lock of all writers here.
    pub fn sweep_temps(&self) -> Result<(), DirError> {
        for name in self.names()? {
            if name.starts_with('.') && name.strip_suffix(TEMP_SUFFIX).is_some() {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    /// What kind of entry there is, if any.
    fn kind(&self, name: &str) -> Result<Option<SFlag>, DirError> {
        match fstatat(&self.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(SFlag::from_bits_truncate(
                stat.st_mode & SFlag::S_IFMT.bits(),
            ))),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(DirError::from_errno("stat", self.path.join(name), errno)),
        }
    }

    fn write_new(&self, name: &str, bytes: &[u8], how: Durability) -> Result<(), DirError> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let mut file = self.open_file(name, flags)?;
        file.write_all(bytes).map_err(self.io("write", name))?;
        if how == Durability::Synced {
            file.sync_all().map_err(self.io("sync", name))?;
        }
        Ok(())
    }

    /// Adds `bytes` at the end in one write, creating the file where it is missing.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<(), DirError> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_APPEND;
        let mut file = self.open_file(name, flags)?;
        let written = file.write(bytes).map_err(self.io("append to", name))?;
        if written < bytes.len() {
            // A full disk took a part: end the torn line so that the next one is whole.
            file.write_all(b"\n").map_err(self.io("append to", name))?;
            return Err(self.io("append to", name)(
                std::io::ErrorKind::StorageFull.into(),
            ));
        }
        Ok(())
    }

    /// Takes the lock `name`, trying until `patience` has passed. It dies with the process.
    pub fn lock(&self, name: &str, patience: Duration) -> Result<Lock, DirError> {
        let file = self.open_file(name, OFlag::O_RDWR | OFlag::O_CREAT)?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(std::fs::TryLockError::WouldBlock) if waited < patience => {
                    std::thread::sleep(LOCK_RETRY);
                    waited += LOCK_RETRY;
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(DirError::Locked(self.path.join(name)));
                }
                Err(std::fs::TryLockError::Error(source)) => {
                    return Err(self.io("lock", name)(source));
                }
            }
        }
    }

    /// Names of all entries, in no order; those that are not UTF-8 are none of harn's and left out.
    pub fn names(&self) -> Result<Vec<String>, DirError> {
        let fail = |errno| DirError::from_errno("list", self.path.clone(), errno);
        let again = openat(
            &self.fd,
            ".",
            OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_RDONLY,
            Mode::empty(),
        )
        .map_err(fail)?;
        let mut stream = nix::dir::Dir::from_fd(again).map_err(fail)?;
        let mut names = Vec::new();
        for entry in stream.iter() {
            if let Ok(name) = entry.map_err(fail)?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Removes a file; one that is not there is removed already.
    pub fn remove(&self, name: &str) -> Result<(), DirError> {
        match unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(DirError::from_errno("remove", self.path.join(name), errno)),
        }
    }

    /// Removes an empty directory below this one.
    pub fn remove_dir(&self, name: &str) -> Result<(), DirError> {
        match unlinkat(&self.fd, name, UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(DirError::from_errno("remove", self.path.join(name), errno)),
        }
    }

    /// Keeps what is in a file under another name as well, in the place of what had it; no file, nothing kept.
    pub fn keep_as(&self, name: &str, kept: &str) -> Result<(), DirError> {
        let temp = temp_name(kept);
        match linkat(&self.fd, name, &self.fd, temp.as_str(), AtFlags::empty()) {
            Ok(()) => {
                let renamed = self.rename(&temp, kept);
                // Two names of one file: the rename did nothing then, and the temporary name is still there.
                self.remove_quietly(&temp);
                renamed
            }
            Err(Errno::ENOENT | Errno::EPERM | Errno::EOPNOTSUPP | Errno::ENOSYS) => Ok(()),
            Err(errno) => Err(DirError::from_errno("keep", self.path.join(name), errno)),
        }
    }

    /// Gives a file another name, in the place of what had it.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), DirError> {
        nix::fcntl::renameat(&self.fd, from, &self.fd, to)
            .map_err(|errno| DirError::from_errno("rename", self.path.join(from), errno))
    }

    /// `rename`, without waiting for the disk: ext4 writes a file out before it lets it replace another, which took
    /// five times as long as the rest (172 of 200 microseconds, Linux 6, 2026-12-07). An exchange is as atomic.
    #[cfg(target_os = "linux")]
    fn take_place(&self, temp: &str, name: &str) -> Result<(), DirError> {
        use nix::fcntl::{RenameFlags, renameat2};
        // A directory would move instead of being refused.
        let is_file = matches!(self.kind(name)?, Some(kind) if kind != SFlag::S_IFDIR);
        let exchange = || renameat2(&self.fd, temp, &self.fd, name, RenameFlags::RENAME_EXCHANGE);
        if is_file && exchange().is_ok() {
            self.remove_quietly(temp);
            return Ok(());
        }
        self.rename(temp, name)
    }

    #[cfg(not(target_os = "linux"))]
    fn take_place(&self, temp: &str, name: &str) -> Result<(), DirError> {
        self.rename(temp, name)
    }

    fn remove_quietly(&self, name: &str) {
        if let Err(error) = self.remove(name) {
            tracing::debug!(%error, "a temporary file stays behind until the next sweep");
        }
    }

    fn sync(&self) -> Result<(), DirError> {
        nix::unistd::fsync(self.fd.as_fd())
            .map_err(|errno| DirError::from_errno("sync", self.path.clone(), errno))
    }
}

/// A name that nobody else uses.
fn temp_name(name: &str) -> String {
    format!(".{name}.{}{TEMP_SUFFIX}", uuid::Uuid::now_v7().simple())
}

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn scratch() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_trusted(temp.path()).unwrap();
        (temp, dir)
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn directories_are_0700_and_files_0600_under_an_open_umask() {
        let (temp, dir) = scratch();
        let old = nix::sys::stat::umask(Mode::empty());
        let child = dir.ensure("a").unwrap();
        child.replace("f", b"x", Durability::Synced).unwrap();
        child.append("g", b"y\n").unwrap();
        nix::sys::stat::umask(old);
        let at = |name: &str| mode(&temp.path().join(name));
        assert_eq!((at("a"), at("a/f"), at("a/g")), (0o700, 0o600, 0o600));
    }

    #[test]
    fn a_link_in_the_way_is_refused_for_reading_writing_and_walking() {
        let (temp, dir) = scratch();
        let target = temp.path().join("elsewhere");
        std::fs::create_dir(&target).unwrap();
        symlink(&target, temp.path().join("d")).unwrap();
        symlink(target.join("f"), temp.path().join("l")).unwrap();
        assert!(matches!(dir.ensure("d"), Err(DirError::Link(_))));
        assert!(matches!(dir.append("l", b"x"), Err(DirError::Link(_))));
        assert!(matches!(dir.read("l", 10), Err(DirError::Link(_))));
        dir.replace("l", b"new", Durability::Atomic).unwrap();
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(dir.read("l", 10).unwrap().unwrap(), b"new");
    }

    #[test]
    fn a_failed_replace_leaves_the_old_file_and_no_temp() {
        let (_temp, dir) = scratch();
        dir.ensure("f").unwrap();
        assert!(matches!(
            dir.replace("f", b"x", Durability::Atomic),
            Err(DirError::Io { .. })
        ));
        assert_eq!(dir.names().unwrap(), ["f"]);
    }

    #[test]
    fn a_fifo_is_refused_without_waiting_for_a_writer() {
        let (temp, dir) = scratch();
        nix::unistd::mkfifo(&temp.path().join("p"), FILE_MODE).unwrap();
        assert!(matches!(dir.read("p", 10), Err(DirError::NotAFile(_))));
    }

    #[test]
    fn a_lock_is_held_by_one_and_let_go_on_drop() {
        let (_temp, dir) = scratch();
        let held = dir.lock("lock", Duration::ZERO).unwrap();
        assert!(matches!(
            dir.lock("lock", Duration::from_millis(5)),
            Err(DirError::Locked(_))
        ));
        drop(held);
        dir.lock("lock", Duration::ZERO).unwrap();
    }

    #[test]
    fn a_replaced_file_has_the_new_bytes_and_nothing_else_is_left() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_trusted(temp.path()).unwrap();
        for how in [Durability::Atomic, Durability::Synced] {
            for bytes in ["1", "two", "3"] {
                dir.replace("f", bytes.as_bytes(), how).unwrap();
                assert_eq!(dir.read("f", 10).unwrap(), Some(bytes.into()));
                assert_eq!(dir.names().unwrap(), ["f"]);
            }
        }
        // What stands in the way as a link is replaced, and what it leads to is not touched.
        let kept = tempfile::NamedTempFile::new().unwrap();
        symlink(kept.path(), temp.path().join("link")).unwrap();
        dir.replace("link", b"4", Durability::Atomic).unwrap();
        assert_eq!(dir.read("link", 10).unwrap(), Some(b"4".to_vec()));
        assert_eq!(kept.as_file().metadata().unwrap().len(), 0);
        dir.ensure("d").unwrap();
        assert!(dir.replace("d", b"5", Durability::Atomic).is_err());
        assert!(temp.path().join("d").is_dir());
        let mut names = dir.names().unwrap();
        names.sort();
        assert_eq!(names, ["d", "f", "link"]);
    }

    #[test]
    fn creating_twice_keeps_the_first() {
        let (_temp, dir) = scratch();
        assert!(dir.create("n", b"1", Durability::Synced).unwrap());
        assert!(!dir.create("n", b"2", Durability::Synced).unwrap());
        assert_eq!(dir.read("n", 10).unwrap().unwrap(), b"1");
    }
}
