//! Tests without a driver, and tests with any.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod discovery;
