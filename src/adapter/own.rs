//! harn's own command lines, as they stand in a harness's settings.
//!
//! Pure. There are no marks in a user's files: an entry is harn's by what it runs.

/// A status line of harn's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The user's own command, which the bridge stands in front of.
    pub then: Option<String>,
}

/// The native event, if this is a hook of harn's for this adapter.
pub fn hook_event(command: &str, adapter: &str) -> Option<String> {
    match words(command)?.as_slice() {
        [verb, its, event] if verb == "hook" && its == adapter => Some(event.clone()),
        _ => None,
    }
}

/// The bridge, if this is harn's status line for this adapter.
pub fn bridge(command: &str, adapter: &str) -> Option<Bridge> {
    let words = words(command)?;
    let (verb, rest) = words.split_first()?;
    let (its, rest) = rest.split_first()?;
    if verb != "statusline" || its != adapter {
        return None;
    }
    match rest {
        [] => Some(Bridge { then: None }),
        [flag, then] if flag == THEN => Some(Bridge {
            then: Some(then.clone()),
        }),
        _ => None,
    }
}

const THEN: &str = "--then";

/// The command line of a hook; `harn` is harn's path, quoted for `sh`.
pub fn hook_line(harn: &str, adapter: &str, event: &str) -> String {
    format!("{harn} hook {adapter} {event}")
}

/// The command line of the status-line bridge.
pub fn bridge_line(harn: &str, adapter: &str, then: Option<&str>) -> String {
    let line = format!("{harn} statusline {adapter}");
    match then.and_then(|then| shlex::try_quote(then).ok()) {
        Some(then) => format!("{line} {THEN} {then}"),
        None => line,
    }
}

/// The program that a command line of harn's starts.
pub fn program(command: &str) -> Option<String> {
    shlex::split(command)?.into_iter().next()
}

/// The words behind harn's own name; none where another program is run.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = shlex::split(command)?;
    let program = words.first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if name != "harn" && !name.starts_with("harn-") {
        return None;
    }
    words.remove(0);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_known_by_what_they_run_whatever_the_path() {
        let event = |command| hook_event(command, "demo");
        for command in [
            "harn hook demo Stop",
            "'/opt/a b/harn' hook demo Stop",
            "/usr/bin/harn-0.2 hook demo 'Stop'",
        ] {
            assert_eq!(event(command).as_deref(), Some("Stop"), "{command}");
        }
        for command in [
            "harn hook other Stop",
            "harness hook demo Stop",
            "echo harn hook demo Stop",
            "harn hook demo Stop; true",
            "harn hook demo",
            "harn 'hook demo Stop",
            "",
        ] {
            assert_eq!(event(command), None, "{command}");
        }
    }

    #[test]
    fn a_bridge_carries_the_command_it_stands_in_front_of() {
        for then in ["~/line.sh --x", "printf '%s' \"$HOME\" | tr a b", "é\t\\"] {
            let line = bridge_line("'/a b/harn'", "demo", Some(then));
            let expected = Bridge {
                then: Some(then.to_owned()),
            };
            assert_eq!(bridge(&line, "demo"), Some(expected), "{line}");
        }
        let line = bridge_line("harn", "demo", None);
        assert_eq!(bridge(&line, "demo"), Some(Bridge { then: None }));
        assert_eq!(bridge("harn statusline demo --what x", "demo"), None);
        assert_eq!(bridge("ccline", "demo"), None);
    }
}
