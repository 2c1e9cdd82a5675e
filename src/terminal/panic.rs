//! What a panic means while the user's terminal is held.
//!
//! On the host's own path the terminal is given back first, so the message can be read. Anywhere else (a listener, another
//! thread) the session goes on, and the message goes to the log: printed, it would land in the program's screen.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use super::tty;

thread_local! {
    /// Set on the host's thread, and only while code runs there whose panic ends the hosting.
    static IS_FATAL_HERE: Cell<bool> = const { Cell::new(false) };
    /// What a panic of this thread said while nothing could be printed.
    static UNSAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes this thread the one whose panics end the hosting.
pub(super) fn guard_terminal() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_FATAL_HERE.get() {
                tty::give_back();
            }
            if tty::is_held() {
                tracing::error!(%info, "panic beside the host");
                UNSAID.set(Some(info.to_string()));
            } else {
                previous(info);
            }
        }));
    });
    IS_FATAL_HERE.set(true);
}

/// Runs foreign code; false when it panicked.
pub(super) fn survives(work: impl FnOnce()) -> bool {
    let was_fatal = IS_FATAL_HERE.replace(false);
    let survived = contained(work).is_ok();
    IS_FATAL_HERE.set(was_fatal);
    survived
}

/// Runs code on a thread beside the one that holds the terminal; the failure is what its panic said and did not print.
pub fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|_payload| UNSAID.take().unwrap_or_else(|| "a panic".to_owned()))
}
