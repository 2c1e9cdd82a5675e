//! `harn watch` in a real terminal.

mod ending;
mod odd;
mod shown;

pub(crate) use shown::dashboard;
