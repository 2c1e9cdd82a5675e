//! Finds the end of the first JSON object in a stream.
//!
//! Pure. A harness may keep a hook's stdin open for ever, so a hook reads to the end of the first object and never
//! waits for the end of the file.

/// Watches bytes go by and says where the first object ends.
#[derive(Debug, Default)]
pub struct DocumentEnd {
    depth: usize,
    seen: usize,
    in_string: bool,
    escaped: bool,
}

/// What the bytes so far hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Incomplete,
    /// The object takes this many bytes from the start of the stream.
    Complete(usize),
    /// The stream does not begin with an object.
    NotAnObject,
}

impl DocumentEnd {
    /// Looks at the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.in_string {
                rest = self.skip_in_string(rest);
                continue;
            }
            rest = after;
            self.seen += 1;
            match byte {
                b'{' | b'[' if byte == b'{' || self.depth > 0 => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Progress::Complete(self.seen);
                    }
                }
                b'"' if self.depth > 0 => self.in_string = true,
                _ if self.depth > 0 => {}
                // A byte order mark or blanks may come first.
                b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => {}
                _ => return Progress::NotAnObject,
            }
        }
        Progress::Incomplete
    }

    /// Goes to the end of the string or of the bytes; strings are where a large payload is large.
    fn skip_in_string<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = if self.escaped {
            self.escaped = false;
            1
        } else {
            match memchr::memchr2(b'"', b'\\', bytes) {
                Some(at) => {
                    let is_end = bytes.get(at) == Some(&b'"');
                    self.in_string = !is_end;
                    self.escaped = !is_end;
                    at + 1
                }
                None => bytes.len(),
            }
        };
        self.seen += skipped;
        bytes.get(skipped..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn braces_in_strings_do_not_count() {
        let text = br#" {"a":"}\"]","b":[{}]} trailing"#;
        assert_eq!(
            DocumentEnd::default().push(text),
            Progress::Complete(text.len() - 9)
        );
    }

    #[test]
    fn what_is_no_object_is_refused_at_its_first_byte() {
        for text in ["[1]", "null", "x{", "\"{}\""] {
            assert_eq!(
                DocumentEnd::default().push(text.as_bytes()),
                Progress::NotAnObject,
                "{text}"
            );
        }
        assert_eq!(DocumentEnd::default().push(b" \n"), Progress::Incomplete);
    }

    proptest! {
        #[test]
        fn any_chunking_finds_the_same_end(cuts in proptest::collection::vec(0_usize..40, 0..6)) {
            let text = br#"{"k":"\\\"{","n":[1,{"m":null}]}{"next":1}"#;
            let mut end = DocumentEnd::default();
            let mut cuts = cuts;
            cuts.sort_unstable();
            cuts.push(text.len());
            let mut from = 0;
            let mut found = Progress::Incomplete;
            for cut in cuts {
                if found == Progress::Incomplete {
                    found = end.push(&text[from..cut.max(from)]);
                    from = cut.max(from);
                }
            }
            prop_assert_eq!(found, Progress::Complete(32));
        }
    }
}
