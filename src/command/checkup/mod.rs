//! What `harn doctor` looks at: wiring, policies, trust, what fired, what can be written, what harn left behind.
//!
//! Changes no settings and no session. Two things are written, both in harn's own state directory: a probe that is removed
//! again, and what installed clients say of their version.

mod fired;
mod policy;
mod runs;
mod sessions;
mod wiring;

use std::path::Path;

use serde::Serialize;

use super::place;
use crate::adapter::manifest::{Manifest, Version};
use crate::adapter::registry;
use crate::adapter::site::site;
use crate::store::Layout;
use crate::store::dir::Durability;
use crate::store::home;
use crate::supervisor::version;

/// Written and removed again, to see whether that works.
const PROBE: &str = "doctor.probe";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    Ok,
    Warn,
    Wrong,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) level: Level,
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    /// Of a harness's hooks: each event, and when it last came.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<fired::Fired>>,
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    fn add(&mut self, check: &'static str, level: Level, what: &str, hint: Option<&str>) {
        self.0.push(Finding {
            check,
            level,
            what: crate::text::one_line(what),
            hint: hint.map(str::to_owned),
            events: None,
        });
    }

    fn ok(&mut self, check: &'static str, what: impl AsRef<str>) {
        self.add(check, Level::Ok, what.as_ref(), None);
    }

    fn warn(&mut self, check: &'static str, what: impl AsRef<str>, hint: &str) {
        self.add(check, Level::Warn, what.as_ref(), Some(hint));
    }

    fn wrong(&mut self, check: &'static str, what: impl AsRef<str>, hint: &str) {
        self.add(check, Level::Wrong, what.as_ref(), Some(hint));
    }
}

/// Looks at everything.
pub(super) fn all(project: &Path) -> Findings {
    let mut found = Findings::default();
    let own = std::env::current_exe().map(|path| path.display().to_string());
    found.ok(
        "harn",
        format!(
            "harn {} ({})",
            env!("CARGO_PKG_VERSION"),
            own.unwrap_or_else(|error| error.to_string())
        ),
    );
    let layout = match place::layout() {
        Ok(layout) => layout,
        Err(error) => {
            found.wrong("state", error.to_string(), "set HOME, or HARN_STATE_DIR");
            return found;
        }
    };
    config(&layout, &mut found);
    if !state(&layout, &mut found) {
        // All else is looked at through it.
        return found;
    }
    let mut is_wired = false;
    for manifest in registry::all() {
        let version = client(&layout, &manifest, &mut found);
        let Some(site) = site(&manifest.id) else {
            continue;
        };
        policy::look(site, manifest.id.as_str(), &mut found);
        let around = (site, version.as_ref());
        let wired = wiring::look(&layout, &manifest, around, project, &mut found);
        fired::look(&layout, &manifest, &wired, project, &mut found);
        is_wired |= !wired.is_empty();
    }
    runs::look(&layout, is_wired, &mut found);
    sessions::look(&layout, project, &mut found);
    found
}

fn config(layout: &Layout, found: &mut Findings) {
    match place::config(layout) {
        Ok(_) => found.ok(
            "config",
            format!("{} is valid or absent", layout.config.display()),
        ),
        Err(error) => found.wrong(
            "config",
            error.to_string(),
            "hooks go on with the defaults; mend the file",
        ),
    }
}

fn state(layout: &Layout, found: &mut Findings) -> bool {
    let probed = home::ensure(layout).and_then(|dir| {
        dir.tighten()?;
        dir.replace(PROBE, b"", Durability::Atomic)?;
        dir.remove(PROBE)?;
        Ok(dir)
    });
    match probed {
        Ok(dir) => {
            found.ok("state", format!("{} can be written", dir.path().display()));
            true
        }
        Err(error) => {
            let hint = "nothing can be saved; free space or mend the permissions";
            found.wrong("state", error.to_string(), hint);
            false
        }
    }
}

/// The clients on PATH; gives the version of the first.
fn client(layout: &Layout, manifest: &Manifest, found: &mut Findings) -> Option<Version> {
    let mut first = None;
    let is_foreign = manifest.launch.builtin.is_none();
    for program in manifest.programs.iter().filter(|_| is_foreign) {
        let Ok(path) = which::which(program) else {
            found.ok("client", format!("{program} is not on PATH"));
            continue;
        };
        let verified = manifest.verified.as_ref();
        let verified = verified.and_then(|verified| verified.version.parse::<Version>().ok());
        let version = version::of(layout, &path);
        if first.is_none() {
            first.clone_from(&version);
        }
        match (version, verified) {
            (Some(version), Some(verified)) if version == verified => {
                found.ok("client", format!("{program} {version}, as verified"));
            }
            (Some(version), verified) => {
                let verified = verified.map_or_else(|| "none".to_owned(), |it| it.to_string());
                found.warn(
                    "client",
                    format!("{program} is {version}; harn was verified on {verified}"),
                    "what harn claims is only declared for this version",
                );
            }
            (None, _) => found.warn(
                "client",
                format!("{} does not tell its version", path.display()),
                "only the events that every version knows are wired",
            ),
        }
    }
    first
}
