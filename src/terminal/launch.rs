//! The host's handle on its launcher process: starts it, hears its reports, gives it orders, reaps it.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::launcher::LAUNCH_WORD;
use super::link::{Order, REPORT_BYTES, Report};
use super::program::Program;

#[derive(Debug)]
pub(super) struct Launch {
    process: Child,
    link: UnixStream,
    partial: Vec<u8>,
}

/// What the launcher said, and whether it can still say more.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) reports: Vec<Report>,
    pub(super) is_over: bool,
}

impl Launch {
    /// Starts the launcher, which starts the program on `slave`. Standard error follows only when it is a terminal.
    /// `tty_name` is the user's terminal, which the launcher looks after should harn be killed.
    pub(super) fn start(
        program: &Program<'_>,
        slave: OwnedFd,
        tty_name: &Path,
    ) -> io::Result<Self> {
        let (link, theirs) = UnixStream::pair()?;
        link.set_nonblocking(true)?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(LAUNCH_WORD)
            .arg(tty_name)
            .arg(program.path)
            .args(program.args)
            .stdin(Stdio::from(OwnedFd::from(theirs)));
        if io::stderr().is_terminal() {
            command.stderr(Stdio::from(slave.try_clone()?));
        }
        command.stdout(Stdio::from(slave));
        program.apply_env(&mut command);
        let process = command.spawn()?;
        Ok(Self {
            process,
            link,
            partial: Vec::new(),
        })
    }

    /// Readable when `hear` has something.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// Never waits.
    pub(super) fn hear(&mut self) -> io::Result<Heard> {
        let mut buffer = [0; 64 * REPORT_BYTES];
        let mut is_over = false;
        match self.link.read(&mut buffer) {
            Ok(0) => is_over = true,
            Ok(count) => self
                .partial
                .extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if is_passing(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => is_over = true,
            Err(error) => return Err(error),
        }
        let mut reports = Vec::new();
        let whole = self.partial.len() - self.partial.len() % REPORT_BYTES;
        for bytes in self
            .partial
            .drain(..whole)
            .as_slice()
            .chunks_exact(REPORT_BYTES)
        {
            reports.extend(bytes.try_into().ok().and_then(Report::from_bytes));
        }
        Ok(Heard { reports, is_over })
    }

    /// A launcher that is gone hears nothing, and `hear` tells so.
    pub(super) fn order(&self, order: Order) {
        if let Err(error) = (&self.link).write_all(&[order.to_byte()]) {
            tracing::debug!(%error, ?order, "launcher does not listen");
        }
    }

    /// Lets the launcher go, and waits for it: it leaves at once when the program has ended, else after taking it along.
    pub(super) fn finish(mut self) -> io::Result<()> {
        drop(self.link);
        self.process.wait().map(drop)
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
