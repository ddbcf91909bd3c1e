//! The stream with jemalloc as the global allocator.

use std::process::ExitCode;

use pool_stream::heap::Counting;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Counting<Jemalloc> = Counting(Jemalloc);

fn main() -> ExitCode {
    pool_stream::main()
}
