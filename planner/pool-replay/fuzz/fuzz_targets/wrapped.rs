#![no_main]

#[path = "../reader.rs"]
mod reader;

use libfuzzer_sys::fuzz_target;
use reader::read_wrapped;

fuzz_target!(|bytes: &[u8]| read_wrapped(bytes));
