//! Kernels as they run: blocks one after the other in an order that is drawn, their warps in turns.
//!
//! The threads of a warp that stand at one instruction execute it together; those that have parted
//! meet again where their ways do. Every access goes through the memory's bounds and the race
//! detectors. What a launch touched in global memory is handed on, to be compared with other work.

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

/// Runs a launch to its end; a warp with more instructions than these in one block is taken for one without an end.
pub(crate) fn run(
    launch: &Launch,
    memory: &mut dyn GlobalMemory,
    random: Random,
    instructions: u64,
) -> Ending {
    engine::Engine::new(launch, memory, random, instructions).run()
}
