//! What looking at 200 sessions costs: `cargo bench --bench watch`. Bounds: the list within 50 ms at the median; the dashboard, left
//! alone, within 0.3 % of a processor; an event on the screen within 200 ms; no growth over 10^5 events.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use support::timing::{Contestant, millis, percentile, samples};

const SESSIONS: usize = 200;
const ROUNDS: usize = 51;
const LIST_MS: f64 = 50.0;
const IDLE_S: u64 = 20;
const IDLE_PERCENT: f64 = 0.3;
const EVENT_MS: f64 = 200.0;
const EVENTS: usize = 100_000;
const PORTIONS: usize = 10;
const GROWTH_KB: u64 = 4_096;

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn main() -> Result<ExitCode> {
    let place = tempfile::tempdir().context("making a scratch directory")?;
    for number in 0..SESSIONS {
        start_session(place.path(), number)?;
    }
    let mut list = [Contestant {
        name: "harn sessions",
        command: harn(place.path(), &["sessions"]),
        input: None,
        prepare: None,
    }];
    let times = samples(&mut list, ROUNDS)?;
    let list_ms = times
        .first()
        .map_or(0.0, |times| millis(percentile(times, 50)));
    println!("harn sessions, {SESSIONS} sessions: {list_ms:.1} ms");

    let dashboard = Dashboard::open(place.path())?;
    dashboard.wait_for("200 sessions", Duration::from_secs(10))?;
    let log = log_of(place.path())?;
    let mut times = Vec::new();
    for number in 0..20 {
        let name = format!("Seen{number}x");
        let start = now();
        append(&log, &name, 1_000 + number)?;
        dashboard.wait_for(&name, Duration::from_secs(5))?;
        times.push(now().duration_since(start));
    }
    times.sort_unstable();
    let event_ms = times.last().map_or(0.0, |time| millis(*time));
    println!("an event on the screen, slowest of 20: {event_ms:.1} ms");

    std::thread::sleep(Duration::from_secs(3));
    let (before, start) = (dashboard.cpu()?, now());
    std::thread::sleep(Duration::from_secs(IDLE_S));
    let busy = dashboard.cpu()?.saturating_sub(before);
    let idle = 100.0 * millis(busy) / millis(now().duration_since(start));
    println!("left alone for {IDLE_S} s: {idle:.2} % of a processor");

    let mut memory = Vec::new();
    for portion in 0..PORTIONS {
        let mut bytes = Vec::new();
        for number in 0..EVENTS / PORTIONS {
            bytes.extend(line("Many", 10_000 + portion * EVENTS + number));
        }
        write(&log, &bytes)?;
        let name = format!("Portion{portion}x");
        append(&log, &name, 10_000 + (portion + 1) * EVENTS - 1)?;
        dashboard.wait_for(&name, Duration::from_secs(30))?;
        memory.push(dashboard.memory_kb()?);
    }
    println!("memory over {EVENTS} events, {PORTIONS} looks: {memory:?} kB");
    let (first, rest) = memory.split_first().context("a look at the memory")?;
    let growth = rest
        .iter()
        .max()
        .map_or(0, |most| most.saturating_sub(*first));

    let is_within =
        list_ms <= LIST_MS && event_ms <= EVENT_MS && idle <= IDLE_PERCENT && growth <= GROWTH_KB;
    println!("bounds: {}", if is_within { "met" } else { "MISSED" });
    Ok(if is_within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn harn(place: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn"));
    command
        .args(args)
        .current_dir(place)
        .env("HOME", place)
        .env_remove("XDG_STATE_HOME")
        .env_remove("HARN_RUN_ID");
    command
}

/// A session in a project of its own, with a state and a few events.
fn start_session(place: &Path, number: usize) -> Result<()> {
    let project = place.join(format!("p{number}"));
    fs::create_dir_all(project.join(".git/objects"))?;
    fs::create_dir_all(project.join(".git/refs"))?;
    File::create(project.join(".git/HEAD"))?.write_all(b"ref: refs/heads/main\n")?;
    for event in ["SessionStart", "PostToolUse", "Stop"] {
        let payload = serde_json::json!({
            "session_id": format!("bench{number}"),
            "cwd": project,
            "hook_event_name": event,
            "source": "startup",
            "tool_name": "Edit",
        });
        let mut child = harn(place, &["hook", "claude-code", event])
            .current_dir(&project)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().context("a pipe")?;
        input.write_all(payload.to_string().as_bytes())?;
        drop(input);
        ensure!(child.wait()?.success(), "the hook failed");
    }
    Ok(())
}

/// The log of the session that the dashboard shows first: the one heard last.
fn log_of(place: &Path) -> Result<PathBuf> {
    let project = place.join(format!("p{}", SESSIONS - 1));
    let mut found = fs::read_dir(project.join(".harnery/context"))?;
    Ok(found
        .next()
        .context("a session")??
        .path()
        .join("events.ndjson"))
}

fn line(tool: &str, seq: usize) -> Vec<u8> {
    let event = serde_json::json!({
        "schema": 1, "id": seq.to_string(), "seq": seq, "at": "2035-01-01T00:00:00.000Z",
        "type": "tool.started", "session": format!("bench{}", SESSIONS - 1), "run": null,
        "adapter": "claude-code", "source": "hook", "data": {"tool": tool, "agent": null},
    });
    format!("{event}\n").into_bytes()
}

fn append(log: &Path, tool: &str, seq: usize) -> Result<()> {
    write(log, &line(tool, seq))
}

fn write(log: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OpenOptions::new().append(true).open(log)?;
    Ok(file.write_all(bytes)?)
}

/// The dashboard in a terminal of 80x24, its output passed on as it comes.
struct Dashboard {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
    output: Receiver<Vec<u8>>,
}

impl Dashboard {
    fn open(place: &Path) -> Result<Self> {
        let size = PtySize {
            rows: 24,
            cols: 80,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_harn"));
        command.arg("watch");
        command.cwd(place);
        command.env("HOME", place);
        command.env("TERM", "xterm-256color");
        command.env_remove("XDG_STATE_HOME");
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut block = [0; 8_192];
            while let Ok(count @ 1..) = reader.read(&mut block) {
                if send
                    .send(block.get(..count).unwrap_or_default().to_vec())
                    .is_err()
                {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            _master: pair.master,
            output,
        })
    }

    /// Only differing cells are drawn, so a name may come in pieces: a terminal model puts them together.
    fn wait_for(&self, text: &str, limit: Duration) -> Result<()> {
        thread_local!(static SCREEN: std::cell::RefCell<vt100::Parser> =
            std::cell::RefCell::new(vt100::Parser::default()));
        let end = now() + limit;
        SCREEN.with_borrow_mut(|screen| {
            while !screen.screen().contents().contains(text) {
                let left = end.saturating_duration_since(now());
                let bytes = self.output.recv_timeout(left).with_context(|| {
                    format!("{text} was not shown:\n{}", screen.screen().contents())
                })?;
                screen.process(&bytes);
            }
            Ok(())
        })
    }

    fn stat(&self, file: &str) -> Result<String> {
        let pid = self.child.process_id().context("a process")?;
        Ok(fs::read_to_string(format!("/proc/{pid}/{file}"))?)
    }

    /// Processor time so far; ticks are a hundredth of a second.
    fn cpu(&self) -> Result<Duration> {
        let stat = self.stat("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split(' ').collect();
        let ticks = |at: usize| fields.get(at).and_then(|it| it.parse::<u64>().ok());
        let sum = ticks(12).zip(ticks(13)).context("a stat line")?;
        Ok(Duration::from_millis((sum.0 + sum.1) * 10))
    }

    fn memory_kb(&self) -> Result<u64> {
        let status = self.stat("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|it| it.parse().ok())
            .context("a status line")
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn now() -> Instant {
    Instant::now()
}
