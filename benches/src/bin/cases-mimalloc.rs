//! The cases with mimalloc as the global allocator.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    pool_benches::harness::run(false)
}
