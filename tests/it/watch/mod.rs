//! `harn watch` in a real terminal.

mod ending;
mod shown;

pub(crate) use shown::dashboard;
