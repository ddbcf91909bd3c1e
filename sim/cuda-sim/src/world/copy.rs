//! Copies: both ends, and the rows that are copied.
//!
//! A single-row copy is given by two addresses. A copy of several rows has a corner for each end:
//! the start of its box in pitched memory, in the terms of `CUDA_MEMCPY3D`. The driver API
//! ("cuMemcpy3D") defines that row `y` of plane `z` begins at
//! `base + (z * height + y) * pitch + x`.

use super::World;
use super::state::copy::Copy;
use super::state::work::Work;
use crate::code::{Code, Outcome};

impl World {
    /// Returns the copy that a node performs. The documentation does not specify which offsets a
    /// query returns. The simulator returns the original offsets; with the opposite choices, it
    /// adds them to the addresses.
    pub(crate) fn copy_of(&mut self, node: u64) -> Outcome<Copy> {
        let Work::Copy(copy) = self.work_of(node)?.clone() else {
            return Err(Code::INVALID_VALUE);
        };
        Ok(if self.other_answers { copy.without_offsets() } else { copy })
    }
}
