//! What the host and the launcher say to each other, and how it looks on their socket.
//!
//! Both ends are the same binary, so there is no version. Reports are five bytes (a kind and a little-endian number), orders
//! are one.

use nix::errno::Errno;
use nix::sys::signal::Signal;

/// Bytes of one report.
pub(super) const REPORT_BYTES: usize = 5;

/// Launcher to host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Started(i32),
    Failed(Errno),
    Stopped(i32),
    Continued,
    Exited(i32),
    Signaled(i32),
}

impl Report {
    pub(super) fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let (kind, number) = match self {
            Self::Started(pid) => (b'P', pid),
            Self::Failed(errno) => (b'F', errno as i32),
            Self::Stopped(signal) => (b'T', signal),
            Self::Continued => (b'C', 0),
            Self::Exited(code) => (b'X', code),
            Self::Signaled(signal) => (b'K', signal),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(super) fn from_bytes(bytes: [u8; REPORT_BYTES]) -> Option<Self> {
        let [kind, a, b, c, d] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        Some(match kind {
            b'P' => Self::Started(number),
            b'F' => Self::Failed(Errno::from_raw(number)),
            b'T' => Self::Stopped(number),
            b'C' => Self::Continued,
            b'X' => Self::Exited(number),
            b'K' => Self::Signaled(number),
            _ => return None,
        })
    }
}

/// Host to launcher. The end of the stream is an order too: the output is read, go (or: harn is gone, take the program along).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Give the program's group the foreground and let it run on.
    Resume,
    /// Send this to the program's group.
    Signal(Signal),
}

impl Order {
    pub(super) fn to_byte(self) -> u8 {
        match self {
            Self::Resume => 0,
            Self::Signal(signal) => u8::try_from(signal as i32).unwrap_or(0),
        }
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Resume),
            number => Signal::try_from(i32::from(number)).ok().map(Self::Signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_and_order_survives_the_wire() {
        let reports = [
            Report::Started(4_194_304),
            Report::Failed(Errno::ENOENT),
            Report::Stopped(20),
            Report::Continued,
            Report::Exited(255),
            Report::Signaled(9),
        ];
        for report in reports {
            assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
        }
        for order in Signal::iterator().map(Order::Signal).chain([Order::Resume]) {
            assert_eq!(Order::from_byte(order.to_byte()), Some(order));
        }
        assert_eq!(
            (Report::from_bytes([0; 5]), Order::from_byte(255)),
            (None, None)
        );
    }
}
