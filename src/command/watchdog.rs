//! Holds a hook's deadline: a file system can hang, and a machine be overloaded, where no limit of harn's reaches.
//!
//! A signal that was not being written when the time was over is left in the spool, as one that met a held lock is: each
//! is either written or spooled, never both.

use std::mem;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is being read or written when the time is over may still be finished.
const GRACE: Duration = Duration::from_millis(300);
/// The same with the lock held, where the harness gives seconds: the rest takes a millisecond, unless the machine is overloaded.
const LONG_GRACE: Duration = Duration::from_secs(1);
/// So long the spool may take.
const SPOOL_LIMIT: Duration = Duration::from_millis(200);

/// Saves a signal for whoever writes next.
type Save = Box<dyn FnOnce() + Send>;

enum Stage {
    /// Nothing is known that could be saved.
    Reading,
    Decoded(Save),
    /// The lock is held.
    Writing,
    /// The work is finished whatever the time.
    Replying,
    /// The time was over first.
    Over,
}

/// Ends the process when the deadline passes, unless the reply is on its way.
pub(super) struct Watchdog {
    stage: Arc<Mutex<Stage>>,
}

impl Watchdog {
    pub(super) fn start(deadline: Duration) -> Self {
        let stage = Arc::new(Mutex::new(Stage::Reading));
        let seen = Arc::clone(&stage);
        std::thread::spawn(move || {
            std::thread::sleep(deadline);
            if matches!(*lock(&seen), Stage::Reading) {
                // On a machine that is overloaded nothing may have been read yet.
                std::thread::sleep(GRACE);
            }
            match expire(&seen) {
                Expired::Finishing if deadline < LONG_GRACE => std::thread::sleep(LONG_GRACE),
                Expired::Finishing => std::thread::sleep(GRACE),
                Expired::Lost => {}
                Expired::Saving(save) => within(SPOOL_LIMIT, save),
            }
            if !matches!(*lock(&seen), Stage::Replying) {
                tracing::warn!(?deadline, "hook gave up at its deadline");
                // The main thread may hang in a system call.
                std::process::exit(0);
            }
        });
        Self { stage }
    }

    /// From here on there is something to be saved.
    pub(super) fn decoded(&self, save: Save) {
        let mut stage = lock(&self.stage);
        if matches!(*stage, Stage::Reading) {
            *stage = Stage::Decoded(save);
        }
    }

    /// The signal is being written now; false: it was too late, and somebody else will.
    pub(super) fn writes(&self) -> bool {
        let mut stage = lock(&self.stage);
        let is_late = matches!(*stage, Stage::Over);
        if !is_late {
            *stage = Stage::Writing;
        }
        !is_late
    }

    /// From here on the work is finished whatever the time.
    pub(super) fn reply(&self) {
        *lock(&self.stage) = Stage::Replying;
    }
}

/// What there is to do when the time is over.
enum Expired {
    /// What is being done may be finished, for a while.
    Finishing,
    Saving(Save),
    /// Too early for anything to be saved.
    Lost,
}

fn expire(stage: &Mutex<Stage>) -> Expired {
    let mut stage = lock(stage);
    match mem::replace(&mut *stage, Stage::Over) {
        Stage::Decoded(save) => Expired::Saving(save),
        Stage::Reading | Stage::Over => Expired::Lost,
        busy @ (Stage::Writing | Stage::Replying) => {
            *stage = busy;
            Expired::Finishing
        }
    }
}

/// Does the work on a thread of its own, which is left behind when it takes longer.
fn within(limit: Duration, work: Save) {
    let (done, wait) = sync_channel(1);
    std::thread::spawn(move || {
        work();
        if done.send(()).is_err() {
            tracing::debug!("the signal was saved after its time");
        }
    });
    if wait.recv_timeout(limit).is_err() {
        tracing::warn!("a signal is lost: it could not be saved in time");
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A watchdog whose time never comes by itself, and how often its signal was saved.
    fn watchdog() -> (Watchdog, Arc<AtomicUsize>) {
        let stage = Arc::new(Mutex::new(Stage::Reading));
        (Watchdog { stage }, Arc::default())
    }

    fn save(count: &Arc<AtomicUsize>) -> Save {
        let count = Arc::clone(count);
        Box::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        })
    }

    /// What the deadline does, without ending anything.
    fn pass(watchdog: &Watchdog) -> &'static str {
        match expire(&watchdog.stage) {
            Expired::Finishing => "finishes",
            Expired::Lost => "lost",
            Expired::Saving(save) => {
                within(Duration::from_mins(1), save);
                "saved"
            }
        }
    }

    #[test]
    fn a_signal_is_either_written_or_saved() {
        let (early, count) = watchdog();
        assert_eq!(pass(&early), "lost");
        early.decoded(save(&count));
        assert_eq!((early.writes(), count.load(Ordering::SeqCst)), (false, 0));

        let (late, count) = watchdog();
        late.decoded(save(&count));
        assert_eq!(pass(&late), "saved");
        assert_eq!((late.writes(), count.load(Ordering::SeqCst)), (false, 1));

        let (written, count) = watchdog();
        written.decoded(save(&count));
        assert!(written.writes());
        assert_eq!((pass(&written), pass(&written)), ("finishes", "finishes"));
        written.reply();
        assert_eq!(pass(&written), "finishes");
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}
