//! The integration tests of the facade: the macros, the pools of a thread, and code that must not compile.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails panics, also in what the tests share"
)]

mod asynchronous;
mod compiler_errors;
mod diagnostics;
mod elements;
mod guard_orders;
mod guards;
mod local_pools;
mod macro_forms;
mod many_slots;
mod memory_checks;
mod own_backend;
mod owned;
mod programs;
mod repetition;
#[cfg(feature = "tracing")]
mod subscribers;
mod support;
mod thread_exit;
mod threads;
#[cfg(feature = "wgpu")]
mod wgpu_threads;
