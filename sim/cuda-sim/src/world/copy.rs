//! Copies: both ends, and the rows that are copied.
//!
//! A copy of one row names two addresses. A copy of several rows has a corner for each end: the
//! start of its box in memory of a pitch and a height, in the terms of `CUDA_MEMCPY3D`. The driver
//! API defines the addresses ("cuMemcpy3D"): a row `y` of plane `z` begins at
//! `base + (z * height + y) * pitch + x`.

use super::World;
use super::state::copy::Copy;
use super::state::work::Work;
use crate::code::{Code, Outcome};

impl World {
    /// Returns the copy of a node. The documentation does not state the offsets that a query
    /// returns. Here they are the original ones; with the opposite choices they are added to the
    /// addresses.
    pub(crate) fn copy_of(&mut self, node: u64) -> Outcome<Copy> {
        let Work::Copy(copy) = self.work_of(node)?.clone() else {
            return Err(Code::INVALID_VALUE);
        };
        Ok(if self.other_answers { copy.without_offsets() } else { copy })
    }
}
