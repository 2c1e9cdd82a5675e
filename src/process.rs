//! Who runs above whom: processes by id and start time, which together are never reused.
//!
//! The only file with two platforms in it: Linux reads `/proc`, elsewhere `ps` is asked. Called by hooks (to find the
//! harness above them) and by `supervisor/` (to tell a live run from a dead one).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Steps taken upwards at most; a real chain is far shorter.
const DEPTH_LIMIT: usize = 64;

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// Start time in a unit of the platform's own; only compared for equality.
    pub started: u64,
}

/// A process as the system shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub process: Process,
    pub parent: u32,
    /// What it may be called by: command name, program file, first argument.
    pub names: Vec<String>,
}

/// Looks at one process.
pub fn see(pid: u32) -> Option<Seen> {
    platform::see(pid)
}

/// This process.
pub fn own() -> Option<Process> {
    see(std::process::id()).map(|seen| seen.process)
}

/// Whether exactly this process still runs.
pub fn is_alive(process: Process) -> bool {
    see(process.pid).is_some_and(|seen| seen.process == process)
}

/// The processes above this one, nearest first.
pub fn ancestors() -> Vec<Seen> {
    let mut chain = Vec::new();
    let mut next = see(std::process::id()).map(|seen| seen.parent);
    while let Some(seen) = next.filter(|pid| *pid > 1).and_then(see) {
        next = Some(seen.parent);
        chain.push(seen);
        if chain.len() == DEPTH_LIMIT {
            break;
        }
    }
    chain
}

/// The processes of a terminal session.
pub fn in_session(session: nix::unistd::Pid) -> Vec<Seen> {
    let pids = platform::pids().unwrap_or_default();
    let is_in = |pid: &u32| {
        let pid = i32::try_from(*pid).ok().map(nix::unistd::Pid::from_raw);
        pid.and_then(|pid| nix::unistd::getsid(Some(pid)).ok()) == Some(session)
    };
    pids.into_iter().filter(is_in).filter_map(see).collect()
}

/// The processes at or below `root`, in its terminal session, that hold a file open which `is_wanted`; none where the
/// system does not tell.
pub fn holders_below(root: Process, is_wanted: impl Fn(&Path) -> bool) -> Option<Vec<Process>> {
    let mut holders: Vec<Process> = held_below(root, is_wanted)?
        .into_iter()
        .map(|(holder, _)| holder)
        .collect();
    holders.dedup();
    Some(holders)
}

/// The same with the files, each holder's together.
pub fn held_below(
    root: Process,
    is_wanted: impl Fn(&Path) -> bool,
) -> Option<Vec<(Process, PathBuf)>> {
    let sid = |pid: u32| {
        let pid = i32::try_from(pid).ok().map(nix::unistd::Pid::from_raw);
        nix::unistd::getsid(Some(pid?)).ok()
    };
    let session = sid(root.pid)?;
    let mut held = Vec::new();
    for pid in platform::pids()? {
        if sid(pid) != Some(session) {
            continue;
        }
        let Some(seen) = see(pid).filter(|seen| is_at_or_below(seen, root)) else {
            continue;
        };
        let files = platform::open_files(pid)?.into_iter();
        held.extend(
            files
                .filter(|path| is_wanted(path))
                .map(|path| (seen.process, path)),
        );
    }
    Some(held)
}

/// Whether a process is `root` or somewhere below it.
pub fn is_at_or_below(seen: &Seen, root: Process) -> bool {
    let mut next = Some(seen.clone());
    for _ in 0..DEPTH_LIMIT {
        match next {
            Some(seen) if seen.process == root => return true,
            Some(it) => next = see(it.parent),
            None => return false,
        }
    }
    false
}

/// Whether a process was started with this variable; false where the system does not tell.
pub fn has_variable(pid: u32, name: &str, value: &str) -> bool {
    platform::environment(pid).is_some_and(|environment| {
        let wanted = format!("{name}={value}");
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == wanted.as_bytes())
    })
}

/// The processes that were started with this variable; none where the system does not tell.
pub fn started_with(name: &str, value: &str) -> Vec<Process> {
    let pids = platform::pids().unwrap_or_default();
    let with = pids
        .into_iter()
        .filter(|pid| has_variable(*pid, name, value));
    with.filter_map(|pid| Some(see(pid)?.process)).collect()
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(target_os = "linux")]
mod platform {
    use std::path::PathBuf;

    use super::{Process, Seen, base_name};

    pub(super) fn see(pid: u32) -> Option<Seen> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (process, parent, comm) = parse(pid, &stat)?;
        let mut names = vec![comm];
        if let Ok(exe) = std::fs::read_link(format!("/proc/{pid}/exe")) {
            names.push(base_name(&exe.to_string_lossy()));
        }
        if let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline"))
            && let Some(first) = line.split(|byte| *byte == 0).next()
        {
            names.push(base_name(&String::from_utf8_lossy(first)));
        }
        Some(Seen {
            process,
            parent,
            names,
        })
    }

    pub(super) fn pids() -> Option<Vec<u32>> {
        let entries = std::fs::read_dir("/proc").ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Some(names.filter_map(|name| name.parse().ok()).collect())
    }

    pub(super) fn environment(pid: u32) -> Option<Vec<u8>> {
        std::fs::read(format!("/proc/{pid}/environ")).ok()
    }

    /// A process that ended meanwhile holds nothing; one that may not be looked at is no answer.
    pub(super) fn open_files(pid: u32) -> Option<Vec<PathBuf>> {
        match std::fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => {
                let targets = entries.filter_map(|it| std::fs::read_link(it.ok()?.path()).ok());
                Some(targets.collect())
            }
            // Gone before the folder was opened, or while it was.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    || error.raw_os_error() == Some(nix::errno::Errno::ESRCH as i32) =>
            {
                Some(Vec::new())
            }
            Err(_) => None,
        }
    }

    /// `pid (comm) state ppid … starttime …`; the name may hold blanks and parentheses.
    fn parse(pid: u32, stat: &str) -> Option<(Process, u32, String)> {
        let (head, tail) = stat.rsplit_once(')')?;
        let comm = head.split_once('(')?.1.to_owned();
        let mut fields = tail.split_whitespace();
        let state = fields.next()?;
        if state == "Z" || state == "X" {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        // Field 22 of the whole line, the 18th behind the parent.
        let started = fields.nth(17)?.parse().ok()?;
        Some((Process { pid, started }, parent, comm))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_with_parentheses_does_not_shift_the_fields() {
            let stat = "7 (a) b (c) S 3 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1";
            let process = Process {
                pid: 7,
                started: 4242,
            };
            assert_eq!(parse(7, stat), Some((process, 3, "a) b (c".to_owned())));
            assert_eq!(parse(7, &stat.replace(" S ", " Z ")), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    use std::path::PathBuf;

    use super::{Process, Seen, base_name};

    pub(super) fn see(pid: u32) -> Option<Seen> {
        let output = std::process::Command::new("/bin/ps")
            .args(["-o", "ppid=,lstart=,comm=", "-p", &pid.to_string()])
            .env("LC_ALL", "C")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        let parent = words.next()?.parse().ok()?;
        // `Mon Nov 30 21:10:47 2026`: five words of start time, then the program.
        let mut hasher = DefaultHasher::new();
        for _ in 0..5 {
            words.next()?.hash(&mut hasher);
        }
        let program: Vec<&str> = words.collect();
        let names = vec![base_name(&program.join(" "))];
        Some(Seen {
            process: Process {
                pid,
                started: hasher.finish(),
            },
            parent,
            names,
        })
    }

    pub(super) fn pids() -> Option<Vec<u32>> {
        let output = std::process::Command::new("/bin/ps")
            .args(["-axo", "pid="])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Some(
            text.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect(),
        )
    }

    pub(super) fn environment(_pid: u32) -> Option<Vec<u8>> {
        None
    }

    pub(super) fn open_files(pid: u32) -> Option<Vec<PathBuf>> {
        let output = std::process::Command::new("/usr/sbin/lsof")
            .args(["-n", "-P", "-Fn", "-p", &pid.to_string()])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_prefix('n'));
        Some(names.map(PathBuf::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_begins_with_the_parent_and_a_wrong_start_time_is_another_process() {
        let me = own().unwrap();
        assert!(is_alive(me));
        assert!(!is_alive(Process {
            started: me.started + 1,
            ..me
        }));
        let parent = std::os::unix::process::parent_id();
        assert_eq!(
            ancestors().first().map(|seen| seen.process.pid),
            Some(parent)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_held_file_is_found_with_its_holder_and_only_while_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("x.lock");
        let found = || holders_below(own().unwrap(), |held| held == path);
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(found(), Some(vec![own().unwrap()]));
        drop(file);
        assert_eq!(found(), Some(Vec::new()));
    }
}
