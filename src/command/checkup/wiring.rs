//! harn's hooks, status line and keys in the settings of one harness, and what keeps them from working.

use std::path::{Path, PathBuf};

use super::super::place;
use super::super::sheet::Sheet;
use super::{Findings, Level};
use crate::adapter::manifest::{EventSpec, Manifest, SignalKind, Version};
use crate::adapter::own;
use crate::adapter::site::{Around, Scope, Site};
use crate::adapter::submit_keys::{SubmitKeys, bound};
use crate::install::{self, Format};
use crate::store::Layout;
use crate::store::foreign::Foreign;

/// A settings file with hooks of harn's.
struct Holder {
    path: PathBuf,
    hooks: Vec<install::Found>,
}

/// Looks at every scope; gives the events that are wired, in any of them.
pub(super) fn look(
    layout: &Layout,
    manifest: &Manifest,
    (site, version): (Site, Option<&Version>),
    project: &Path,
    found: &mut Findings,
) -> Vec<String> {
    let id = manifest.id.as_str();
    let around = Around {
        var: &place::var,
        project,
    };
    let mut scopes = Vec::new();
    let mut files = Vec::new();
    let mut is_shared_only = true;
    let mut events = Vec::new();
    for (scope, name) in [
        (Scope::User, "user"),
        (Scope::Project, "project"),
        (Scope::Local, "local"),
    ] {
        // Whoever stands in their home has the user's settings for the project's.
        let sheets = (site.sheets)(scope, &around);
        if sheets.is_none() || files.contains(&sheets) {
            continue;
        }
        files.push(sheets);
        let holders = holders(layout, (site, scope), &around, id, found);
        let hooks: Vec<&install::Found> = holders.iter().flat_map(|it| &it.hooks).collect();
        if hooks.is_empty() {
            continue;
        }
        targets(&hooks, name, id, found);
        found.ok(
            "wiring",
            format!("{id}: {} hooks in the {name} settings", hooks.len()),
        );
        twice_in(&holders, name, id, found);
        let working = hooks.iter().filter(|it| it.event == it.reports);
        events.extend(working.map(|it| it.event.clone()));
        is_shared_only &= scope == Scope::Project;
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
    events.sort();
    events.dedup();
    if !scopes.is_empty() {
        // A project's settings get only what every version knows: others who work in it may have an older one.
        let version = version.filter(|_| !is_shared_only);
        partial(manifest, version, &events, found);
    }
    keys(site, &around, id, found);
    events
}

/// The files of one scope that hold hooks of harn's, after a look at each file there is.
fn holders(
    layout: &Layout,
    (site, scope): (Site, Scope),
    around: &Around<'_>,
    id: &str,
    found: &mut Findings,
) -> Vec<Holder> {
    let Some(sheets) = (site.sheets)(scope, around) else {
        return Vec::new();
    };
    let within = (scope != Scope::User).then_some(around.project);
    let json = Some((sheets.json, Format::Json));
    let files = json
        .into_iter()
        .chain(sheets.toml.map(|path| (path, Format::Toml)));
    let mut holders = Vec::new();
    for (path, format) in files {
        let sheet = match Sheet::read(layout, &path, within) {
            Ok(sheet) if sheet.text.trim().is_empty() => continue,
            Ok(sheet) => sheet,
            Err(error) => {
                found.wrong("wiring", error.to_string(), "mend the file");
                continue;
            }
        };
        switched_off(site, format, &path, &sheet.text, found);
        match install::hooks_in(format, &sheet.text, id) {
            Ok(hooks) => {
                if format == Format::Json {
                    plain(&path, &sheet.text, found);
                    status_line(&path, &sheet.text, id, found);
                }
                if !hooks.is_empty() {
                    holders.push(Holder { path, hooks });
                }
            }
            Err(refusal) => found.wrong(
                "wiring",
                format!("{}: {refusal}", path.display()),
                "the client may drop the whole file; mend it",
            ),
        }
    }
    holders
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
fn switched_off(site: Site, format: Format, path: &Path, text: &str, found: &mut Findings) {
    let switch = match format {
        Format::Json => site.off_key.and_then(|key| {
            let settings: serde_json::Value = serde_json::from_str(text).ok()?;
            (settings.get(key) == Some(&true.into())).then(|| format!("{key} is on"))
        }),
        Format::Toml => site.toml_switch.and_then(|(table, key)| {
            let settings: toml::Table = text.parse().ok()?;
            let is_off = settings.get(table)?.get(key)? == &false.into();
            is_off.then(|| format!("{table}.{key} is off"))
        }),
    };
    if let Some(switch) = switch {
        found.wrong(
            "wiring",
            format!("{}: {switch}, so no hook runs", path.display()),
            "take it out, or go on without checkpoints and briefings",
        );
    }
}

/// Programs that installed hooks would start.
fn targets(hooks: &[&install::Found], scope: &str, id: &str, found: &mut Findings) {
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

/// One event that runs harn several times within a scope, and one that runs the hook of another.
fn twice_in(holders: &[Holder], scope: &str, id: &str, found: &mut Findings) {
    if let [one, other, ..] = holders {
        found.warn(
            "wiring",
            format!(
                "{id}: wired in both {} and {}",
                one.path.display(),
                other.path.display()
            ),
            &format!(
                "each event counts once all the same; `harn uninstall {id} --scope {scope}` takes both away, then install again"
            ),
        );
    }
    let again = format!("`harn install {id} --scope {scope}` puts it right");
    for holder in holders {
        let mut told: Vec<&str> = Vec::new();
        for hook in &holder.hooks {
            let event = hook.event.as_str();
            let count = holder.hooks.iter().filter(|it| it.event == event).count();
            if count > 1 && !told.contains(&event) {
                told.push(event);
                let path = holder.path.display();
                found.warn(
                    "wiring",
                    format!("{id}: {event} is wired {count} times in {path}"),
                    &again,
                );
            }
            if hook.event != hook.reports {
                found.wrong(
                    "wiring",
                    format!("{id}: {event} runs the hook of {}", hook.reports),
                    &again,
                );
            }
        }
    }
}

/// Events that this version has and that run nothing of harn's, where others do.
fn partial(manifest: &Manifest, version: Option<&Version>, wired: &[String], found: &mut Findings) {
    let id = &manifest.id;
    let all: Vec<&EventSpec> = manifest.events_of(version).collect();
    let missing: Vec<&EventSpec> = all
        .iter()
        .copied()
        .filter(|spec| !wired.contains(&spec.native))
        .collect();
    if missing.is_empty() {
        return;
    }
    let names: Vec<&str> = missing.iter().map(|spec| spec.native.as_str()).collect();
    let what = format!(
        "{id}: {} of {} events are wired; missing: {}",
        all.len() - missing.len(),
        all.len(),
        names.join(", ")
    );
    let is_vital = |spec: &&EventSpec| {
        let vital = [SignalKind::CompactionAnnounced, SignalKind::SessionStarted];
        vital.contains(&spec.signal)
    };
    if missing.iter().any(is_vital) {
        let hint =
            format!("without them no checkpoint or no briefing is made; run `harn install {id}`");
        found.wrong("wiring", what, &hint);
    } else {
        found.warn("wiring", what, &format!("`harn install {id}` wires them"));
    }
}

/// The bridge in the place of the status line, and the user's own command behind it.
fn status_line(path: &Path, text: &str, id: &str, found: &mut Findings) {
    let Ok(Some((command, bridge))) = install::status_line_in(text, id) else {
        return;
    };
    let shown = path.display();
    if let Some(program) = own::program(&command)
        && which::which(&program).is_err()
    {
        found.wrong(
            "status line",
            format!("{shown}: it starts {program}, which cannot be executed"),
            &format!("run `harn install {id} --statusline` again"),
        );
        return;
    }
    let then = bridge.then.as_deref().and_then(own::program);
    match then.filter(|program| !is_there(program)) {
        Some(program) => found.wrong(
            "status line",
            format!("{shown}: your own, {program}, cannot be executed"),
            &format!("mend the command behind --then, or `harn uninstall {id}` and install again"),
        ),
        None => found.ok("status line", format!("{id}: harn's bridge in {shown}")),
    }
}

/// Whether the first word of a shell's command line names a program. A bare word may be the shell's own, and one with
/// anything to expand is for the shell to say: neither is called missing.
fn is_there(word: &str) -> bool {
    let path = match word.strip_prefix("~/") {
        Some(rest) => place::var("HOME").map(|home| PathBuf::from(home).join(rest)),
        None => Some(PathBuf::from(word)),
    };
    let is_plain = word.starts_with(['/', '~']) && !word.contains(['$', '`', '*', '?']);
    !is_plain || path.is_none_or(|path| which::which(path).is_ok())
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
