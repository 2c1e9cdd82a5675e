//! The byte path beside other hosts on this machine, in one run: `cargo bench --bench host`. A flood of agent-like output and
//! of plain text, the echo of a key, and the time to a program's first byte; the hosts take turns. `script` is the measure;
//! `tmux` is shown where there is one, and a terminal without any host for comparison. What is not here is said and left
//! out. `HARN_BENCH_BYTES` sets the length of a flood (20 MB).

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use portable_pty::{MasterPty, PtySize, native_pty_system};

const PAYLOAD: &str = "--payload";
const READY: &[u8] = b"READY!";
const END: &[u8] = b"THE-END!";
const CHUNK_BYTES: usize = 128 * 1024;
const FLOODS: usize = 5;
const KEYS: usize = 1000;
const STARTS: usize = 21;
/// Nothing sound takes this long.
const LIMIT: Duration = Duration::from_mins(1);

/// Shares of script's throughput, and times.
const OFF_SHARE: f64 = 0.95;
const ROW_SHARE: f64 = 0.90;
const START_MS: f64 = 6.0;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == PAYLOAD) {
        let words: Vec<&str> = args.iter().skip(at + 1).map(String::as_str).collect();
        payload(&words)?;
        return Ok(ExitCode::SUCCESS);
    }
    measure()
}

/// One way of running a program in a terminal.
struct Host {
    name: &'static str,
    /// Before the program's own words; one that is a `{}` takes them all, quoted for a shell.
    words: Vec<String>,
    share: Option<f64>,
}

fn hosts(scratch: &Path) -> Vec<Host> {
    let harn = env!("CARGO_BIN_EXE_harn");
    let host = |name, line: &[&str], share| Host {
        name,
        words: line.iter().map(|word| (*word).to_owned()).collect(),
        share,
    };
    let mut hosts = vec![
        host("none", &[], None),
        host("script", &["script", "-qefc", "{}", "/dev/null"], None),
        host(
            "harn",
            &[harn, "run", "--overlay", "off", "--"],
            Some(OFF_SHARE),
        ),
        host(
            "harn, row",
            &[harn, "run", "--overlay", "row", "--"],
            Some(ROW_SHARE),
        ),
        // An adapter's run has the screen model as well.
        host(
            "harn, row, screen",
            &[
                harn,
                "run",
                "--adapter",
                "claude-code",
                "--no-hooks",
                "--overlay",
                "row",
                "--",
            ],
            Some(ROW_SHARE),
        ),
    ];
    let socket = scratch.join("tmux").display().to_string();
    let tmux = [
        "tmux",
        "-S",
        &socket,
        "-f",
        "/dev/null",
        "new-session",
        "{}",
    ];
    hosts.push(host("tmux", &tmux, None));
    hosts
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn measure() -> Result<ExitCode> {
    let scratch = tempfile::tempdir().context("making a scratch directory")?;
    let mut hosts = hosts(scratch.path());
    hosts.retain(|host| {
        let is_here = host
            .words
            .first()
            .is_none_or(|program| which::which(program).is_ok());
        if !is_here {
            println!("{} is not here; left out", host.name);
        }
        is_here
    });
    let length = std::env::var("HARN_BENCH_BYTES").map_or(Ok(20_000_000), |text| text.parse())?;
    let mut missed = Vec::new();
    for (name, flood) in [("agent", agent(length)?), ("plain", plain(length))] {
        let path = scratch.path().join(name);
        File::create(&path)?.write_all(&flood)?;
        let rates = in_turns(&hosts, FLOODS, |host| {
            throughput(host, &path, scratch.path())
        })?;
        let base = hosts.iter().position(|host| host.name == "script");
        let base = base.and_then(|at| rates.get(at)).map(|rates| median(rates));
        for (host, rates) in hosts.iter().zip(&rates) {
            let rate = median(rates);
            let share = base.map_or(f64::NAN, |base| rate / base);
            println!(
                "{name:<6} {:<18} {rate:>8.1} MB/s {share:>6.2} x script",
                host.name
            );
            if host.share.is_some_and(|least| share < least) {
                missed.push(format!("{name} {}: {share:.2} x script", host.name));
            }
        }
    }
    let echoes = in_turns(&hosts, 1, |host| echo(host, scratch.path()))?;
    for (host, rounds) in hosts.iter().zip(&echoes) {
        let times = rounds.first().map_or(&[][..], Vec::as_slice);
        let [half, most] = [50, 99].map(|percent| micros(times, percent));
        println!("echo   {:<18} {half:>8.0} us, p99 {most:.0} us", host.name);
    }
    let starts = in_turns(&hosts, STARTS, |host| first_byte(host, scratch.path()))?;
    for (host, times) in hosts.iter().zip(&starts) {
        let time = median(times);
        println!("start  {:<18} {time:>8.2} ms", host.name);
        if host.share.is_some() && time > START_MS {
            missed.push(format!("start {}: {time:.2} ms", host.name));
        }
    }
    for miss in &missed {
        println!("missed: {miss}");
    }
    Ok(if missed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The results of each host, after one round that does not count.
fn in_turns<T>(
    hosts: &[Host],
    rounds: usize,
    mut work: impl FnMut(&Host) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut results: Vec<Vec<T>> = hosts.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for (host, results) in hosts.iter().zip(&mut results) {
            let result = work(host).with_context(|| host.name)?;
            if round > 0 {
                results.push(result);
            }
        }
    }
    Ok(results)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Of sorted times, the one that so many percent do not exceed, in microseconds.
fn micros(times: &[Duration], percent: usize) -> f64 {
    let at = (times.len().saturating_sub(1) * percent).div_ceil(100);
    times
        .get(at)
        .map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
}

fn throughput(host: &Host, flood: &Path, scratch: &Path) -> Result<f64> {
    let mut terminal = Terminal::open(host, &["flood", &flood.display().to_string()], scratch)?;
    terminal.wait_for(READY)?;
    let start = now();
    terminal.input.write_all(b"g")?;
    terminal.wait_for(END)?;
    let seconds = now().duration_since(start).as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a length in megabytes")]
    let megabytes = flood.metadata()?.len() as f64 / 1e6;
    Ok(megabytes / seconds)
}

fn echo(host: &Host, scratch: &Path) -> Result<Vec<Duration>> {
    let mut terminal = Terminal::open(host, &["echo"], scratch)?;
    terminal.wait_for(READY)?;
    terminal.rest();
    let mut times = Vec::with_capacity(KEYS);
    for _ in 0..KEYS {
        let start = now();
        terminal.input.write_all(b"k")?;
        terminal.wait_for(b"k")?;
        times.push(now().duration_since(start));
        std::thread::sleep(Duration::from_millis(1));
    }
    times.sort_unstable();
    Ok(times)
}

fn first_byte(host: &Host, scratch: &Path) -> Result<f64> {
    let start = now();
    let mut terminal = Terminal::open(host, &["start"], scratch)?;
    terminal.wait_for(READY)?;
    Ok(now().duration_since(start).as_secs_f64() * 1000.0)
}

/// The user's end. Dropped, it hangs up.
struct Terminal {
    child: Child,
    input: File,
    seen: Vec<u8>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    fn open(host: &Host, words: &[&str], scratch: &Path) -> Result<Self> {
        let size = PtySize {
            rows: 40,
            cols: 120,
            pixel_width: 1200,
            pixel_height: 800,
        };
        let pair = native_pty_system().openpty(size)?;
        let name = pair.master.tty_name().context("a name")?;
        let slave = File::options().read(true).write(true).open(name)?;
        drop(pair.slave);
        let own = std::env::current_exe()?.display().to_string();
        let program: Vec<String> = [own.as_str(), PAYLOAD]
            .iter()
            .chain(words)
            .map(|word| (*word).to_owned())
            .collect();
        let quoted = program
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
            .collect::<Vec<_>>()
            .join(" ");
        let mut line: Vec<String> = Vec::new();
        for word in &host.words {
            line.push(if word == "{}" {
                quoted.clone()
            } else {
                word.clone()
            });
        }
        if !host.words.iter().any(|word| word == "{}") {
            line.extend(program);
        }
        let (program, args) = line.split_first().context("a program")?;
        let mut command = Command::new(program);
        command
            .args(args)
            .env("TERM", "xterm-256color")
            .env("HARN_STATE_DIR", scratch.join("state"))
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(Stdio::from(slave));
        lead_session(&mut command);
        let child = command.spawn()?;
        Ok(Self {
            child,
            input: own_handle(pair.master.as_ref())?,
            seen: Vec::new(),
            _master: pair.master,
        })
    }

    /// Reads until these bytes have come; what came before them is forgotten.
    fn wait_for(&mut self, part: &[u8]) -> Result<()> {
        let end = now() + LIMIT;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            if let Some(at) = memchr::memmem::find(&self.seen, part) {
                self.seen.drain(..at + part.len());
                return Ok(());
            }
            let kept = self.seen.len().saturating_sub(part.len());
            self.seen.drain(..kept);
            let mut fds = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, PollTimeout::from(1000_u16))? == 0 {
                ensure!(
                    now() < end,
                    "{} did not come",
                    String::from_utf8_lossy(part)
                );
                continue;
            }
            let count = self.input.read(&mut buffer).unwrap_or(0);
            if count == 0 {
                bail!("the program ended");
            }
            self.seen
                .extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
    }

    /// Takes what a host prints by itself.
    fn rest(&mut self) {
        let mut buffer = [0; 4096];
        let mut fds = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
        while poll(&mut fds, PollTimeout::from(200_u16)).is_ok_and(|count| count > 0) {
            if (&self.input).read(&mut buffer).unwrap_or(0) == 0 {
                return;
            }
        }
        self.seen.clear();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The program waits for a key before it ends; a host that has gone already is no failure.
        self.input.write_all(b"\x04").unwrap_or_default();
        let end = now() + Duration::from_secs(2);
        let mut buffer = [0; 4096];
        while self.child.try_wait().is_ok_and(|status| status.is_none()) && now() < end {
            let mut fds = [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, PollTimeout::from(5_u16)).is_ok_and(|count| count > 0)
                && (&self.input).read(&mut buffer).is_err()
            {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// The hosted program: raw, and ready when it says so. Ends with a key, or with Ctrl-D where keys are echoed.
fn payload(words: &[&str]) -> Result<()> {
    let (stdin, mut stdout) = (
        std::io::stdin(),
        File::options().write(true).open("/dev/tty")?,
    );
    let mut modes = tcgetattr(&stdin)?;
    cfmakeraw(&mut modes);
    tcsetattr(&stdin, SetArg::TCSANOW, &modes)?;
    let mut keys = File::open("/dev/tty")?;
    let mut key = [0; 64];
    match words {
        ["flood", path] => {
            let flood = fs::read(PathBuf::from(path))?;
            stdout.write_all(READY)?;
            keys.read_exact(key.get_mut(..1).unwrap_or_default())?;
            for chunk in flood.chunks(CHUNK_BYTES) {
                stdout.write_all(chunk)?;
            }
            stdout.write_all(END)?;
            keys.read_exact(key.get_mut(..1).unwrap_or_default())?;
        }
        ["echo"] => {
            stdout.write_all(READY)?;
            loop {
                let count = keys.read(&mut key)?;
                let typed = key.get(..count).unwrap_or_default();
                if typed.is_empty() || typed.contains(&4) {
                    return Ok(());
                }
                stdout.write_all(typed)?;
            }
        }
        _ => {
            stdout.write_all(READY)?;
            keys.read_exact(key.get_mut(..1).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// Words, colours, box rules, and a status line that is painted over and over in synchronised updates.
fn agent(length: usize) -> Result<Vec<u8>> {
    let rule = "─".repeat(118);
    let mut seed = 7_u32;
    let mut text = Vec::with_capacity(length + 4096);
    while text.len() < length {
        for line in 0..8 {
            let next = random(&mut seed);
            let (red, green) = (next % 256, next / 256 % 256);
            write!(
                text,
                "  \x1b[2m {line}\x1b[22m \x1b[48;2;{red};{green};41m\x1b[38;5;231m- {next:x} "
            )?;
            text.extend_from_slice(b"let session = match buffer\x1b[0m\x1b[K\r\n");
        }
        text.extend_from_slice(b"\x1b[?2026h\x1b[?25l\x1b[3A\x1b[2K\x1b[38;2;215;119;87m");
        write!(
            text,
            "✢ Working…\x1b[39m \x1b[2m({}s)\x1b[22m\r\n",
            seed % 60
        )?;
        write!(text, "\x1b[2K\x1b[2m{rule}\x1b[22m\r\n\x1b[2K❯ \x1b[100G")?;
        text.extend_from_slice(b"\x1b[38;5;246mctx 62%\x1b[39m\r\n\x1b[?25h\x1b[?2026l");
    }
    Ok(text)
}

fn plain(length: usize) -> Vec<u8> {
    let mut seed = 9_u32;
    let mut text = Vec::with_capacity(length + 256);
    while text.len() < length {
        for _ in 0..=(random(&mut seed) % 5) {
            text.extend_from_slice(b"plain text of a log ");
        }
        text.extend_from_slice(b"\r\n");
    }
    text
}

fn random(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *seed >> 8
}

#[expect(
    unsafe_code,
    reason = "a session of its own takes calls between fork and exec"
)]
fn lead_session(command: &mut Command) {
    let lead = || {
        nix::unistd::setsid()?;
        // SAFETY: descriptor 0 is the terminal; the request takes an int.
        let done = unsafe { libc::ioctl(0, libc::c_ulong::from(libc::TIOCSCTTY) as _, 0) };
        nix::errno::Errno::result(done)
            .map(drop)
            .map_err(Into::into)
    };
    // SAFETY: only setsid and ioctl, both async-signal-safe.
    unsafe { command.pre_exec(lead) };
}

#[expect(unsafe_code, reason = "portable-pty only lends the raw descriptor")]
fn own_handle(master: &dyn MasterPty) -> Result<File> {
    let raw = master.as_raw_fd().context("a descriptor")?;
    // SAFETY: the master outlives this borrow.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(raw) };
    Ok(borrowed.try_clone_to_owned()?.into())
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn now() -> Instant {
    Instant::now()
}
