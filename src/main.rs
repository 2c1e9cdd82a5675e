//! The `harn` binary.

fn main() {}
