//! How others on harn's side reach the program's keyboard: orders in, answers out, through a wake-up of the byte path.
//!
//! Ordering never waits for the byte path and the byte path never waits for an order. What may be typed at all, and when, is
//! not decided here: see `compaction`. Whether it fits between the user's own keys is (`typist`).

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use super::typist::{Typed, Typing};

/// How long an order waits for the byte path, which answers in its next turn.
const PATIENCE: Duration = Duration::from_secs(2);

type Orders = Arc<Mutex<VecDeque<(Typing, SyncSender<Typed>)>>>;

/// The ordering end; cheap to clone, usable from any thread but the byte path's own.
#[derive(Debug, Clone)]
pub struct Keyboard {
    orders: Orders,
    wake: Arc<UnixStream>,
}

/// The byte path's end.
#[derive(Debug)]
pub struct Desk {
    orders: Orders,
    waked: UnixStream,
}

/// Both ends.
pub fn keyboard() -> io::Result<(Keyboard, Desk)> {
    let (waked, wake) = UnixStream::pair()?;
    waked.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let orders = Orders::default();
    let keyboard = Keyboard {
        orders: Arc::clone(&orders),
        wake: Arc::new(wake),
    };
    Ok((keyboard, Desk { orders, waked }))
}

impl Keyboard {
    /// Gives an order and waits for its answer. Bytes of one that is answered with anything but `Done` were not written.
    pub fn order(&self, typing: Typing) -> Typed {
        let (answer, answered) = sync_channel(1);
        self.orders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((typing, answer));
        if let Err(error) = (&*self.wake).write_all(b"w") {
            tracing::trace!(%error, "byte path not woken");
        }
        self.wait(&answered)
    }

    fn wait(&self, answered: &Receiver<Typed>) -> Typed {
        if let Ok(typed) = answered.recv_timeout(PATIENCE) {
            return typed;
        }
        // Taken back where it was not begun; where it was, its answer is there by now.
        self.orders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        answered.try_recv().unwrap_or(Typed::Gone)
    }
}

impl Desk {
    /// Readable when there is an order.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.waked.as_fd()
    }

    /// Carries out what was ordered; never waits.
    pub(super) fn serve(&self, carry_out: &mut dyn FnMut(Typing) -> Typed) {
        let mut drained = [0; 64];
        while matches!((&self.waked).read(&mut drained), Ok(count) if count == drained.len()) {}
        // Answered under the lock, so that an order is either taken back or answered.
        let mut orders = match self.orders.try_lock() {
            Ok(orders) => orders,
            Err(TryLockError::Poisoned(orders)) => orders.into_inner(),
            // Somebody is ordering right now and wakes us afterwards.
            Err(TryLockError::WouldBlock) => return,
        };
        while let Some((typing, answer)) = orders.pop_front() {
            if answer.try_send(carry_out(typing)).is_err() {
                tracing::debug!("nobody waits for the answer");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_answered_by_the_byte_path() {
        let (keyboard, desk) = keyboard().unwrap();
        let asking = std::thread::spawn(move || keyboard.order(Typing::Write(b"x".to_vec())));
        let mut seen = Vec::new();
        while seen.is_empty() {
            desk.serve(&mut |typing| {
                seen.push(typing);
                Typed::Busy
            });
        }
        assert_eq!(seen, [Typing::Write(b"x".to_vec())]);
        assert_eq!(asking.join().unwrap(), Typed::Busy);
    }
}
