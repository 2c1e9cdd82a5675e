//! How the overlay's content reaches the byte path: one place where the newest replaces the older, and a wake-up.
//!
//! Posting never waits for the host, and the host never waits for a poster.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use super::line::Line;

/// What may be asked of the overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The lasting content.
    Status(Line),
    /// In place of the content until the next key.
    Message(Line),
}

#[derive(Debug, Default)]
struct Place {
    status: Option<Line>,
    message: Option<Line>,
}

/// The posting end; cheap to clone, usable from any thread.
#[derive(Debug, Clone)]
pub struct Poster {
    place: Arc<Mutex<Place>>,
    wake: Arc<UnixStream>,
}

/// The reading end, on the byte path.
#[derive(Debug)]
pub struct Board {
    place: Arc<Mutex<Place>>,
    waked: UnixStream,
}

/// Both ends.
pub fn board() -> io::Result<(Poster, Board)> {
    let (waked, wake) = UnixStream::pair()?;
    waked.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let place = Arc::new(Mutex::new(Place::default()));
    let poster = Poster {
        place: Arc::clone(&place),
        wake: Arc::new(wake),
    };
    Ok((poster, Board { place, waked }))
}

impl Poster {
    /// Replaces what was not yet taken.
    pub fn post(&self, notice: Notice) {
        {
            let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
            match notice {
                Notice::Status(line) => place.status = Some(line),
                Notice::Message(line) => place.message = Some(line),
            }
        }
        // A full socket wakes as well as one more byte would; a closed one has nobody to wake.
        if let Err(error) = (&*self.wake).write_all(b"w") {
            tracing::trace!(%error, "overlay not woken");
        }
    }
}

impl Board {
    /// Readable when `take` has something.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.waked.as_fd()
    }

    /// What was posted since; never waits.
    pub(crate) fn take(&self) -> (Option<Line>, Option<Line>) {
        let mut drained = [0; 64];
        while matches!((&self.waked).read(&mut drained), Ok(count) if count == drained.len()) {}
        match self.place.try_lock() {
            Ok(mut place) => (place.status.take(), place.message.take()),
            Err(TryLockError::Poisoned(place)) => {
                let mut place = place.into_inner();
                (place.status.take(), place.message.take())
            }
            // Somebody is posting right now and wakes us afterwards.
            Err(TryLockError::WouldBlock) => (None, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::{Part, Tone};
    use super::*;

    fn line(text: &str) -> Line {
        Line(vec![Part::new(text, Tone::Plain, 0)])
    }

    #[test]
    fn newest_content_wins_and_a_flood_of_posts_never_waits() {
        let (poster, board) = board().unwrap();
        for count in 0..10_000 {
            poster.post(Notice::Status(line(&count.to_string())));
        }
        poster.post(Notice::Message(line("hello")));
        assert_eq!(board.take(), (Some(line("9999")), Some(line("hello"))));
        assert_eq!(board.take(), (None, None));
    }

    #[test]
    fn post_to_a_host_that_is_gone_is_no_failure() {
        let (poster, board) = board().unwrap();
        drop(board);
        poster.post(Notice::Status(line("x")));
    }
}
