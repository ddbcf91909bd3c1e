//! The cases, with a global allocator that counts requests.

use std::process::ExitCode;

use pool_benches::harness::heap::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    pool_benches::harness::run(true)
}
