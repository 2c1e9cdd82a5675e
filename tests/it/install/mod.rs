//! `harn install` and `harn uninstall`.

mod called;
mod corpus;
mod round_trip;
