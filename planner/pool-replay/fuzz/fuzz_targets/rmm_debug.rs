#![no_main]

#[path = "../reader.rs"]
mod reader;

use libfuzzer_sys::fuzz_target;
use reader::{Format, read};

fuzz_target!(|bytes: &[u8]| read(bytes, Format::RmmDebug));
