//! Every kernel in WGSL compared with a reference in double precision, at sizes around those of
//! workgroups and blocks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "this is how tests fail, and how they say that they are skipped"
)]

mod bounds;
mod device;
#[path = "../../../../crates/pool-wgpu/tests/suite/support/messages.rs"]
#[allow(dead_code, reason = "the other tests watch calls, too")]
mod messages;
mod planes;
mod prefix_sum;
mod vectors;
