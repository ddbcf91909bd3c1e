//! Code that is not the pool's, run inside its operations: the hooks of an allocator, subscribers of
//! `tracing`, backends, closures, panic hooks. Whatever they call is served or refused, never unsound.
//! And memory that is out at any point of any operation, the bookkeeping of the pools included.

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
