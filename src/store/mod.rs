//! Everything harn keeps on disk: where it lies, how it is written, who may write it.
//!
//! `layout` knows every path, `dir` is the only door to the file system below them. Called by `command/` and
//! `supervisor/`; the pure rooms never see a file.

pub mod attested;
pub mod dir;
pub mod foreign;
pub mod format;
pub mod home;
pub mod index;
pub mod layout;
pub mod log;
pub mod receipt;
pub mod seen;
pub mod session;

pub use dir::{Dir, DirError};
pub use layout::Layout;
pub use session::SessionStore;
