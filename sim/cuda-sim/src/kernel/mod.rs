//! The execution of kernels. Blocks run one after the other in a random order, and the warps of a
//! block run alternately.
//!
//! Threads of a warp that have reached the same instruction execute it together. Diverged threads
//! reconverge where their paths join. Every access is checked for bounds and races. A launch
//! returns the ranges of global memory that it has accessed, which are then compared with other
//! work.

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

/// Runs a launch to its end. A warp that executes more than `instructions` instructions in one
/// block is treated as an endless loop.
pub(crate) fn run(
    launch: &Launch,
    memory: &mut dyn GlobalMemory,
    random: Random,
    instructions: u64,
) -> Ending {
    engine::Engine::new(launch, memory, random, instructions).run()
}
