//! The context meter: what a harness reports of its context, and which report stands.
//!
//! Pure: no file, no clock. Parsers of harness files lie with their adapters (`adapter::gauge`) and make `Reading`s and
//! `Boundary`s of lines; `Meter` merges them; `crate::follow` reads the files; `command/` records what changed.

pub mod line;
pub mod meter;
pub mod number;
pub mod percent;
pub mod sample;

pub use meter::{Absent, Meter};
pub use percent::Percent;
pub use sample::{Boundary, Confidence, ContextSample, Fact, Reading, SampleSource, WindowBasis};
