//! `harn adapter list|show|bench`: the registry's claims, and whether recordings and installed clients bear them out.

use serde::Serialize;

use super::dispatch::{complain, say, say_json};
use super::live::{Attested, Live, Stage};
use super::place;
use crate::adapter::conformance::{self, Line, Recordings, Verdict};
use crate::adapter::manifest::{Claim, Dimension, Manifest, Support, Verified, Version};
use crate::adapter::registry;
use crate::cli::{AdapterArgs, AdapterCommand, BenchArgs};
use crate::event::{HarnessId, SCHEMA};
use crate::exit::Exit;
use crate::store::attested;
use crate::supervisor::version;

pub(super) fn run(args: &AdapterArgs) -> anyhow::Result<Exit> {
    match &args.command {
        AdapterCommand::List(args) => list(args.json),
        AdapterCommand::Show(args) => match find(&args.id) {
            Ok(manifest) => show(&manifest, args.json),
            Err(exit) => Ok(exit),
        },
        AdapterCommand::Bench(args) => bench(args),
    }
}

fn find(id: &str) -> Result<Manifest, Exit> {
    registry::load(id).map_err(|error| {
        let known: Vec<&str> = registry::ids().collect();
        complain(&error, Some(&format!("adapters: {}", known.join(", "))));
        Exit::Usage
    })
}

#[derive(Serialize)]
struct AdapterWire<'a> {
    id: &'a HarnessId,
    name: &'a str,
    programs: &'a [String],
    verified: Option<&'a Verified>,
    claims: Vec<ClaimWire<'a>>,
    /// What `bench --live` saw last on this machine.
    attested: Option<Attested>,
}

#[derive(Serialize)]
struct ClaimWire<'a> {
    dimension: Dimension,
    #[serde(flatten)]
    claim: &'a Claim,
}

impl<'a> AdapterWire<'a> {
    fn of(manifest: &'a Manifest) -> Self {
        Self {
            id: &manifest.id,
            name: &manifest.name,
            programs: &manifest.programs,
            verified: manifest.verified.as_ref(),
            claims: manifest
                .claims
                .iter()
                .map(|(dimension, claim)| ClaimWire {
                    dimension: *dimension,
                    claim,
                })
                .collect(),
            attested: attested_of(&manifest.id),
        }
    }
}

/// The newest rehearsal of an adapter's client; none where there was none, or it cannot be read.
fn attested_of(id: &HarnessId) -> Option<Attested> {
    let all = attested::read(&place::layout().ok()?).unwrap_or_else(|error| {
        tracing::warn!(%error, "what was attested cannot be read");
        std::collections::BTreeMap::new()
    });
    all.into_iter()
        .find(|(adapter, _)| adapter == id.as_str())
        .map(|(_, attested)| attested)
}

#[derive(Serialize)]
struct ListWire<'a> {
    schema: u32,
    adapters: Vec<AdapterWire<'a>>,
}

fn list(is_json: bool) -> anyhow::Result<Exit> {
    let manifests: Vec<Manifest> = registry::all().collect();
    if is_json {
        return say_json(&ListWire {
            schema: SCHEMA,
            adapters: manifests.iter().map(AdapterWire::of).collect(),
        });
    }
    let mut rows = vec![
        [
            "adapter",
            "verified",
            "telemetry",
            "pre",
            "post",
            "briefing",
            "trigger",
            "focus",
            "resume",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for manifest in &manifests {
        let word = |dimension| support(manifest.support(dimension)).to_owned();
        let verified = manifest.verified.as_ref();
        rows.push(vec![
            manifest.id.to_string(),
            verified.map_or_else(|| "-".to_owned(), |verified| verified.version.clone()),
            word(Dimension::Telemetry),
            word(Dimension::PreSignal),
            word(Dimension::PostSignal),
            word(Dimension::Injection),
            word(Dimension::TriggerOwned),
            word(Dimension::Focus),
            word(Dimension::Resume),
        ]);
    }
    let note = "\ntrigger: in sessions that `harn run` hosts; elsewhere only the keyboard compacts";
    say(&format!("{}{note}", columns(&rows)))
}

/// Columns left for what was seen, on a terminal of 80.
const SEEN_CELLS: usize = 48;

/// Short enough for a column.
fn support(support: Support) -> &'static str {
    match support {
        Support::Supported => "yes",
        Support::Partial => "partly",
        Support::Unsupported => "no",
        Support::Unknown => "?",
    }
}

fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(cell);
            let gap = width + 2 - cell.chars().count().min(*width);
            text.extend(std::iter::repeat_n(' ', gap));
        }
        text.truncate(text.trim_end().len());
        text
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[derive(Serialize)]
struct ShowWire<'a> {
    schema: u32,
    #[serde(flatten)]
    adapter: AdapterWire<'a>,
}

fn show(manifest: &Manifest, is_json: bool) -> anyhow::Result<Exit> {
    if is_json {
        return say_json(&ShowWire {
            schema: SCHEMA,
            adapter: AdapterWire::of(manifest),
        });
    }
    let mut text = format!("{} ({})\n", manifest.name, manifest.id);
    match &manifest.verified {
        Some(verified) => text.push_str(&format_verified(verified)),
        None => text.push_str("verified on no version\n"),
    }
    let attested = attested_of(&manifest.id);
    for (dimension, claim) in &manifest.claims {
        let basis = serde_json::to_value(claim.basis)?;
        let basis = basis.as_str().unwrap_or_default();
        let word = serde_json::to_value(claim.support)?;
        let word = word.as_str().unwrap_or_default();
        text.extend(["\n", dimension.word(), ": ", word, ", ", basis, "\n"]);
        for line in wrapped(&claim.note, 76) {
            text.extend(["    ", &line, "\n"]);
        }
        for evidence in &claim.evidence {
            text.extend(["    - ", evidence, "\n"]);
        }
        let lines = attested.iter().flat_map(|it| &it.dimensions);
        let line = lines
            .filter(|line| line.verdict != Verdict::Skipped)
            .find(|line| line.dimension == *dimension);
        if let Some((attested, line)) = attested.as_ref().zip(line) {
            let told = format!("attested {}: {}", format_attested(attested), word_of(line));
            text.extend(["    ", &told, "\n"]);
        }
    }
    say(text.trim_end())
}

fn format_verified(verified: &Verified) -> String {
    format!("verified on {}, {}\n", verified.version, verified.date)
}

/// Where and when: `on 2.1.197 2026-12-07`.
fn format_attested(attested: &Attested) -> String {
    let version = attested.version.as_deref().unwrap_or("an unknown version");
    let date: String = attested.at.to_string().chars().take(10).collect();
    format!("on {version} {date}")
}

fn word_of(line: &Line) -> String {
    let verdict = serde_json::to_value(line.verdict).unwrap_or_default();
    verdict.as_str().unwrap_or_default().to_owned()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        let is_full = last > 0 && last + 1 + word.chars().count() > width;
        if is_full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[derive(Serialize)]
struct BenchWire<'a> {
    schema: u32,
    adapters: &'a [BenchedWire],
    ok: bool,
}

#[derive(Serialize)]
struct BenchedWire {
    id: HarnessId,
    recordings: usize,
    installed: Vec<InstalledWire>,
    dimensions: Vec<Line>,
    /// Only where clients are driven.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<Live>,
}

#[derive(Serialize)]
struct InstalledWire {
    program: String,
    path: String,
    version: Option<String>,
    /// Whether it is the version that the claims were verified on.
    is_verified: bool,
}

fn bench(args: &BenchArgs) -> anyhow::Result<Exit> {
    let manifests: Vec<Manifest> = match &args.id {
        Some(id) => match find(id) {
            Ok(manifest) => vec![manifest],
            Err(exit) => return Ok(exit),
        },
        None => registry::all().collect(),
    };
    let mut benched: Vec<BenchedWire> = manifests.iter().map(benched).collect();
    if args.live
        && let Some(exit) = rehearse(&manifests, args.id.is_some(), &mut benched)?
    {
        return Ok(exit);
    }
    let drifts = benched.iter().any(|adapter| {
        let mut lines = adapter.dimensions.iter();
        lines.any(|line| line.verdict == Verdict::Drift)
            || adapter.live.as_ref().is_some_and(Live::is_bad)
    });
    let missing: Vec<&HarnessId> = manifests
        .iter()
        .zip(&benched)
        .filter(|(manifest, adapter)| is_client(manifest) && adapter.installed.is_empty())
        .map(|(manifest, _)| &manifest.id)
        .collect();
    let ok = !drifts && (missing.is_empty() || !args.require_installed);
    if args.json {
        say_json(&BenchWire {
            schema: SCHEMA,
            adapters: &benched,
            ok,
        })?;
    } else {
        say(&benched.iter().map(text).collect::<Vec<_>>().join("\n\n"))?;
    }
    if args.require_installed {
        for id in missing {
            complain(
                &format!("no client of {id} is installed"),
                Some("put it on PATH"),
            );
        }
    }
    Ok(if ok { Exit::Ok } else { Exit::Failed })
}

/// Drives the clients; an exit where somebody ended it.
fn rehearse(
    manifests: &[Manifest],
    is_asked_for: bool,
    benched: &mut [BenchedWire],
) -> anyhow::Result<Option<Exit>> {
    let layout = place::layout()?;
    let mut stage = Stage::open(&layout)?;
    for (manifest, adapter) in manifests.iter().zip(benched) {
        if is_asked_for || is_client(manifest) {
            match stage.rehearse(manifest) {
                Ok(live) => adapter.live = Some(live),
                Err(signal) => {
                    let number = u8::try_from(signal as i32).unwrap_or(0);
                    return Ok(Some(Exit::Program(128 + number)));
                }
            }
        }
    }
    Ok(None)
}

/// A program of somebody else's, which may be there or not.
fn is_client(manifest: &Manifest) -> bool {
    manifest.launch.builtin.is_none() && !manifest.programs.is_empty()
}

fn benched(manifest: &Manifest) -> BenchedWire {
    let recordings = Recordings::of(manifest);
    BenchedWire {
        id: manifest.id.clone(),
        recordings: recordings.count(),
        installed: installed(manifest),
        dimensions: conformance::replay(manifest, &recordings),
        live: None,
    }
}

/// Clients on PATH, asked for their version and nothing else.
fn installed(manifest: &Manifest) -> Vec<InstalledWire> {
    let Ok(layout) = place::layout() else {
        return Vec::new();
    };
    let verified = manifest.verified.as_ref();
    let verified = verified.and_then(|verified| verified.version.parse::<Version>().ok());
    let programs = manifest.programs.iter().filter(|_| is_client(manifest));
    let found = programs.filter_map(|program| Some((program, which::which(program).ok()?)));
    found
        .map(|(program, path)| {
            let version = version::of(&layout, &path);
            InstalledWire {
                program: program.clone(),
                path: path.display().to_string(),
                is_verified: version.is_some() && version == verified,
                version: version.map(|version| version.to_string()),
            }
        })
        .collect()
}

fn text(adapter: &BenchedWire) -> String {
    let mut text = format!("{} ({} recordings)", adapter.id, adapter.recordings);
    for client in &adapter.installed {
        let version = client.version.as_deref().unwrap_or("version unknown");
        let mark = if client.is_verified {
            "as verified"
        } else {
            "not the version verified: what is claimed is declared for it"
        };
        text.push_str(&[" · ", &client.program, " ", version, ", ", mark].concat());
    }
    rows(&adapter.dimensions, &mut text);
    match &adapter.live {
        Some(Live::Ran(attested)) => {
            let heading = format!("\n  driven {}:", format_attested(attested));
            text.push_str(&heading);
            rows(&attested.dimensions, &mut text);
        }
        Some(Live::Skipped { reason, hint }) => {
            text.push_str(&["\n  not driven: ", reason, "; hint: ", hint].concat());
        }
        Some(Live::Failed { reason }) => {
            text.push_str(&["\n  driven, and it failed: ", reason].concat());
        }
        None => {}
    }
    text
}

fn rows(lines: &[Line], text: &mut String) {
    for line in lines {
        let mut seen = wrapped(&line.seen, SEEN_CELLS).into_iter();
        let first = seen.next().unwrap_or_default();
        text.push_str(&format_row(line.dimension.word(), &word_of(line), &first));
        for more in seen {
            text.push_str(&format_row("", "", &more));
        }
    }
}

fn format_row(dimension: &str, verdict: &str, seen: &str) -> String {
    format!("\n  {dimension:<16} {verdict:<12} {seen}")
}
