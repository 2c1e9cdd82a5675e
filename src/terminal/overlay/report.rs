//! The terminal's reports of its size, on their way to the program: they count the overlay's row. Pure.

/// Reports of this kind in the input, with a row less; `None` when there is none.
pub(crate) fn without_row(input: &[u8], rows: u16) -> Option<Vec<u8>> {
    let mut edited: Option<Vec<u8>> = None;
    let mut from = 0;
    for head in [&b"\x1b[8;"[..], b"\x1b[48;"] {
        let source = edited.take();
        let bytes = source.as_deref().unwrap_or(input);
        let mut out = Vec::new();
        let mut copied = 0;
        while let Some(at) = find(bytes.get(from..).unwrap_or_default(), head) {
            let start = from + at + head.len();
            let digits = bytes
                .get(start..)
                .unwrap_or_default()
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let text = bytes.get(start..start + digits).unwrap_or_default();
            from = start + digits;
            if text == rows.to_string().as_bytes() && is_report(bytes.get(from..)) {
                out.extend_from_slice(bytes.get(copied..start).unwrap_or_default());
                out.extend_from_slice((rows - 1).to_string().as_bytes());
                copied = from;
            }
        }
        from = 0;
        edited = if copied > 0 {
            out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
            Some(out)
        } else {
            source
        };
    }
    edited
}

/// Whether numbers follow, and then the end of a size report.
fn is_report(rest: Option<&[u8]>) -> bool {
    let mut rest = rest.unwrap_or_default().iter();
    rest.find(|byte| !(byte.is_ascii_digit() || **byte == b';')) == Some(&b't')
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reports_of_this_size_lose_a_row() {
        assert_eq!(without_row(b"typed \x1b[24;80R \x1b[A", 24), None);
        assert_eq!(
            without_row(b"a\x1b[8;24;80tb\x1b[48;24;80;480;800tc\x1b[8;25;80t", 24).unwrap(),
            b"a\x1b[8;23;80tb\x1b[48;23;80;480;800tc\x1b[8;25;80t"
        );
        assert_eq!(without_row(b"\x1b[8;24;80", 24), None);
    }
}
