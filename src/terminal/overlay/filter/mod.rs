//! The escape filter: the program's output in, what the user's terminal gets out.
//!
//! The program believes in a screen of one row less. Its scroll regions and erasures are rewritten so that they end above
//! the overlay row; all else passes untouched, as slices where nothing was edited. What moves the cursor for harn's own
//! ends saves it with DECSC and so takes the place of a position the program saved; that one is then kept here, and put
//! back in place of the program's DECRC. Where it cannot be known nothing is borrowed, and the row waits.

mod draw;
mod escape;
mod express;
mod motion;
mod saved;
mod state;
mod stream;

pub(crate) use state::{Face, Filter};
