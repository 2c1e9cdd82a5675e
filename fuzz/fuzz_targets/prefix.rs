//! The key parser and the prefix key on any bytes in any chunks.
#![no_main]

use harn::terminal::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::prefix(bytes));
