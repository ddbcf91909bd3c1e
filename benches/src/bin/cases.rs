//! The cases with the system's allocator, which is what is timed.
//!
//! They are compiled into the executable once more, rather than taken from the library, because that
//! is where a user's hot loop is: a library's thread-local variables are addressed as if it could
//! end up in a shared object.

#![allow(unreachable_pub, reason = "the modules are a library's")]

use std::process::ExitCode;

#[path = "../case.rs"]
mod case;
#[path = "../column.rs"]
mod column;
#[path = "../columns/mod.rs"]
mod columns;
#[allow(dead_code, reason = "another binary counts allocations")]
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../published/mod.rs"]
mod published;
#[path = "../record.rs"]
mod record;
#[path = "../storage.rs"]
mod storage;
#[path = "../workloads/mod.rs"]
mod workloads;

fn main() -> ExitCode {
    harness::run(false)
}
