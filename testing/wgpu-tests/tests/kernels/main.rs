//! Every kernel in WGSL compared with a reference in double precision, at sizes around those of
//! workgroups and blocks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail this way, and report skips"
)]

mod bounds;
mod device;
#[path = "../../../../crates/pool-wgpu/tests/suite/support/messages.rs"]
#[allow(dead_code, reason = "other tests also watch calls")]
mod messages;
mod planes;
mod prefix_sum;
mod vectors;
