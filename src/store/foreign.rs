//! A file of the user's that harn changes: read through links, replaced whole, with the mode and the owner it had.
//!
//! The one place where harn writes outside its own directories. What stands in the file is decided elsewhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Settings larger than this are no settings.
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// Links followed before one is taken for a loop, as kernels do.
const LINKS: usize = 40;

/// What failed, and where.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{path} is not a file", path = .0.display())]
    NoFile(PathBuf),
    #[error("{path} is larger than any settings", path = .0.display())]
    TooLarge(PathBuf),
    #[error("{path} is a link out of the project, to {target}", path = path.display(), target = target.display())]
    Outside { path: PathBuf, target: PathBuf },
    #[error("{path} was changed by somebody else just now; nothing was written", path = .0.display())]
    Changed(PathBuf),
}

/// A user's file as it was read.
#[derive(Debug)]
pub struct Foreign {
    /// Where the content lies, links followed.
    pub target: PathBuf,
    /// None: there is no file.
    pub bytes: Option<Vec<u8>>,
}

impl Foreign {
    /// `within`: the folder that no link may lead out of.
    pub fn read(path: &Path, within: Option<&Path>) -> Result<Self, ForeignError> {
        let target = follow(path)?;
        if let Some(folder) = within
            && !lies_in(&target, folder)
        {
            return Err(ForeignError::Outside {
                path: path.to_owned(),
                target,
            });
        }
        let bytes = content(&target)?;
        Ok(Self { target, bytes })
    }

    /// Puts `bytes` in the place of what was read; gives the folders that had to be made for it, the outermost first.
    pub fn replace(&self, bytes: &[u8]) -> Result<Vec<PathBuf>, ForeignError> {
        let fail = |what| {
            let path = self.target.clone();
            move |source| ForeignError::Io { what, path, source }
        };
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        let made = make_folders(folder)?;
        let name = self.target.file_name().unwrap_or_default();
        let temp = folder.join(format!(
            ".{}.{}.tmp",
            name.to_string_lossy(),
            uuid::Uuid::now_v7()
        ));
        let written = self.write_temp(&temp, bytes).map_err(fail("write beside"));
        let renamed = written.and_then(|()| {
            if content(&self.target)? != self.bytes {
                return Err(ForeignError::Changed(self.target.clone()));
            }
            fs::rename(&temp, &self.target).map_err(fail("replace"))
        });
        if let Err(error) = renamed {
            if let Err(error) = fs::remove_file(&temp) {
                tracing::debug!(%error, "no temporary file is left");
            }
            remove_folders(&made);
            return Err(error);
        }
        sync(folder);
        Ok(made)
    }

    fn write_temp(&self, temp: &Path, bytes: &[u8]) -> io::Result<()> {
        let old = match fs::metadata(&self.target) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // A new file gets what the user's umask leaves.
        options.mode(if old.is_some() { 0o600 } else { 0o666 });
        let mut file = options.open(temp)?;
        file.write_all(bytes)?;
        if let Some(old) = old {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()))?;
            }
            file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        }
        file.sync_all()
    }

    /// Takes the file away, and folders that were made for it and are empty now.
    pub fn remove(&self, made: &[PathBuf]) -> Result<(), ForeignError> {
        if content(&self.target)? != self.bytes {
            return Err(ForeignError::Changed(self.target.clone()));
        }
        fs::remove_file(&self.target).map_err(|source| ForeignError::Io {
            what: "remove",
            path: self.target.clone(),
            source,
        })?;
        remove_folders(made);
        Ok(())
    }
}

/// Where the links lead, whether or not something is there.
fn follow(path: &Path) -> Result<PathBuf, ForeignError> {
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&at) {
            Ok(link) => {
                let folder = at.parent().unwrap_or(Path::new("/"));
                at = folder.join(link);
            }
            Err(_) => return Ok(at),
        }
    }
    Err(ForeignError::Io {
        what: "follow the links of",
        path: path.to_owned(),
        source: io::Error::from(io::ErrorKind::InvalidInput),
    })
}

/// Whether a path, of which the last part may be missing, is in this folder once all links are followed.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let mut ancestors = path.ancestors().skip(1);
    let nearest = ancestors.find_map(|it| it.canonicalize().ok());
    nearest.is_some_and(|it| it.starts_with(folder))
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, ForeignError> {
    let fail = |source| ForeignError::Io {
        what: "read",
        path: path.to_owned(),
        source,
    };
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(ForeignError::NoFile(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(fail)?;
    file.take(LIMIT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > LIMIT_BYTES {
        return Err(ForeignError::TooLarge(path.to_owned()));
    }
    Ok(Some(bytes))
}

fn make_folders(folder: &Path) -> Result<Vec<PathBuf>, ForeignError> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|it| !it.exists() && !it.as_os_str().is_empty())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(folder).map_err(|source| ForeignError::Io {
        what: "make the folder",
        path: folder.to_owned(),
        source,
    })?;
    Ok(missing.into_iter().rev().collect())
}

/// Takes folders away that are empty, the innermost first.
fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        if let Err(error) = fs::remove_dir(folder) {
            tracing::debug!(%error, folder = %folder.display(), "a folder stays");
            return;
        }
    }
}

fn sync(folder: &Path) {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    if let Err(error) = synced {
        tracing::debug!(%error, "the folder is not synced");
    }
}
