//! `harn install <adapter>`: puts harn's hooks, and asked for, its status line and key chords, into the harness's own files.
//!
//! All files are planned before the first is written; what cannot be read is refused and nothing is written at all.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::dispatch::complain;
use super::installed::{How, report};
use super::own;
use super::place;
use super::sheet::{Plan, Sheet, SheetError};
use crate::adapter::Manifest;
use crate::adapter::manifest::{Dimension, Support, Version};
use crate::adapter::own::hook_line;
use crate::adapter::registry;
use crate::adapter::site::{Around, Scope, Site, site};
use crate::cli::{InstallArgs, InstallScope};
use crate::exit::Exit;
use crate::install::{self, Format, Hook, Parts};
use crate::store::Layout;
use crate::supervisor::version;

/// Where things go, found out once.
pub(super) struct Desk {
    pub(super) manifest: Manifest,
    pub(super) site: Site,
    pub(super) scope: Scope,
    pub(super) layout: Layout,
    pub(super) project: PathBuf,
}

/// What cannot be installed at all, and how that ends.
pub(super) enum Unfit {
    Unknown(registry::RegistryError),
    NothingToWire(Manifest),
    NoScope(Manifest),
}

impl Desk {
    pub(super) fn new(adapter: &str, scope: InstallScope) -> anyhow::Result<Result<Self, Unfit>> {
        let manifest = match registry::load(adapter) {
            Ok(manifest) => manifest,
            Err(error) => return Ok(Err(Unfit::Unknown(error))),
        };
        let Some(site) = site(&manifest.id) else {
            return Ok(Err(Unfit::NothingToWire(manifest)));
        };
        let cwd = std::env::current_dir().context("cannot tell the current directory")?;
        let desk = Self {
            manifest,
            site,
            scope: match scope {
                InstallScope::User => Scope::User,
                InstallScope::Project => Scope::Project,
                InstallScope::Local => Scope::Local,
            },
            layout: place::layout()?,
            project: place::project_at(&cwd),
        };
        if (desk.site.sheets)(desk.scope, &desk.around()).is_none() {
            return Ok(Err(Unfit::NoScope(desk.manifest)));
        }
        Ok(Ok(desk))
    }

    fn around(&self) -> Around<'_> {
        Around {
            var: &place::var,
            project: &self.project,
        }
    }

    pub(super) fn adapter(&self) -> &str {
        self.manifest.id.as_str()
    }

    /// The folder that no link of a project may lead out of.
    fn within(&self) -> Option<&Path> {
        (self.scope != Scope::User).then_some(self.project.as_path())
    }

    /// The file for hooks, and how it is written: where hooks are already, there they stay together.
    pub(super) fn sheet(&self) -> Result<(Format, Sheet), SheetError> {
        let read = |path: &Path| Sheet::read(&self.layout, path, self.within());
        let sheets = (self.site.sheets)(self.scope, &self.around());
        let (json, toml) = sheets.map_or_else(Default::default, |it| (it.json, it.toml));
        let json = read(&json)?;
        if let Some(toml) = toml {
            let toml = read(&toml)?;
            let holds_ours = install::hooks_in(Format::Toml, &toml.text, self.adapter());
            let is_elsewhere = holds_ours.is_ok_and(|found| !found.is_empty())
                || (matches!(json.text.trim(), "" | "{}") && install::has_hook_tables(&toml.text));
            if is_elsewhere {
                return Ok((Format::Toml, toml));
            }
        }
        Ok((Format::Json, json))
    }

    /// Every file of the scope that can hold hooks.
    pub(super) fn all_sheets(&self) -> Result<Vec<(Format, Sheet)>, SheetError> {
        let Some(sheets) = (self.site.sheets)(self.scope, &self.around()) else {
            return Ok(Vec::new());
        };
        let read = |path: &Path| Sheet::read(&self.layout, path, self.within());
        let mut all = vec![(Format::Json, read(&sheets.json)?)];
        if let Some(toml) = sheets.toml {
            all.push((Format::Toml, read(&toml)?));
        }
        Ok(all)
    }

    /// The file of key bindings; there is one for the user only.
    pub(super) fn keys(&self) -> Result<Option<Sheet>, SheetError> {
        match (self.site.keys)(&self.around()) {
            Some(path) => Sheet::read(&self.layout, &path, None).map(Some),
            None => Ok(None),
        }
    }

    /// The client's version, where it can be told.
    fn version(&self) -> Option<Version> {
        let mut programs = self.manifest.programs.iter();
        let program = programs.find_map(|name| which::which(name).ok())?;
        version::of(&self.layout, &program)
    }

    fn hooks(&self, harn: &str) -> Vec<Hook> {
        // Who else works in a project may have an older client, which would stop at an event that it does not know.
        let version = match self.scope {
            Scope::Project => None,
            Scope::User | Scope::Local => self.version(),
        };
        let events = self.manifest.events_of(version.as_ref());
        events
            .map(|event| Hook {
                event: event.native.clone(),
                command: hook_line(harn, self.adapter(), &event.native),
                timeout_s: event.timeout_s,
            })
            .collect()
    }
}

/// Says why nothing is done.
pub(super) fn explain(unfit: &Unfit) -> Exit {
    match unfit {
        Unfit::Unknown(error) => {
            let known: Vec<&str> = registry::ids().collect();
            complain(error, Some(&format!("adapters: {}", known.join(", "))));
            Exit::Usage
        }
        Unfit::NothingToWire(manifest) => {
            let claim = manifest.claims.get(&Dimension::PreSignal);
            let claim = claim.filter(|it| it.support == Support::Unsupported);
            let why = claim.map_or("it has no settings that harn knows", |it| it.note.as_str());
            let what = format!("nothing to install for {}: {why}", manifest.name);
            complain(&what, None);
            Exit::NotDone
        }
        Unfit::NoScope(manifest) => {
            let what = format!("{} has no settings of that scope", manifest.name);
            complain(&what, Some("scopes: user, project"));
            Exit::Usage
        }
    }
}

pub(super) fn run(args: &InstallArgs) -> anyhow::Result<Exit> {
    let desk = match Desk::new(&args.adapter, args.scope)? {
        Ok(desk) => desk,
        Err(unfit) => return Ok(explain(&unfit)),
    };
    if let Some(missing) = missing_part(&desk, args) {
        let what = format!(
            "{} has no {missing} that harn could change",
            desk.manifest.name
        );
        complain(&what, None);
        return Ok(Exit::NotDone);
    }
    let plans = match plans(&desk, args) {
        Ok(plans) => plans,
        Err(error) => return Ok(refuse(&error)),
    };
    let notes = notes(&desk, &plans);
    let is_due = plans.iter().any(Plan::is_change);
    if args.check {
        report(&desk, &plans, &notes, How::Check, args.json)?;
        return Ok(if is_due { Exit::Failed } else { Exit::Ok });
    }
    let how = if args.dry_run { How::Shown } else { How::Done };
    report(&desk, &plans, &notes, how, args.json)
}

fn missing_part(desk: &Desk, args: &InstallArgs) -> Option<&'static str> {
    if args.statusline && !desk.site.has_status_line {
        Some("status line")
    } else if args.keys && (desk.site.keys)(&desk.around()).is_none() {
        Some("key bindings")
    } else {
        None
    }
}

/// A file that cannot be dealt with: nothing is written.
pub(super) fn refuse(error: &SheetError) -> Exit {
    let (exit, hint) = match error {
        SheetError::Refused { .. } | SheetError::NoText { .. } => (
            Exit::BadData,
            "nothing was written; put the file right and try again",
        ),
        SheetError::File(_) | SheetError::Store(_) => (Exit::Failed, "nothing was written"),
    };
    complain(error, Some(hint));
    exit
}

fn plans(desk: &Desk, args: &InstallArgs) -> Result<Vec<Plan>, SheetError> {
    let harn = own::command().map_err(|source| {
        SheetError::File(crate::store::foreign::ForeignError::Io {
            what: "name",
            path: PathBuf::from("harn"),
            source,
        })
    })?;
    let mut plans = vec![main_plan(desk, args, &harn)?];
    if args.keys
        && let Some(sheet) = desk.keys()?
    {
        let refused = |refusal| sheet.refused(refusal);
        let stripped = install::strip_keys(&sheet.text, sheet.spots()).map_err(refused)?;
        let spots = sheet.spots_beside(&stripped);
        let change = install::merge_keys(&sheet.text, spots).map_err(refused)?;
        plans.push(sheet.install(change, &stripped));
    }
    Ok(plans)
}

fn main_plan(desk: &Desk, args: &InstallArgs, harn: &str) -> Result<Plan, SheetError> {
    let (format, sheet) = desk.sheet()?;
    let adapter = desk.adapter();
    let refused = |refusal| sheet.refused(refusal);
    let text = &sheet.text;
    let all = Parts {
        hooks: true,
        status_line: true,
    };
    let stripped = install::strip(format, text, adapter, all, sheet.spots()).map_err(refused)?;
    let spots = sheet.spots_beside(&stripped);
    let mut change =
        install::merge_hooks(format, text, adapter, &desk.hooks(harn), spots).map_err(refused)?;
    // One that is there already is kept up to date, asked for or not.
    let has_line = format == Format::Json
        && desk.site.has_status_line
        && (args.statusline || install::has_status_line(text, adapter).map_err(refused)?);
    if has_line {
        let line = install::merge_status_line(&change.text, adapter, harn, &change.spots)
            .map_err(refused)?;
        let reasons = std::mem::take(&mut change.reasons);
        change = line;
        change.reasons.splice(0..0, reasons);
    }
    Ok(sheet.install(change, &stripped))
}

/// What a person should know besides.
fn notes(desk: &Desk, plans: &[Plan]) -> Vec<String> {
    let mut notes = Vec::new();
    let name = &desk.manifest.name;
    for plan in plans {
        let path = plan.sheet.path.display();
        let (_, after) = plan.texts();
        if plan.sheet.path.extension().is_some_and(|end| end == "json") {
            let bare = after.trim_start_matches('\u{feff}');
            let read: Result<serde_json::Value, _> = serde_json::from_str(bare);
            let is_on = |key: &str| {
                read.as_ref()
                    .is_ok_and(|it| it.get(key) == Some(&true.into()))
            };
            if let Some(key) = desk.site.off_key.filter(|key| is_on(key)) {
                notes.push(format!("{key} is set in {path}: no hook runs"));
            }
            if read.is_err() || (plan.sheet.has_mark() && !desk.site.takes_byte_order_mark) {
                notes.push(format!(
                    "{name} reads no file that is more than plain JSON (comments, commas at the end, a byte order mark): \
                     nothing in {path} takes effect"
                ));
            }
        }
    }
    if desk.scope != Scope::Project && desk.version().is_none() {
        notes.push(format!(
            "{name} is not on PATH: only the events that every version of it knows are wired"
        ));
    }
    if let Some(trust) = &desk.manifest.trust {
        notes.push(format!(
            "{name} runs no hook before you have allowed it: {}",
            trust.hint
        ));
    }
    if desk.manifest.support(Dimension::TriggerUnowned) != Support::Supported {
        notes.push("hooks cannot compact; for that, `harn run`".to_owned());
    }
    notes
}
