//! The built-in demo agent: a scripted agent in the terminal, and the only harness that tests need.
//!
//! `harn run -- demo` hosts it the way real clients are hosted: it takes `--settings`, runs hook commands, keeps a
//! transcript and a status file, draws a composer and dialogs, compacts. No model, no account, no network. Left alone it
//! plays a short story in a scratch repository; a key makes it interactive; a script makes it a test's fixture. It knows
//! nothing of the rest of harn but `scratch` (its directory), `repo` (to make its repository) and `text`.
//!
//! `agent` and what it holds (`composer`, `menu`, `dialog`, `director`) are pure: keys, hook results and the time go in,
//! effects and a picture (`view`) come out. `session` is the one loop that does IO.

mod agent;
mod claude_record;
mod clock;
mod codex_record;
mod compaction;
mod composer;
mod dialog;
mod director;
mod entry;
mod hook;
mod input;
mod key;
mod line;
mod menu;
mod options;
mod outcome;
mod paint;
mod record;
mod runner;
mod scratch;
mod script;
mod session;
mod signs;
mod step;
mod story;
mod surface;
mod tty;
mod turn;
mod view;

pub use options::Options;
pub use session::{DemoError, run};
