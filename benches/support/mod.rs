//! What the measuring programs share: scratch repositories and whole-process timing.

pub(crate) mod scratch;
pub(crate) mod timing;
