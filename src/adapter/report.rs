//! What a client says of its own state in its output: `OSC <number> ; state=working : app=... ST`.
//!
//! Pure. The bytes are looked at behind the byte path, in whatever pieces they come, and never held back or changed. A
//! sequence that is no report, is too long or breaks off is passed over.

/// Far longer than any report.
const LIMIT_BYTES: usize = 128;
const ESC: u8 = 0x1B;
const BEL: u8 = 0x07;
/// CAN and SUB abort a sequence.
const ABORTS: [u8; 2] = [0x18, 0x1A];

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

/// Finds the reports in a stream of bytes.
#[derive(Clone, Debug)]
pub struct ReportScanner {
    /// `<number>;`, as it stands behind `ESC ]`.
    head: Vec<u8>,
    place: Place,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Ground,
    Escape,
    /// In an operating system command, its text kept.
    Command,
    /// The same, behind an ESC that may be the first half of its end.
    CommandEscape,
}

impl ReportScanner {
    pub fn new(osc: u32) -> Self {
        Self {
            head: format!("{osc};").into_bytes(),
            place: Place::Ground,
            text: Vec::with_capacity(LIMIT_BYTES),
        }
    }

    /// Looks at the next bytes and tells each report that ends in them.
    pub fn push(&mut self, bytes: &[u8], tell: &mut dyn FnMut(AgentState)) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match self.place {
                Place::Ground if byte == ESC => self.place = Place::Escape,
                // Most bytes are plain text: on to the next ESC at once.
                Place::Ground => {
                    let next = memchr::memchr(ESC, rest).unwrap_or(rest.len());
                    rest = rest.get(next..).unwrap_or_default();
                }
                Place::Command if byte == BEL => self.end(tell),
                Place::Command if byte == ESC => self.place = Place::CommandEscape,
                Place::Command if ABORTS.contains(&byte) => self.place = Place::Ground,
                Place::Command => self.keep(byte),
                Place::CommandEscape if byte == b'\\' => self.end(tell),
                // In a command: another sequence begins where this one should have ended.
                Place::Escape | Place::CommandEscape => self.after_escape(byte),
            }
        }
    }

    fn after_escape(&mut self, byte: u8) {
        self.text.clear();
        self.place = match byte {
            b']' => Place::Command,
            ESC => Place::Escape,
            _ => Place::Ground,
        };
    }

    /// Of other commands, and of what is too long, only the end is awaited; their text is of no use.
    fn keep(&mut self, byte: u8) {
        let is_ours = self
            .head
            .iter()
            .zip(&self.text)
            .all(|(head, text)| head == text);
        if is_ours && self.text.len() < LIMIT_BYTES {
            self.text.push(byte);
        } else if is_ours {
            // A wrong first byte: no head fits from here on.
            self.text.fill(0);
        }
    }

    fn end(&mut self, tell: &mut dyn FnMut(AgentState)) {
        self.place = Place::Ground;
        let report = self
            .text
            .strip_prefix(self.head.as_slice())
            .and_then(|text| std::str::from_utf8(text).ok())
            .and_then(state);
        if let Some(state) = report {
            tell(state);
        }
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
