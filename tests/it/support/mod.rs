//! What every test of the real binary needs: a hermetic environment and an outer terminal.
//!
//! `env` has [`TestEnv`] (own HOME, XDG, TMPDIR, cleared environment), `pty` has [`Pty`] (a terminal of a
//! given size that plays the user's side). Nothing here knows a harness. The folder depends on nothing outside itself but
//! `tempfile`, `portable-pty`, `vt100` and `nix`, so another test binary can take it in with `#[path]`.

mod env;
mod proof;
mod pty;

pub(crate) use env::{Output, TestEnv};
pub(crate) use pty::{Pty, Size};
