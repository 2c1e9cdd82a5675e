//! `harn install` and `harn uninstall`.

mod corpus;
mod round_trip;
