//! What the context meter costs: the first sample of a huge transcript (bounds: 50 ms, 16 MiB), beside `jq` on the same file;
//! following 10,000 appended lines a second (bound: 20 % of a core); the status-line bridge over the user's own command
//! (bound: 5 ms). `cargo bench --bench telemetry`; `TELEMETRY_BYTES` sets another size than 1 GB. With npm's ccusage on the
//! PATH that is timed on the same file as well.
//!
//! This program starts itself for the measured processes.

mod support;

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use harn::adapter::gauge::{Subject, gauge};
use harn::event::{HarnessId, SessionId};
use harn::follow::{Follower, Limits, Order};
use harn::telemetry::Fact;
use harn::watch::Watch;
use support::timing::{Contestant, millis, percentile, samples};

const ROUNDS: usize = 21;
const SAMPLE_BOUND_MS: f64 = 50.0;
const MEMORY_BOUND_KB: u64 = 16 * 1024;
const LINES_A_SECOND: usize = 10_000;
const SECONDS: usize = 5;
const CORE_BOUND: f64 = 0.2;
const BRIDGE_BOUND_MS: f64 = 5.0;
/// Lines of a batch; a batch every ten milliseconds.
const BATCH: usize = LINES_A_SECOND / 100;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--first", path] => first(Path::new(path)),
        ["--follow", path, count] => follow(Path::new(path), count.parse()?),
        _ => table(),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn table() -> Result<ExitCode> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("s.jsonl");
    let size = std::env::var("TELEMETRY_BYTES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_u64 << 30);
    write_transcript(&path, size)?;
    let myself = std::env::current_exe()?;

    let mut contestants = vec![command("harn", &myself, &["--first"], &path)];
    let has_jq = which::which("jq").is_ok();
    if has_jq {
        let tail = format!(
            "tail -n 200 '{}' | jq -c 'select(.type==\"assistant\").message.usage' | tail -n 1",
            path.display()
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &tail]);
        contestants.push(Contestant {
            name: "tail | jq",
            command: shell,
            input: None,
            prepare: None,
        });
    }
    let times = samples(&mut contestants, ROUNDS)?;
    let times: Vec<_> = times.iter().map(|it| percentile(it, 50)).collect();
    let names = contestants.iter().map(|it| it.name);
    println!("first sample of {} MB", size >> 20);
    for (name, time) in names.zip(&times) {
        println!("  {name:<14} {:>10.1} ms", millis(*time));
    }
    if has_jq {
        let filter = "select(.type==\"assistant\").message.usage.input_tokens";
        let start = now();
        let status = Command::new("jq")
            .args(["-c", filter])
            .arg(&path)
            .stdout(Stdio::null())
            .status()?;
        println!(
            "  {:<14} {:>10.1} ms (whole file, once: {status})",
            "jq",
            millis(now().duration_since(start))
        );
    }
    if let Some(time) = ccusage(place.path(), &path)? {
        println!(
            "  {:<14} {:>10.1} ms (whole file, once)",
            "ccusage",
            millis(time)
        );
    }
    let output = Command::new(&myself).arg("--first").arg(&path).output()?;
    let memory = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse::<u64>()
        .unwrap_or(0);
    println!("  memory         {memory:>10} KiB");
    let first_ms = times.first().map_or(f64::MAX, |time| millis(*time));

    let share = followed(&myself, &place.path().join("growing.jsonl"))?;
    println!(
        "following {LINES_A_SECOND} lines/s: {:.1} % of a core",
        share * 100.0
    );

    let over = bridge(place.path())?;
    println!("status-line bridge: {over:.1} ms over the user's own command");

    let is_met = first_ms <= SAMPLE_BOUND_MS
        && memory <= MEMORY_BOUND_KB
        && share < CORE_BOUND
        && over <= BRIDGE_BOUND_MS;
    println!("bounds {}", if is_met { "met" } else { "MISSED" });
    Ok(if is_met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Once over the same file as a client's only transcript; none where npm's ccusage is not on the PATH.
fn ccusage(place: &Path, transcript: &Path) -> Result<Option<Duration>> {
    let Ok(program) = which::which("ccusage") else {
        return Ok(None);
    };
    let home = place.join("ccusage");
    let project = home.join("projects/-p");
    std::fs::create_dir_all(&project)?;
    std::fs::hard_link(transcript, project.join("s.jsonl"))?;
    let start = now();
    let output = Command::new(program)
        .args(["session", "--offline", "--json"])
        .env("CLAUDE_CONFIG_DIR", &home)
        .output()?;
    if !output.status.success() {
        bail!("ccusage: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(Some(now().duration_since(start)))
}

fn command(name: &'static str, program: &Path, args: &[&str], path: &Path) -> Contestant {
    let mut command = Command::new(program);
    command.args(args).arg(path);
    Contestant {
        name,
        command,
        input: None,
        prepare: None,
    }
}

/// The measured process: one sample, then the most memory it ever had.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn first(path: &Path) -> Result<ExitCode> {
    let mut seen = 0;
    read(&mut Follower::new(path, Limits::PATIENT, None), &mut seen)?;
    if seen == 0 {
        bail!("no sample in {}", path.display());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|text| text.split_whitespace().next())
        .unwrap_or("0");
    println!("{peak}");
    Ok(ExitCode::SUCCESS)
}

/// The measured process: reads until it has seen so many samples, then tells its time on the processor.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn follow(path: &Path, count: u64) -> Result<ExitCode> {
    let watch = Watch::new(path.parent().context("a file has a directory")?);
    let mut follower = Follower::new(path, Limits::PATIENT, None);
    let mut seen = 0;
    // The first look takes the newest line alone: it must be over before anything is appended.
    read(&mut follower, &mut seen)?;
    println!("ready");
    while seen < count {
        read(&mut follower, &mut seen)?;
        watch.wait(Duration::from_millis(100));
    }
    // Both threads of this process.
    let mut nanoseconds = 0_u64;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += text
            .split_whitespace()
            .next()
            .and_then(|word| word.parse::<u64>().ok())
            .unwrap_or(0);
    }
    println!("{nanoseconds}");
    Ok(ExitCode::SUCCESS)
}

fn read(follower: &mut Follower, seen: &mut u64) -> Result<()> {
    let gauge = gauge(&HarnessId::new("claude-code")).context("no gauge")?;
    let session = SessionId::new("s");
    let subject = Subject {
        session: &session,
        model: None,
    };
    follower.poll(&mut |line, order| {
        let is_reading = matches!((gauge.line)(line, subject).fact, Some(Fact::Reading(_)));
        *seen += u64::from(is_reading);
        if is_reading && order == Order::NewestFirst {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(())
}

/// Appends for some seconds while a child follows; the share of a core that the child took.
fn followed(myself: &Path, path: &Path) -> Result<f64> {
    let total = LINES_A_SECOND * SECONDS;
    File::create(path)?;
    let mut child = Command::new(myself)
        .arg("--follow")
        .arg(path)
        .arg(total.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut told = BufReader::new(child.stdout.take().context("a pipe")?).lines();
    told.next().context("the follower is ready")??;
    let mut file = OpenOptions::new().append(true).open(path)?;
    let start = now();
    for batch in 0..total / BATCH {
        let lines: String = (0..BATCH).map(|line| reply(batch * BATCH + line)).collect();
        file.write_all(lines.as_bytes())?;
        let due = Duration::from_millis(10) * u32::try_from(batch + 1)?;
        std::thread::sleep(due.saturating_sub(now().duration_since(start)));
    }
    let nanoseconds: u64 = told.next().context("the follower's time")??.parse()?;
    let time = now().duration_since(start);
    child.wait()?;
    Ok(Duration::from_nanos(nanoseconds).as_secs_f64() / time.as_secs_f64())
}

/// The bridge before `cat`, beside `cat` alone.
fn bridge(place: &Path) -> Result<f64> {
    let home = place.join("home");
    let own = home.join(".claude");
    std::fs::create_dir_all(&own)?;
    let settings = r#"{"statusLine":{"type":"command","command":"cat"}}"#;
    File::create(own.join("settings.json"))?.write_all(settings.as_bytes())?;
    let project = place.join("project");
    std::fs::create_dir_all(&project)?;
    let payload = place.join("payload.json");
    let text = format!(
        r#"{{"session_id":"s","workspace":{{"project_dir":"{}"}},"context_window":{{"context_window_size":200000,"current_usage":{{"input_tokens":84000}},"used_percentage":42}}}}"#,
        project.display()
    );
    File::create(&payload)?.write_all(text.as_bytes())?;
    let harn = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harn"));
        command
            .args(args)
            .env_clear()
            .env("HOME", &home)
            .env("PATH", "/usr/bin:/bin")
            .current_dir(&project);
        command
    };
    // The session is known from its first hook on.
    let start = format!(
        r#"{{"session_id":"s","cwd":"{}","hook_event_name":"SessionStart","source":"startup"}}"#,
        project.display()
    );
    let mut hook = harn(&["hook", "claude-code", "SessionStart"])
        .stdin(Stdio::piped())
        .spawn()?;
    hook.stdin
        .take()
        .context("a pipe")?
        .write_all(start.as_bytes())?;
    hook.wait()?;
    let mut cat = Command::new("/bin/sh");
    cat.args(["-c", "cat"]);
    let mut contestants =
        [("cat", cat), ("harn", harn(&["statusline", "claude-code"]))].map(|(name, command)| {
            Contestant {
                name,
                command,
                input: Some(payload.clone()),
                prepare: None,
            }
        });
    let times = samples(&mut contestants, ROUNDS * 3)?;
    let times: Vec<_> = times.iter().map(|it| percentile(it, 50)).collect();
    let [alone, bridged] = times.as_slice() else {
        bail!("two were measured");
    };
    Ok(millis(*bridged) - millis(*alone))
}

/// A session in which each reply follows a few kilobytes of tool output.
fn write_transcript(path: &PathBuf, size: u64) -> Result<()> {
    let output = "x".repeat(6_000);
    let user = format!(
        "{{\"parentUuid\":null,\"isSidechain\":false,\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"{output}\"}}}}\n"
    );
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut written = 0_u64;
    let mut number = 0;
    while written < size {
        let reply = reply(number);
        number += 1;
        file.write_all(reply.as_bytes())?;
        file.write_all(user.as_bytes())?;
        written += (reply.len() + user.len()) as u64;
    }
    // Lines after the last reply, so that the tail has to be walked.
    for _ in 0..100 {
        file.write_all(user.as_bytes())?;
    }
    file.flush()?;
    Ok(())
}

fn reply(number: usize) -> String {
    format!(
        "{{\"parentUuid\":\"a\",\"isSidechain\":false,\"message\":{{\"id\":\"m{number}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{{\"type\":\"text\",\"text\":\"reply {number}\"}}],\"usage\":{{\"input_tokens\":{},\"cache_creation_input_tokens\":10,\"cache_read_input_tokens\":5,\"output_tokens\":20}}}},\"type\":\"assistant\",\"uuid\":\"u\",\"timestamp\":\"2026-11-30T18:48:38.381Z\",\"sessionId\":\"s\"}}\n",
        1_000 + number % 150_000
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "measuring time is what this program is for"
)]
fn now() -> Instant {
    Instant::now()
}
