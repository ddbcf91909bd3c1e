//! Foreign code inside a pool's operations: the hooks of an allocator, subscribers of `tracing`,
//! backends, closures, panic hooks. All their calls are served or refused, never unsound. Also,
//! memory that runs out at any point of any operation, including the bookkeeping of the pools.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails panics, also in what the tests share"
)]

mod allocator;
mod callbacks;
mod hooked;
mod live;
mod out_of_memory;
mod random;
mod support;
#[cfg(feature = "tracing")]
mod tracing_callbacks;
