//! The timed cases, with the system allocator.
//!
//! This executable compiles the cases again instead of using the library, because a user's hot loop
//! is also in the executable. In a library, thread-local variables are addressed as if the library
//! might become part of a shared object.

#![allow(unreachable_pub, reason = "the modules belong to a library")]

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
