//! The program's output on its way to the user's terminal: one bounded read at a time, and what the overlay makes of it.
//!
//! Without an overlay it is a plain `Flow`. With one, what needs no change is written from where it was read to.

use super::flow::Flow;
use super::overlay::{Face, Filter};
use super::size::Size;

#[derive(Debug)]
pub(super) struct Outflow {
    flow: Flow,
    filter: Option<Filter>,
    /// Bytes of the flow that may be written as they are.
    passed: usize,
    is_read_new: bool,
    /// Bytes of the flow that follow those and are done with.
    skipped: usize,
    edited: Vec<u8>,
    edited_at: usize,
}

impl Outflow {
    pub(super) fn new(filter: Option<Filter>) -> Self {
        let mut outflow = Self {
            flow: Flow::new(),
            filter,
            passed: 0,
            is_read_new: false,
            skipped: 0,
            edited: Vec::new(),
            edited_at: 0,
        };
        outflow.stage();
        outflow
    }

    pub(super) fn has_overlay(&self) -> bool {
        self.filter.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.passed == 0 && self.edited.is_empty()
    }

    pub(super) fn room(&mut self) -> &mut [u8] {
        self.flow.room()
    }

    pub(super) fn fill(&mut self, count: usize) {
        self.flow.fill(count);
        self.is_read_new = true;
        self.stage();
    }

    pub(super) fn pending(&self) -> &[u8] {
        if self.edited.is_empty() {
            self.flow.pending().get(..self.passed).unwrap_or_default()
        } else {
            self.edited.get(self.edited_at..).unwrap_or_default()
        }
    }

    /// The first `count` pending bytes were written.
    pub(super) fn advance(&mut self, count: usize) {
        if self.edited.is_empty() {
            let count = count.min(self.passed);
            self.flow.consume(count);
            self.passed -= count;
            if self.passed == 0 {
                self.flow.consume(std::mem::take(&mut self.skipped));
            }
        } else {
            self.edited_at += count;
            if self.edited_at >= self.edited.len() {
                self.edited.clear();
                self.edited_at = 0;
            }
        }
        self.stage();
    }

    /// The bytes of the last read, once, for those who only look.
    pub(super) fn take_read(&mut self) -> &[u8] {
        let is_new = std::mem::take(&mut self.is_read_new);
        let read = self.flow.filled();
        if is_new { read } else { &[] }
    }

    pub(super) fn discard(&mut self) {
        self.flow.discard();
        self.edited.clear();
        (self.passed, self.skipped, self.edited_at) = (0, 0, 0);
    }

    /// Shows this; drawn now, or with the next output where that has to come first.
    pub(super) fn show(&mut self, row: &[u8]) {
        if let Some(filter) = &mut self.filter {
            filter.set_row(row);
        }
        self.redraw();
    }

    pub(super) fn resize(&mut self, face: Face, program: Size) {
        if let Some(filter) = &mut self.filter {
            filter.resize(face, program.rows, program.cols);
        }
        self.redraw();
    }

    /// Something else had the terminal.
    pub(super) fn renew(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.renew();
        }
        self.redraw();
    }

    /// What takes the overlay off the terminal.
    pub(super) fn finish(&self) -> Vec<u8> {
        self.filter.as_ref().map(Filter::finish).unwrap_or_default()
    }

    fn redraw(&mut self) {
        if self.is_empty() && self.flow.is_empty() {
            self.feed();
        }
    }

    /// Prepares the next bytes to be written, if there are any.
    fn stage(&mut self) {
        while self.is_empty() && !self.flow.is_empty() {
            self.feed();
        }
    }

    fn feed(&mut self) {
        let Some(filter) = &mut self.filter else {
            self.passed = self.flow.pending().len();
            return;
        };
        let fed = filter.feed(self.flow.pending());
        if let Some(passed) = fed.passed {
            (self.passed, self.skipped) = (passed, fed.consumed.saturating_sub(passed));
            if passed == 0 {
                self.flow.consume(std::mem::take(&mut self.skipped));
            }
        } else {
            filter.take_edited(&mut self.edited);
            self.edited_at = 0;
            self.flow.consume(fed.consumed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(outflow: &mut Outflow, step: usize) -> Vec<u8> {
        let mut written = Vec::new();
        while !outflow.is_empty() {
            let pending = outflow.pending();
            let count = pending.len().min(step);
            written.extend_from_slice(&pending[..count]);
            outflow.advance(count);
        }
        written
    }

    fn put(outflow: &mut Outflow, bytes: &[u8]) {
        outflow.room()[..bytes.len()].copy_from_slice(bytes);
        outflow.fill(bytes.len());
    }

    #[test]
    fn edited_and_untouched_bytes_come_out_in_order_over_partial_writes() {
        for step in 1..7 {
            let mut outflow = Outflow::new(Some(Filter::new(Face::Row, 9, 20)));
            outflow.show(b"");
            drain(&mut outflow, step);
            let mut written = Vec::new();
            for bytes in [&b"ab\x1b[rcd\x1b[3"[..], b"1mef", b"\x1b", b"[31mgh"] {
                put(&mut outflow, bytes);
                written.extend(drain(&mut outflow, step));
            }
            assert_eq!(written, b"ab\x1b[1;9rcd\x1b[31mef\x1b[31mgh");
        }
    }

    #[test]
    fn nothing_is_read_while_edited_bytes_wait() {
        let mut outflow = Outflow::new(Some(Filter::new(Face::Row, 9, 20)));
        outflow.show(b"");
        drain(&mut outflow, 99);
        put(&mut outflow, b"\x1b[r");
        outflow.advance(1);
        assert!(!outflow.is_empty());
        assert_eq!(outflow.pending(), b"[1;9r");
    }
}
