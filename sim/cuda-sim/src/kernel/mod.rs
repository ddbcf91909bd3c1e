//! Execution of kernels: blocks run sequentially in a drawn order, their warps in turns.
//!
//! Threads of a warp at the same instruction execute it together. Diverged threads reconverge where
//! their paths join. Every access passes the memory's bounds checks and the race detectors. The
//! accessed ranges of global memory are returned, for comparison with other work.

#![forbid(unsafe_code)]

mod access;
mod assertion;
mod block;
mod cells;
mod engine;
mod global;
mod launch;
mod order;
mod print;
mod printed;
mod stamp;
mod stamps;
mod step;
mod ticks;
mod together;
mod warp;

#[cfg(test)]
mod tests;

use crate::random::Random;

pub(crate) use launch::{Ending, Extent, GlobalMemory, Launch, Touched, Wrong};
pub(crate) use printed::Buffer;

/// Runs a launch to its end. A warp that executes more instructions than `instructions` in one
/// block counts as one without an end.
pub(crate) fn run(
    launch: &Launch,
    memory: &mut dyn GlobalMemory,
    random: Random,
    instructions: u64,
) -> Ending {
    engine::Engine::new(launch, memory, random, instructions).run()
}
