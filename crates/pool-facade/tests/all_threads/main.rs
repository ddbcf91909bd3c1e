//! `trim_all` and `stats_all`: the pools of other threads, idle and at work. A binary of its own, because a call reaches
//! every thread of its process.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails panics, also in what the tests share"
)]

mod allocator;
mod devices;
mod endings;
mod idle;
mod nested_stacks;
mod numbers;
mod reentrant;
#[path = "../suite/own_backend/shelf.rs"]
#[allow(dead_code, reason = "another binary uses the rest")]
mod shelf;
mod stress;
mod support;
