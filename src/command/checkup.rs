//! What `harn doctor` looks at: wiring, trust, what fired, what can be written, what harn left behind. Reads only.

use std::path::Path;

use serde::Serialize;

use super::session::{self, Session, SessionError};
use super::sheet::Sheet;
use super::{clock, place, witness};
use crate::adapter::manifest::{Manifest, Version};
use crate::adapter::site::{Around, Scope, Site, site};
use crate::adapter::submit_keys::{SubmitKeys, bound};
use crate::adapter::{own, registry};
use crate::continuity::state::RecoveryState;
use crate::event::Timestamp;
use crate::install::{self, Format};
use crate::store::Layout;
use crate::store::dir::Durability;
use crate::store::foreign::Foreign;
use crate::store::home;
use crate::supervisor::{run, version};

/// Events may be this much in the future: two clocks of one machine agree better.
const FUTURE_MS: i64 = 60_000;
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
    let mut wired = 0;
    for manifest in registry::all() {
        client(&layout, &manifest, &mut found);
        if let Some(site) = site(&manifest.id) {
            wired += wiring(&layout, &manifest, site, project, &mut found);
        }
    }
    runs(&layout, wired, &mut found);
    sessions(&layout, project, &mut found);
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

fn client(layout: &Layout, manifest: &Manifest, found: &mut Findings) {
    let is_foreign = manifest.launch.builtin.is_none();
    for program in manifest.programs.iter().filter(|_| is_foreign) {
        let Ok(path) = which::which(program) else {
            found.ok("client", format!("{program} is not on PATH"));
            continue;
        };
        let verified = manifest.verified.as_ref();
        let verified = verified.and_then(|verified| verified.version.parse::<Version>().ok());
        match (version::of(layout, &path), verified) {
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
}

/// harn's hooks in the settings of one harness; in how many scopes.
fn wiring(
    layout: &Layout,
    manifest: &Manifest,
    site: Site,
    project: &Path,
    found: &mut Findings,
) -> usize {
    let id = manifest.id.as_str();
    let around = Around {
        var: &place::var,
        project,
    };
    let mut scopes = Vec::new();
    for (scope, name) in [
        (Scope::User, "user"),
        (Scope::Project, "project"),
        (Scope::Local, "local"),
    ] {
        let Some(sheets) = (site.sheets)(scope, &around) else {
            continue;
        };
        let within = (scope != Scope::User).then_some(project);
        let json = Some((sheets.json, Format::Json));
        let files = json
            .into_iter()
            .chain(sheets.toml.map(|path| (path, Format::Toml)));
        let mut hooks = Vec::new();
        for (path, format) in files {
            let sheet = match Sheet::read(layout, &path, within) {
                Ok(sheet) if sheet.text.trim().is_empty() => continue,
                Ok(sheet) => sheet,
                Err(error) => {
                    found.wrong("wiring", error.to_string(), "mend the file");
                    continue;
                }
            };
            if format == Format::Json {
                switched_off(site, &path, &sheet.text, found);
            }
            match install::hooks_in(format, &sheet.text, id) {
                Ok(listed) => {
                    if format == Format::Json {
                        plain(&path, &sheet.text, found);
                    }
                    hooks.extend(listed);
                }
                Err(refusal) => found.wrong(
                    "wiring",
                    format!("{}: {refusal}", path.display()),
                    "the client may drop the whole file; mend it",
                ),
            }
        }
        if hooks.is_empty() {
            continue;
        }
        targets(&hooks, name, id, found);
        found.ok(
            "wiring",
            format!("{id}: {} hooks in the {name} settings", hooks.len()),
        );
        scopes.push(name);
    }
    if scopes.len() > 1 {
        found.warn(
            "wiring",
            format!(
                "{id}: wired more than once, in the {} settings",
                scopes.join(" and ")
            ),
            "each event counts once all the same; `harn uninstall` takes one away",
        );
    }
    keys(site, &around, id, found);
    scopes.len()
}

/// Comments and trailing commas, which harn reads and the client does not.
fn plain(path: &Path, text: &str, found: &mut Findings) {
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        found.wrong(
            "wiring",
            format!("{}: no plain JSON: {error}", path.display()),
            "the client may drop the whole file; take comments and trailing commas out",
        );
    }
}

/// A switch in the settings that turns all hooks off.
fn switched_off(site: Site, path: &Path, text: &str, found: &mut Findings) {
    let Some(key) = site.off_key else { return };
    let settings: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    if settings.get(key) == Some(&serde_json::Value::Bool(true)) {
        found.wrong(
            "wiring",
            format!("{}: {key} is on, so no hook runs", path.display()),
            "take it out, or go on without checkpoints and briefings",
        );
    }
}

/// Programs that installed hooks would start.
fn targets(hooks: &[install::Found], scope: &str, id: &str, found: &mut Findings) {
    let mut programs: Vec<String> = hooks
        .iter()
        .filter_map(|hook| own::program(&hook.command))
        .collect();
    programs.sort();
    programs.dedup();
    for program in programs {
        if which::which(&program).is_err() {
            found.wrong(
                "wiring",
                format!("{id}: the {scope} hooks start {program}, which cannot be executed"),
                "run `harn install` again",
            );
        }
    }
}

/// Keys that submit and that only the composer knows.
fn keys(site: Site, around: &Around<'_>, id: &str, found: &mut Findings) {
    let Some(path) = (site.keys)(around) else {
        return;
    };
    let shown = path.display();
    let text = match Foreign::read(&path, None) {
        Ok(file) => file.bytes.unwrap_or_default(),
        Err(error) => {
            found.wrong(
                "keys",
                error.to_string(),
                "mend the file, or its permissions",
            );
            return;
        }
    };
    match bound(&String::from_utf8_lossy(&text)) {
        SubmitKeys::Bound => found.ok(
            "keys",
            format!("{id}: the submit chords are bound in {shown}"),
        ),
        SubmitKeys::Missing(_) => found.add(
            "keys",
            Level::Ok,
            &format!("{id}: no submit chords; managed compactions use Enter"),
            Some(&format!("`harn install {id} --keys` adds them")),
        ),
        SubmitKeys::Taken(taken) => found.warn(
            "keys",
            format!("{id}: {} means something else in {shown}", taken.keys),
            "managed compactions use Enter",
        ),
        SubmitKeys::Unreadable => found.wrong(
            "keys",
            format!("{shown} is not valid; the client drops the whole file"),
            "mend the file",
        ),
    }
}

/// Live runs, what dead ones left, and whether hooks are seen.
fn runs(layout: &Layout, wired: usize, found: &mut Findings) {
    let live = match run::live(layout) {
        Ok(live) => live,
        Err(error) => {
            found.wrong("runs", error.to_string(), "look at the state directory");
            return;
        }
    };
    if live.is_empty() && wired == 0 {
        found.warn(
            "wiring",
            "no hook of harn's is installed, and no owned run is live",
            "`harn run -- <agent>`, or `harn install <adapter>`",
        );
    }
    for live in &live {
        let id = &live.run.id;
        match &live.run.socket {
            Some(socket) if !socket.exists() => found.wrong(
                "socket",
                format!("run {id}: {} is gone", socket.display()),
                "managed compactions need it; end the run and start it again",
            ),
            Some(_) => found.ok("socket", format!("run {id} takes requests")),
            None => found.ok("socket", format!("run {id} takes no requests")),
        }
    }
    for problem in witness::problems(layout, None) {
        found.wrong("trust", problem, "answer the client's own question");
    }
    match run::stale(layout) {
        Ok(0) => {}
        Ok(count) => found.warn(
            "runs",
            format!("{count} runs ended without cleaning up"),
            "the next `harn run` sweeps them",
        ),
        Err(error) => found.wrong("runs", error.to_string(), "look at the state directory"),
    }
}

/// This project's sessions: what fired, what was delivered, what is damaged.
fn sessions(layout: &Layout, project: &Path, found: &mut Findings) {
    let entries = match session::of_project(layout, project) {
        Ok(entries) => entries,
        Err(error) => {
            found.wrong("sessions", error.to_string(), "look at the state directory");
            return;
        }
    };
    if entries.is_empty() {
        found.ok("sessions", "no session of this project is known");
    }
    let now = clock::now();
    for entry in entries {
        let session = match Session::view(layout, &entry) {
            Ok(session) => session,
            Err(SessionError::Store(error)) if error.is_missing() => {
                found.ok(
                    "sessions",
                    format!("{}: its state was removed", entry.session),
                );
                continue;
            }
            Err(error) => {
                found.wrong(
                    "sessions",
                    format!("{}: {error}", entry.session),
                    "`harn context verify` tells more",
                );
                continue;
            }
        };
        one_session(&session, now, found);
    }
}

fn one_session(session: &Session, now: Timestamp, found: &mut Findings) {
    let id = &session.id;
    let mut damage = Vec::new();
    if session.damaged_lines > 0 {
        damage.push(format!(
            "{} damaged lines in its log",
            session.damaged_lines
        ));
    }
    if session.was_rebuilt {
        damage.push("a damaged state file".to_owned());
    }
    if let Ok(left) = session.store.spooled()
        && !left.is_empty()
    {
        damage.push(format!(
            "{} signals that wait for the next event",
            left.len()
        ));
    }
    if let Err(error) = session.store.check_writable() {
        damage.push(format!("{error}"));
    }
    if !damage.is_empty() {
        found.wrong(
            "sessions",
            format!("{id}: {}", damage.join(", ")),
            "`harn context verify` tells more; the next event rebuilds the state",
        );
    }
    let last = session.state.session.last_event_at;
    if last.is_some_and(|last| last.as_unix_ms() > now.as_unix_ms() + FUTURE_MS) {
        found.wrong(
            "clock",
            format!("{id}: its newest event is in the future"),
            "the clock went back; ages are not to be believed",
        );
    }
    let age = last.map_or_else(
        || "never".to_owned(),
        |last| format!("{} s ago", now.ms_since(last) / 1_000),
    );
    let delivery = match session.state.recovery.as_ref().map(|it| it.state) {
        Some(RecoveryState::Delivered) => "the last briefing was delivered",
        Some(RecoveryState::Injected) => {
            "the last briefing was printed; nothing proves that it was read"
        }
        Some(RecoveryState::Prepared) => "a briefing is prepared",
        None => "no briefing was needed yet",
    };
    found.ok("sessions", format!("{id}: last event {age}; {delivery}"));
}
