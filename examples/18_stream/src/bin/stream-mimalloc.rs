//! The stream with mimalloc as the global allocator.

use std::process::ExitCode;

use mimalloc::MiMalloc;
use pool_stream::heap::Counting;

#[global_allocator]
static ALLOCATOR: Counting<MiMalloc> = Counting(MiMalloc);

fn main() -> ExitCode {
    pool_stream::main()
}
