//! Copies: the ends, and the rows that are copied from one to the other.
//!
//! A copy of one row names two addresses. A copy of several has for each end a corner: where its box begins in memory of
//! a pitch and a height, in the terms of `CUDA_MEMCPY3D`. The driver API gives the addresses ("cuMemcpy3D"): a row `y` of
//! plane `z` begins at `base + (z * height + y) * pitch + x`.

use super::World;
use super::state::copy::Copy;
use super::state::work::Work;
use crate::code::{Code, Outcome};

impl World {
    /// The copy of a node, as it is read back. The documentation does not say whether offsets come back as they were
    /// given; they do, and in the other answers they are parts of the addresses.
    pub(crate) fn copy_of(&mut self, node: u64) -> Outcome<Copy> {
        let Work::Copy(copy) = self.work_of(node)?.clone() else {
            return Err(Code::INVALID_VALUE);
        };
        Ok(if self.other_answers { copy.without_offsets() } else { copy })
    }
}
