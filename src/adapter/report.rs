//! What a client says of its own state in its output: `OSC <number> ; state=working : app=... ST`.
//!
//! Pure. The bytes are looked at behind the byte path, in whatever pieces they come, and never held back or changed. A
//! sequence that is no report, is too long or breaks off is passed over.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::terminal::OscScanner;

/// Far longer than any report.
const LIMIT_BYTES: usize = 128;

/// What the client is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    Idle,
    Working,
    /// The turn ended well.
    Done,
    /// The turn failed.
    Failed,
    Blocked(Block),
    /// It goes away.
    Clear,
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Permission,
    Question,
    Other,
}

/// The newest report, for whoever does not read the stream.
#[derive(Debug, Default)]
pub struct LatestReport(AtomicU8);

impl LatestReport {
    const ALL: [AgentState; 8] = [
        AgentState::Idle,
        AgentState::Working,
        AgentState::Done,
        AgentState::Failed,
        AgentState::Blocked(Block::Permission),
        AgentState::Blocked(Block::Question),
        AgentState::Blocked(Block::Other),
        AgentState::Clear,
    ];

    pub fn set(&self, state: AgentState) {
        let number = (1..).zip(Self::ALL).find(|(_, it)| *it == state);
        self.0
            .store(number.map_or(0, |(number, _)| number), Ordering::Relaxed);
    }

    /// None before the first.
    pub fn get(&self) -> Option<AgentState> {
        let number = usize::from(self.0.load(Ordering::Relaxed));
        Self::ALL.get(number.checked_sub(1)?).copied()
    }
}

/// Finds the reports in a stream of bytes.
#[derive(Clone, Debug)]
pub struct ReportScanner {
    /// `<number>;`, as it stands behind `ESC ]`.
    head: Vec<u8>,
    commands: OscScanner,
}

impl ReportScanner {
    pub fn new(osc: u32) -> Self {
        Self {
            head: format!("{osc};").into_bytes(),
            // One that fills it was longer.
            commands: OscScanner::new(LIMIT_BYTES + 1),
        }
    }

    /// Looks at the next bytes and tells each report that ends in them.
    pub fn push(&mut self, bytes: &[u8], tell: &mut dyn FnMut(AgentState)) {
        let Self { head, commands } = self;
        commands.push(bytes, &mut |text| {
            let report = Some(text)
                .filter(|text| text.len() <= LIMIT_BYTES)
                .and_then(|text| text.strip_prefix(head.as_slice()))
                .and_then(|text| std::str::from_utf8(text).ok())
                .and_then(state);
            if let Some(state) = report {
                tell(state);
            }
        });
    }
}

/// `state=blocked:app=codex:kind=permission`; a word that is not known is no report.
fn state(text: &str) -> Option<AgentState> {
    let value = |key: &str| {
        let mut fields = text.split(':').filter_map(|field| field.split_once('='));
        fields
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    };
    Some(match value("state")? {
        "idle" => AgentState::Idle,
        "working" => AgentState::Working,
        "done" => AgentState::Done,
        "error" => AgentState::Failed,
        "blocked" => AgentState::Blocked(match value("kind") {
            Some("permission") => Block::Permission,
            Some("question") => Block::Question,
            Some(_) | None => Block::Other,
        }),
        "clear" => AgentState::Clear,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn states(chunks: &[&[u8]]) -> Vec<AgentState> {
        let mut scanner = ReportScanner::new(7501);
        let mut found = Vec::new();
        for chunk in chunks {
            scanner.push(chunk, &mut |state| found.push(state));
        }
        found
    }

    /// Every recorded report, as the client prints it, among other output.
    #[test]
    fn recorded_timelines_are_read_whole() {
        let text = include_str!("../../adapters/codex/fixtures/osc-timelines.json");
        let timelines: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        let mut sent = 0;
        for timeline in timelines.as_object().unwrap().values() {
            for report in timeline.as_array().unwrap() {
                let (osc, said) = (report[1].as_str().unwrap(), report[2].as_str().unwrap());
                let bytes = format!("text\x1b[2J\x1b]0;title\x07\x1b]{osc};{said}\x1b\\more");
                let read = states(&[bytes.as_bytes()]);
                assert_eq!(read.len(), usize::from(osc == "7501"), "{osc};{said}");
                for state in read {
                    *counts.entry(format!("{state:?}")).or_insert(0) += 1;
                    sent += 1;
                }
            }
        }
        assert_eq!(counts.values().sum::<i32>(), sent);
        let kinds: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!(
            kinds,
            [
                "Blocked(Permission)",
                "Blocked(Question)",
                "Clear",
                "Done",
                "Failed",
                "Idle",
                "Working"
            ]
        );
    }

    #[test]
    fn the_latest_report_is_the_one_that_was_set() {
        let latest = LatestReport::default();
        assert_eq!(latest.get(), None);
        for state in LatestReport::ALL {
            latest.set(state);
            assert_eq!(latest.get(), Some(state));
        }
    }

    #[test]
    fn what_is_no_report_is_passed_over_and_the_next_one_is_read() {
        let next = b"\x1b]7501;state=idle:app=x\x07".as_slice();
        let long = [b"\x1b]7501;state=done:".as_slice(), &[b'x'; 400], b"\x07"].concat();
        let odd: [&[u8]; 9] = [
            b"\x1b]0;7501;state=done\x07",
            b"\x1b]75010;state=done\x07",
            b"\x1b]7501;state=dancing\x07",
            b"\x1b]7501;app=x\x07",
            b"\x1b]7501;state=done\x18",
            b"\x1b]7501;state=done",
            b"\x1b]7501;state=done\x1b[2J",
            b"\x1b\x1b",
            &long,
        ];
        for odd in odd {
            let text = String::from_utf8_lossy(odd);
            assert_eq!(states(&[odd, next]), [AgentState::Idle], "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_chunking_reads_the_same(cuts in proptest::collection::vec(0_usize..90, 0..9)) {
            let text = b"a\x1b]7501;state=working:app=c\x1b\\\x1b[1m\x1b]7501;state=blocked:kind=question\x07z\x1b]7501;state=done\x07";
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            cuts.push(text.len());
            let mut from = 0;
            let mut chunks = Vec::new();
            for cut in cuts {
                chunks.push(&text[from..cut]);
                from = cut;
            }
            let expected = [
                AgentState::Working,
                AgentState::Blocked(Block::Question),
                AgentState::Done,
            ];
            prop_assert_eq!(states(&chunks), expected);
        }
    }
}
