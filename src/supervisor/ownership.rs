//! Whether a session belongs to a run.
//!
//! Pure. `HARN_RUN_ID` is inherited by everything below a run, an agent's own sub-processes included, so it is only a
//! hint: a session is the run's own if the nearest harness process above its hook is the run's session process.

use crate::process::{Process, Seen};

/// What the processes above a hook say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The run's own session process speaks.
    Owned,
    /// Nobody has spoken for the run yet: this process is its session process from now on.
    Claim(Process),
    /// Another harness process below the run.
    Nested,
    /// Not below the run at all: an inherited variable, nothing more.
    Unowned,
}

/// Decides from the chain of processes above the hook, nearest first.
///
/// `root` is the run's client as harn started it (or harn itself while the client is not known), `claimed` the live
/// session process that spoke before, `is_harness` whether a process goes by a harness's name.
pub fn decide(
    chain: &[Seen],
    root: Process,
    claimed: Option<Process>,
    is_harness: impl Fn(&Seen) -> bool,
) -> Verdict {
    let Some(depth) = chain.iter().position(|seen| seen.process == root) else {
        return Verdict::Unowned;
    };
    let below: &[Seen] = chain.get(..=depth).unwrap_or_default();
    let speaker = below
        .iter()
        .find(|seen| Some(seen.process) == claimed || is_harness(seen))
        .map_or(root, |seen| seen.process);
    match claimed {
        Some(claimed) if claimed == speaker => Verdict::Owned,
        Some(_) => Verdict::Nested,
        None => Verdict::Claim(speaker),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, name: &str) -> Seen {
        Seen {
            process: process(pid),
            parent: 0,
            names: vec![name.to_owned()],
        }
    }

    fn process(pid: u32) -> Process {
        Process { pid, started: 1 }
    }

    fn verdict(chain: &[Seen], claimed: Option<u32>) -> Verdict {
        let is_agent = |seen: &Seen| seen.names.iter().any(|name| name == "agent");
        decide(chain, process(10), claimed.map(process), is_agent)
    }

    #[test]
    fn the_first_harness_process_that_speaks_is_the_session_process() {
        let direct = [seen(30, "sh"), seen(10, "agent"), seen(5, "harn")];
        assert_eq!(verdict(&direct, None), Verdict::Claim(process(10)));
        assert_eq!(verdict(&direct, Some(10)), Verdict::Owned);
        let wrapped = [
            seen(30, "sh"),
            seen(20, "agent"),
            seen(10, "node"),
            seen(5, "harn"),
        ];
        assert_eq!(verdict(&wrapped, None), Verdict::Claim(process(20)));
        assert_eq!(verdict(&wrapped, Some(20)), Verdict::Owned);
    }

    #[test]
    fn an_agent_below_the_agent_is_nested() {
        let inner = [
            seen(50, "sh"),
            seen(40, "agent"),
            seen(30, "bash"),
            seen(20, "agent"),
            seen(10, "node"),
        ];
        assert_eq!(verdict(&inner, Some(20)), Verdict::Nested);
    }

    #[test]
    fn a_program_of_unknown_name_is_its_own_session_process() {
        let generic = [seen(30, "sh"), seen(10, "thing"), seen(5, "harn")];
        assert_eq!(verdict(&generic, None), Verdict::Claim(process(10)));
    }

    #[test]
    fn an_inherited_variable_far_from_the_run_means_nothing() {
        assert_eq!(
            verdict(&[seen(30, "sh"), seen(31, "agent")], None),
            Verdict::Unowned
        );
        assert_eq!(verdict(&[], Some(10)), Verdict::Unowned);
    }
}
