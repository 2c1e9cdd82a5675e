//! One managed compaction: from a request to an outcome that the harness's own record proves. Pure.
//!
//! `attempt` is the machine: looks at the world and facts from log and record go in, orders to the keyboard and one outcome
//! come out. It types only on fresh evidence that the composer will take the text, submits only after a second look, and says
//! `confirmed` only for a boundary in the harness's record that is later than the request. `policy` decides when to ask by
//! itself. What differs between harnesses is a [`Manner`] and the evidence that adapters read. Called by
//! `supervisor::pilot`.

mod attempt;
mod evidence;
mod focus;
mod gate;
mod manner;
mod outcome;
mod policy;
mod step;
mod view;

#[cfg(test)]
pub(crate) use attempt::tests::section as machine_section;

pub use attempt::Attempt;
pub use evidence::{Evidence, Kind, Way};
pub use focus::{Focus, FocusError};
pub use gate::Wait;
pub use manner::{Keys, Manner};
pub use outcome::{FocusReport, Origin, Outcome, Settled, Timing, TokenCounts};
pub use policy::{Asking, Policy};
pub use step::{Effect, Goal, Input, Request, Stage};
pub use view::{Activity, Composer, Record, Reply, Sight, View};
