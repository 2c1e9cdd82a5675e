//! Times whole processes against each other. The contestants take turns, so that whatever else the
//! machine does hits all of them.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

/// One way of doing the measured thing.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) command: Command,
    /// A file that is its standard input.
    pub(crate) input: Option<PathBuf>,
    /// What has to be done before each start; not timed.
    pub(crate) prepare: Option<Prepare>,
}

pub(crate) type Prepare = Box<dyn FnMut() -> Result<()>>;

/// The times of each contestant, in their order, sorted, after one round that does not count.
pub(crate) fn samples(contestants: &mut [Contestant], rounds: usize) -> Result<Vec<Vec<Duration>>> {
    let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
    for round in 0..=rounds {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let time = once(contestant)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    for times in &mut times {
        times.sort_unstable();
    }
    Ok(times)
}

/// Of sorted times, the one that so many percent do not exceed.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let last = times.len().saturating_sub(1);
    let at = (last * percent).div_ceil(100);
    times.get(at).copied().unwrap_or_default()
}

fn once(contestant: &mut Contestant) -> Result<Duration> {
    if let Some(prepare) = &mut contestant.prepare {
        prepare()?;
    }
    let input = match &contestant.input {
        Some(path) => Stdio::from(File::open(path).context("opening the input")?),
        None => Stdio::null(),
    };
    let command = contestant.command.stdin(input).stdout(Stdio::null());
    let start = now();
    let status = command
        .status()
        .with_context(|| format!("starting {}", contestant.name))?;
    let time = now().duration_since(start);
    ensure!(status.success(), "{} failed: {status}", contestant.name);
    Ok(time)
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(
    clippy::disallowed_methods,
    reason = "measuring time is what this program is for"
)]
fn now() -> Instant {
    Instant::now()
}
