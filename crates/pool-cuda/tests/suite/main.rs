//! What holds where there is no driver, and what holds with any.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod discovery;
