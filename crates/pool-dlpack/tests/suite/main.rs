//! Tensors in both directions: round trips without copies, refusals, threads, and random tensors beside a naive model.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod exports;
mod foreign;
mod imports;
mod random;
