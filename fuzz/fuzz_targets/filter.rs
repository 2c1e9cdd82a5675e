//! The escape filter on any bytes in any chunks: nothing is lost, nothing grows, no panic.
#![no_main]

use harn::terminal::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::filter(bytes));
