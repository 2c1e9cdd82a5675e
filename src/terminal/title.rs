//! The window's title, as the program sets it: `OSC 0 ; text ST` and `OSC 2 ; text ST`. Pure.
//!
//! Looked at behind the byte path, in whatever pieces the bytes come.

use super::osc::OscScanner;

/// Bytes of a title's command that are kept.
const LIMIT_BYTES: usize = 256;
const HEADS: [&[u8]; 2] = [b"0;", b"2;"];

/// Keeps the newest title of a stream.
#[derive(Debug)]
pub struct TitleScanner {
    commands: OscScanner,
    title: Option<String>,
}

impl Default for TitleScanner {
    fn default() -> Self {
        Self {
            commands: OscScanner::new(LIMIT_BYTES),
            title: None,
        }
    }
}

impl TitleScanner {
    /// None until the program has set one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub fn observe(&mut self, bytes: &[u8]) {
        let Self { commands, title } = self;
        commands.push(bytes, &mut |text| {
            if let Some(told) = HEADS.iter().find_map(|head| text.strip_prefix(*head)) {
                *title = Some(String::from_utf8_lossy(told).into_owned());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_title_counts_however_its_bytes_come() {
        let bytes = "a\x1b]0;\u{2733} one\x07b\x1b]7501;state=idle\x1b\\\x1b]2;\u{2810} two\x1b\\\x1b]1;icon\x07\x1b]0;torn\x18".as_bytes();
        for cut in 1..bytes.len() {
            let mut scanner = TitleScanner::default();
            bytes.chunks(cut).for_each(|chunk| scanner.observe(chunk));
            assert_eq!(scanner.title(), Some("\u{2810} two"), "{cut}");
        }
        let mut scanner = TitleScanner::default();
        scanner.observe(b"\x1b]0;\x07");
        assert_eq!(scanner.title(), Some(""));
        scanner.observe(&[b"\x1b]0;".as_slice(), &[b'x'; 9000], b"\x07"].concat());
        assert_eq!(scanner.title().map(str::len), Some(LIMIT_BYTES - 2));
    }
}
