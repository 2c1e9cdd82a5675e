//! One direction of bytes: a single bounded buffer that is filled only when it is empty.
//!
//! That rule is the whole of back-pressure. While the far side takes nothing the near side is not read, so nothing grows and
//! the program (or the user's terminal) is held up by the kernel, as it would be without us.

/// Bytes taken in one turn at most.
const CAPACITY_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Flow {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; CAPACITY_BYTES],
            start: 0,
            end: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Room for a read; none while something is pending.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.is_empty() {
            &mut self.buffer
        } else {
            &mut []
        }
    }

    /// The first `count` bytes of the room now hold data.
    pub(super) fn fill(&mut self, count: usize) {
        (self.start, self.end) = (0, count.min(self.buffer.len()));
    }

    /// Other bytes take the place of those that wait; never more of them.
    pub(super) fn replace(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.buffer.len());
        let (room, _) = self.buffer.split_at_mut(count);
        room.copy_from_slice(bytes.get(..count).unwrap_or_default());
        (self.start, self.end) = (0, count);
    }

    /// What still waits to be written.
    pub(super) fn pending(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// The first `count` pending bytes were written; returns them.
    pub(super) fn consume(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start = self.start.saturating_add(count).min(self.end);
        self.buffer.get(from..self.start).unwrap_or_default()
    }

    /// All that was read last, written or not.
    pub(super) fn filled(&self) -> &[u8] {
        self.buffer.get(..self.end).unwrap_or_default()
    }

    /// Nobody is left to write to.
    pub(super) fn discard(&mut self) {
        self.start = self.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(flow: &mut Flow, bytes: &[u8]) {
        flow.room()[..bytes.len()].copy_from_slice(bytes);
        flow.fill(bytes.len());
    }

    #[test]
    fn bytes_come_out_in_order_over_partial_writes() {
        let mut flow = Flow::new();
        put(&mut flow, b"abcdef");
        assert_eq!(flow.consume(2), b"ab");
        assert_eq!(flow.pending(), b"cdef");
        assert_eq!(flow.consume(99), b"cdef");
        assert!(flow.is_empty());
    }

    #[test]
    fn nothing_more_is_read_while_a_write_is_stuck_half_way() {
        let mut flow = Flow::new();
        put(&mut flow, b"abcdef");
        flow.consume(1);
        assert_eq!(flow.room().len(), 0);
        flow.consume(5);
        assert_eq!(flow.room().len(), CAPACITY_BYTES);
    }

    #[test]
    fn what_nobody_reads_any_more_makes_room() {
        let mut flow = Flow::new();
        put(&mut flow, b"abc");
        flow.discard();
        assert_eq!(
            (flow.pending().len(), flow.room().len()),
            (0, CAPACITY_BYTES)
        );
    }
}
