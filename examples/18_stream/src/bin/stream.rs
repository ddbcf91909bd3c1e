//! The stream with the system allocator.

use std::alloc::System;
use std::process::ExitCode;

use pool_stream::heap::Counting;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

fn main() -> ExitCode {
    pool_stream::main()
}
