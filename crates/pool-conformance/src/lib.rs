//! Tests that every pool backend passes, and a backend that watches and fails on request.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a crate of tests: a check that fails panics"
)]

mod heap;

pub use heap::{HeapBackend, Ledger, Refusal, Refused};
